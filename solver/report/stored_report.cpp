#include "solver/report/stored_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mesh/base/atomic_file.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/report/comparison_report.hpp"
#include "solver/report/recommendation.hpp"
#include "solver/report/report_page.hpp"

namespace femcg::solver {

void report(const std::vector<std::filesystem::path>& files, std::filesystem::path page, const Console& console) {
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  const auto is_run = [](const nlohmann::ordered_json& record) { return !record.contains("comparison"); };
  for (const std::filesystem::path& file : files)
    for (nlohmann::ordered_json& record : read_comparison_or_run(file)) {
      if (!records.empty() && is_run(record) != is_run(records.front()))
        throw InputError(fmt::format("{} and {}: one is of a run, the other of a comparison, and a page shows either",
                                     files.front().string(), file.string()));
      records.push_back(std::move(record));
    }
  if (!records.empty() && !is_run(records.front())) add_recommendations(records);
  if (!has_report_page()) throw MachineError(std::string(report_page_stub()));
  if (page.empty()) page = files.front().parent_path() / "report.html";
  mesh::prepare_for_files(page.parent_path(), {page.filename().string()});
  mesh::write_atomically(page, report_page(to_lines(records)));
  if (!console.quiet) print(fmt::format("{} record{} in {}\n", records.size(), records.size() == 1 ? "" : "s", page.string()));
}

}  // namespace femcg::solver
