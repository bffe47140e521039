// Reads back what a comparison left behind for programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "solver/messages/error.hpp"
#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t largest_file = 64'000'000;  // bytes; a record has 2300
constexpr int deepest_value = 20;
constexpr std::size_t most_keys = 500;  // of one object, which is searched key by key
constexpr std::size_t most_values = 5'000'000;

bool is_number(const ordered_json& value) { return value.is_number() || value.is_null(); }  // null: not finite
bool is_text(const ordered_json& value) { return value.is_string(); }
bool is_flag(const ordered_json& value) { return value.is_boolean(); }
bool is_word(const ordered_json& value) { return value.is_string() || value.is_number(); }
bool is_map(const ordered_json& value) { return value.is_object(); }
template <bool (*holds)(const ordered_json&)>
bool each(const ordered_json& value) {
  return std::all_of(value.begin(), value.end(), holds);
}
bool is_list(const ordered_json& value) { return value.is_array(); }
bool is_pair(const ordered_json& value) { return value.is_array() && value.size() == 2 && each<is_number>(value); }

/// What stands at which key of a record, where it is there. A key's map comes before what is in it.
struct Rule {
  std::string_view words;
  bool (*holds)(const ordered_json&);
  std::vector<const char*> pointers;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"a map",
       is_map,
       {"/machine", "/problem", "/operator", "/seconds", "/solve", "/apply", "/memory", "/matrix",
        "/matrix/row_lengths", "/comparison", "/comparison/auto", "/tuning", "/distribution", "/solution",
        "/quantities", "/error"}},
      {"a list of numbers",
       [](const ordered_json& value) { return is_list(value) && each<is_number>(value); },
       {"/tuning/fraction"}},
      {"a list of maps",
       [](const ordered_json& value) { return is_list(value) && each<is_map>(value); },
       {"/processes", "/loads", "/seconds/steps"}},
      {"a map of texts",
       [](const ordered_json& value) { return is_map(value) && each<is_text>(value); },
       {"/set", "/sweep"}},
      {"a map of numbers and texts",
       [](const ordered_json& value) { return is_map(value) && each<is_word>(value); },
       {"/operator/options", "/operator/chosen", "/solve/preconditioner_options", "/solve/preconditioner_chosen"}},
      {"a list of texts",
       [](const ordered_json& value) { return value.is_array() && each<is_text>(value); },
       {"/remarks"}},
      {"a list of pairs of numbers",
       [](const ordered_json& value) { return value.is_array() && each<is_pair>(value); },
       {"/matrix/row_lengths/histogram"}},
      {"true or false", is_flag, {"/problem/symmetric"}},
      {"a text",
       is_text,
       {"/femcg",
        "/command",
        "/case",
        "/title",
        "/started",
        "/machine/processor",
        "/machine/device",
        "/problem/cell",
        "/problem/matrix",
        "/problem/ordering",
        "/operator/name",
        "/operator/precision",
        "/operator/device",
        "/solve/preconditioner",
        "/solve/cg",
        "/solve/loop",
        "/comparison/status",
        "/comparison/reason",
        "/comparison/baseline_verdict",
        "/comparison/recommendation",
        "/comparison/auto/why",
        "/comparison/auto/best",
        "/comparison/auto/of",
        "/tuning/why",
        "/distribution/partition",
        "/distribution/mode",
        "/solution/name",
        "/solution/unit"}},
      {"a number",
       is_number,
       {"/machine/threads",
        "/machine/copy_bandwidth",
        "/machine/link_bandwidth",
        "/problem/dimension",
        "/problem/cells",
        "/problem/degree",
        "/problem/geometric_order",
        "/problem/quadrature",
        "/problem/dofs",
        "/problem/unknowns",
        "/operator/nonzeros",
        "/operator/stored_bytes",
        "/operator/moved_bytes",
        "/operator/host_bytes",
        "/operator/link_bytes",
        "/operator/flops",
        "/operator/padding_ratio",
        "/operator/data_reduction",
        "/seconds/mesh",
        "/seconds/space",
        "/seconds/assembly",
        "/seconds/conversion",
        "/seconds/transfer",
        "/seconds/solve",
        "/seconds/total",
        "/distribution/imbalance",
        "/distribution/waiting_fraction",
        "/solve/true_relative_residual",
        "/solve/iterations",
        "/solve/iterations_per_second",
        "/solve/unknowns_per_second",
        "/apply/median_seconds",
        "/apply/minimum_seconds",
        "/apply/maximum_seconds",
        "/apply/gflops",
        "/apply/effective_bandwidth",
        "/apply/minimum_bandwidth",
        "/apply/caching_bandwidth",
        "/apply/bandwidth_fraction",
        "/apply/link_rate",
        "/memory/estimated_host_bytes",
        "/memory/estimated_device_bytes",
        "/matrix/nonzeros",
        "/matrix/bandwidth",
        "/matrix/bandwidth_before",
        "/matrix/row_lengths/minimum",
        "/matrix/row_lengths/maximum",
        "/matrix/row_lengths/mean",
        "/matrix/row_lengths/deviation",
        "/comparison/right_hand_sides",
        "/comparison/product_gain",
        "/comparison/iteration_gain",
        "/comparison/agreement",
        "/comparison/agreement_bound",
        "/comparison/repetitions",
        "/comparison/iterations_per_second_minimum",
        "/comparison/iterations_per_second_maximum",
        "/comparison/roof_iterations_per_second",
        "/comparison/break_even_iterations",
        "/comparison/predicted_product_seconds",
        "/comparison/predicted_iteration_seconds",
        "/comparison/predicted_set_up_seconds",
        "/comparison/expected_iterations",
        "/comparison/auto/regret",
        "/comparison/auto/iterations",
        "/comparison/baseline_ratio"}}};
  return all;
}

std::string_view kind_of(const ordered_json& value) {
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  return value.is_null() ? "null" : "a number";
}

/// Throws InputError at the first value of a record that is of a wrong kind.
void check_kinds(const std::string& file, std::size_t number, const ordered_json& record) {
  for (const Rule& rule : rules())
    for (const char* pointer : rule.pointers) {
      const ordered_json::json_pointer at(pointer);
      if (!record.contains(at) || rule.holds(record.at(at))) continue;
      std::string key = pointer + 1;
      std::ranges::replace(key, '/', '.');
      const std::string found(kind_of(record.at(at)));
      throw InputError(fmt::format("{}: {} of record {} must be {}{}", file, key, number, rule.words,
                                   rule.words.starts_with(found) ? "" : ", not " + found));
    }
}

/// Bounds what a file may make of the memory and of the stack.
ordered_json parse(const std::string& file, const std::string& text) {
  std::size_t values = 0;
  std::vector<std::size_t> keys(deepest_value + 2);
  const auto bounded = [&](int depth, ordered_json::parse_event_t event, ordered_json&) {
    using Event = ordered_json::parse_event_t;
    if (depth > deepest_value) throw InputError(file + ": its values are nested too deeply for a compare.json");
    if (event == Event::object_start) keys[depth + 1] = 0;
    if (event == Event::key && ++keys[depth] > most_keys)
      throw InputError(fmt::format("{}: a map has more than {} keys, too many for a compare.json", file, most_keys));
    if (event != Event::array_end && event != Event::object_end && ++values > most_values)
      throw InputError(fmt::format("{}: more than {} values are too many for a compare.json", file, most_values));
    return true;
  };
  return ordered_json::parse(text, bounded);
}

std::string contents(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw InputError(file.string() + ": this is a folder, not a file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open())
    throw InputError(file.string() +
                     (std::filesystem::exists(file) ? ": this file cannot be read" : ": there is no such file"));
  std::string text;
  for (std::array<char, 1 << 16> block; stream.read(block.data(), block.size()), stream.gcount() > 0;) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file)
      throw InputError(fmt::format("{}: this is too large for a compare.json ({} MB at most)", file.string(),
                                   largest_file / 1'000'000));
  }
  return text;
}

}  // namespace

InputError not_a_comparison(const std::filesystem::path& file) {
  return InputError(file.string() + ": this is no compare.json, as femcg compare and femcg matrix write it");
}

namespace {

ordered_json parsed(const std::filesystem::path& file) {
  try {
    return parse(file.string(), contents(file));
  } catch (const ordered_json::exception&) {
    throw not_a_comparison(file);
  }
}

/// Throws InputError at the first record that has another schema, lacks one of the parts or has wrong kinds of values.
void check_records(const std::filesystem::path& file, const ordered_json& records, std::span<const char* const> parts) {
  std::size_t number = 0;
  for (const ordered_json& record : records) {
    if (!record.is_object() || !record.contains("schema") || !record["schema"].is_number_integer())
      throw not_a_comparison(file);
    if (record["schema"] != 1)
      throw InputError(fmt::format("{}: its records have schema {}, and this femcg knows schema 1", file.string(),
                                   to_line(record["schema"])));
    if (!std::ranges::all_of(parts, [&](const char* part) { return record.contains(part); }))
      throw not_a_comparison(file);
    check_kinds(file.string(), ++number, record);
  }
}

}  // namespace

ordered_json read_comparison(const std::filesystem::path& file) {
  ordered_json records = parsed(file);
  if (!records.is_array()) throw not_a_comparison(file);
  constexpr std::array parts{"problem", "operator", "apply", "solve", "sweep", "comparison"};
  check_records(file, records, parts);
  return records;
}

ordered_json read_comparison_or_run(const std::filesystem::path& file) {
  ordered_json record = parsed(file);
  if (!record.is_object() || record.value("command", ordered_json()) != "run") return read_comparison(file);
  constexpr std::array parts{"problem", "operator", "solve", "seconds", "machine"};
  ordered_json records = ordered_json::array({std::move(record)});
  check_records(file, records, parts);
  return records;
}

}  // namespace femcg::solver
