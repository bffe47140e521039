// Reads the files of a comparison.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "solver/messages/error.hpp"
#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t largest_file = 64'000'000;  // bytes; a record has 2300
constexpr int deepest_value = 20;
constexpr std::size_t most_keys = 500;  // in one object, whose keys are searched linearly
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

/// Keys of one map of a record, given by a JSON pointer; names are separated by blanks.
struct Keys {
  std::string_view map, names;
};

/// Required kind of the values at some keys of a record, where present. A map's rule precedes those of its entries.
struct Rule {
  std::string_view words;
  bool (*holds)(const ordered_json&);
  std::vector<Keys> keys;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"a map",
       is_map,
       {{"", "machine problem operator seconds solve apply memory matrix comparison tuning distribution solution"},
        {"", "quantities error"},
        {"/matrix", "row_lengths"},
        {"/comparison", "auto"}}},
      {"a list of numbers",
       [](const ordered_json& value) { return is_list(value) && each<is_number>(value); },
       {{"/tuning", "fraction"}}},
      {"a list of maps",
       [](const ordered_json& value) { return is_list(value) && each<is_map>(value); },
       {{"", "processes loads"}, {"/seconds", "steps"}}},
      {"a map of texts",
       [](const ordered_json& value) { return is_map(value) && each<is_text>(value); },
       {{"", "set sweep"}}},
      {"a map of numbers and texts",
       [](const ordered_json& value) { return is_map(value) && each<is_word>(value); },
       {{"/operator", "options chosen"}, {"/solve", "preconditioner_options preconditioner_chosen"}}},
      {"a list of texts",
       [](const ordered_json& value) { return is_list(value) && each<is_text>(value); },
       {{"", "remarks"}}},
      {"a list of pairs of numbers",
       [](const ordered_json& value) { return is_list(value) && each<is_pair>(value); },
       {{"/matrix/row_lengths", "histogram"}}},
      {"true or false", is_flag, {{"/problem", "symmetric"}}},
      {"a text",
       is_text,
       {{"", "femcg command case title started"},
        {"/machine", "processor device"},
        {"/problem", "cell matrix ordering"},
        {"/operator", "name precision device"},
        {"/solve", "preconditioner cg loop"},
        {"/comparison", "status reason baseline_verdict recommendation"},
        {"/comparison/auto", "why best of"},
        {"/tuning", "why"},
        {"/distribution", "partition mode"},
        {"/solution", "name unit"}}},
      {"a number",
       is_number,
       {{"/machine", "threads copy_bandwidth link_bandwidth"},
        {"/problem", "dimension cells degree geometric_order quadrature dofs unknowns"},
        {"/operator", "nonzeros stored_bytes moved_bytes host_bytes link_bytes flops padding_ratio data_reduction"},
        {"/seconds", "mesh space assembly conversion transfer solve total"},
        {"/distribution", "imbalance waiting_fraction"},
        {"/solve", "true_relative_residual iterations iterations_per_second unknowns_per_second"},
        {"/apply", "median_seconds minimum_seconds maximum_seconds gflops effective_bandwidth minimum_bandwidth"},
        {"/apply", "caching_bandwidth bandwidth_fraction link_rate"},
        {"/memory", "estimated_host_bytes estimated_device_bytes"},
        {"/matrix", "nonzeros bandwidth bandwidth_before"},
        {"/matrix/row_lengths", "minimum maximum mean deviation"},
        {"/comparison", "right_hand_sides product_gain iteration_gain agreement agreement_bound repetitions"},
        {"/comparison", "iterations_per_second_minimum iterations_per_second_maximum roof_iterations_per_second"},
        {"/comparison", "break_even_iterations expected_iterations baseline_ratio"},
        {"/comparison", "predicted_product_seconds predicted_iteration_seconds predicted_set_up_seconds"},
        {"/comparison/auto", "regret iterations"}}}};
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
    for (const auto& [map, names] : rule.keys) {
      std::istringstream list{std::string(names)};
      for (std::string name; list >> name;) {
        std::string key = fmt::format("{}/{}", map, name);
        const ordered_json::json_pointer at(key);
        if (!record.contains(at) || rule.holds(record.at(at))) continue;
        key.erase(0, 1);
        std::ranges::replace(key, '/', '.');
        const std::string found(kind_of(record.at(at)));
        throw InputError(fmt::format("{}: {} of record {} must be {}{}", file, key, number, rule.words,
                                     rule.words.starts_with(found) ? "" : ", not " + found));
      }
    }
}

/// Parses JSON with limits on memory and nesting.
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

/// Throws InputError at the first record with another schema, a missing part or values of a wrong kind.
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
