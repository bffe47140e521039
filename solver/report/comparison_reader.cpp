// Reads back what a comparison left behind for programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "solver/messages/error.hpp"
#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

using nlohmann::ordered_json;

InputError not_a_comparison(const std::filesystem::path& file) {
  return InputError(file.string() + ": this is no compare.json, as femcg compare and femcg matrix write it");
}

ordered_json read_comparison(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw InputError(file.string() + ": this is a folder, not a file");
  std::ifstream stream(file);
  if (!stream.is_open())
    throw InputError(file.string() +
                     (std::filesystem::exists(file) ? ": this file cannot be read" : ": there is no such file"));
  ordered_json records;
  try {
    records = ordered_json::parse(stream);
  } catch (const ordered_json::exception&) {
    throw not_a_comparison(file);
  }
  if (!records.is_array()) throw not_a_comparison(file);
  constexpr std::array parts{"problem", "operator", "apply", "solve", "sweep", "comparison"};
  for (const ordered_json& record : records) {
    if (!record.is_object() || !record.contains("schema") || !record["schema"].is_number_integer())
      throw not_a_comparison(file);
    if (record["schema"] != 1)
      throw InputError(fmt::format("{}: its records have schema {}, and this femcg knows schema 1", file.string(),
                                   to_line(record["schema"])));
    if (!std::ranges::all_of(parts,
                             [&](const char* part) { return record.contains(part) && record[part].is_object(); }))
      throw not_a_comparison(file);
  }
  return records;
}

}  // namespace femcg::solver
