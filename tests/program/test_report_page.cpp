// The report page around its records; test_report.py tests it in a browser.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "solver/report/report_page.hpp"
#include "solver/report/stored_report.hpp"
#include "tests/program.hpp"

using namespace femcg::solver;
namespace fs = std::filesystem;

namespace {

fs::path kept_page() { return femcg::tests::source_directory() / "cases/h200/report.html"; }

/// Files with its records.
std::vector<fs::path> kept_records() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(kept_page().parent_path()))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// The records as a browser reads them: the text of their script element, which ends at the first "</script".
std::string embedded(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="records">)";
  const std::size_t begin = page.find(opening);
  REQUIRE(begin != std::string::npos);
  REQUIRE(page.find(opening, begin + 1) == std::string::npos);
  const std::size_t first = begin + opening.size();
  return page.substr(first, page.find("</script", first) - first);
}

}  // namespace

TEST_CASE("a build has the report page or says why not") {
  CHECK(has_report_page() == report_page_stub().empty());
  if (!has_report_page()) CHECK_THROWS_AS(report_page("[]"), std::logic_error);
}

TEST_CASE("records stay in their place in the page, whatever they say" * doctest::skip(!has_report_page())) {
  for (const std::string title :
       {"plain", "</script><img src=x onerror=alert(1)>", "<!--<script>", "@RECORDS@", "\\\"\u2028'", ""}) {
    CAPTURE(title);
    const nlohmann::json records = {{{"title", title}}};
    const std::string text = embedded(report_page(records.dump()));
    CHECK(text.find('<') == std::string::npos);
    CHECK(nlohmann::json::parse(text) == records);
  }
}

TEST_CASE("the page asks nothing of the network" * doctest::skip(!has_report_page())) {
  const std::string page = report_page("[]");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const std::string source : {"src=\"http", "href=\"http", "url(http", "@import", "src=\"//"}) {
    CAPTURE(source);
    CHECK(page.find(source) == std::string::npos);
  }
}

TEST_CASE("the page that is kept beside the records of a GPU has them all") {
  nlohmann::json records = nlohmann::json::array();
  for (const fs::path& file : kept_records())
    for (const nlohmann::json& record : nlohmann::json::parse(femcg::tests::contents(file))) records.push_back(record);
  INFO("to make it anew: build/release/femcg report cases/h200/*.json");
  const std::string page = femcg::tests::contents(kept_page());
  CHECK(records.size() > 300);
  nlohmann::json shown = nlohmann::json::parse(embedded(page));
  for (nlohmann::json* list : {&records, &shown})  // which the page adds if missing
    for (nlohmann::json& record : *list) record["comparison"].erase("recommendation");
  CHECK(shown == records);
}

TEST_CASE("the page that is kept is what this program makes of them" * doctest::skip(!has_report_page())) {
  INFO("to make it anew: build/release/femcg report cases/h200/*.json");
  const fs::path made = fs::temp_directory_path() / ("femcg_test_report_page_" + std::to_string(::getpid()));
  report(kept_records(), made, {.quiet = true});
  CHECK((femcg::tests::contents(made) == femcg::tests::contents(kept_page())));  // without printing a megabyte
  fs::remove(made);
}

TEST_CASE("the page of a run has its record, its residuals and the picture that femcg-plot made" *
          doctest::skip(!has_report_page())) {
  // A substitute in the program's folder; its picture is the letters "Man", which are TWFu in base64 (RFC 4648).
  const std::string plot =
      "cp $femcg . && printf '#!/bin/sh\\nprintf Man > \"$3\"\\n' > femcg-plot && chmod +x femcg-plot && ";
  const std::string run =
      "./femcg run $cases/minimal.yaml --set equation.source=1 --quiet --output made --set output.picture=true";
  const auto drawn = femcg::tests::shell(plot + run + " && cat made/run.log made/result.html");
  CHECK(drawn.err.empty());
  const nlohmann::json record = nlohmann::json::parse(embedded(drawn.out)).at(0);
  CHECK(record["picture"] == "data:image/png;base64,TWFu");
  CHECK(femcg::tests::contains(drawn.out, "drawing the picture"));  // in run.log, and in the page
  CHECK(femcg::tests::contains(embedded(drawn.out), "drawing the picture"));
  const nlohmann::json& points = record["history"].at(0)["points"];
  CHECK(points.front()[0] == 0);
  CHECK(points.back()[0] == record["solve"]["iterations"]);
  CHECK(points.back()[1] == record["solve"]["relative_residual"]);

  const auto fails = femcg::tests::shell(
      "cp $femcg . && printf '#!/bin/sh\\necho broken >&2\\nexit 2\\n' > femcg-plot && "
      "chmod +x femcg-plot && " +
      run + " && ls made");
  CHECK(fails.status == 0);
  CHECK(fails.err == "note: no solution.png was drawn: broken\n");
  CHECK(femcg::tests::contains(fails.out, "result.html"));
  const auto absent = femcg::tests::shell(
      "cp $femcg . && PATH= ./femcg run $cases/minimal.yaml --set equation.source=1 --quiet --output made --set "
      "output.picture=true");
  CHECK(absent.err == "note: no solution.png was drawn: femcg-plot is neither beside the program nor on the PATH\n");
}

TEST_CASE("a report of runs takes result.json, and nothing beside it" * doctest::skip(!has_report_page())) {
  const std::string run = "$femcg run $cases/minimal.yaml --quiet --output ";
  const auto both =
      femcg::tests::shell(run + "a && " + run + "b && $femcg report a/result.json b/result.json && cat a/report.html");
  CHECK(both.status == 0);
  CHECK(nlohmann::json::parse(embedded(both.out)).size() == 2);
  femcg::tests::check_refused("report a/result.json c.json", "one is of a run, the other of a comparison",
                              run +
                                  "a; $femcg compare $cases/minimal.yaml --operators csr --iterations 2 --repetitions "
                                  "1 --output c --quiet > no 2>&1; cp c/compare.json c.json");
}
