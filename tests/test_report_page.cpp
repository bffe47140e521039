// The report page around its records; what a browser makes of it is tested by test_report.py.
#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "solver/report_page.hpp"

using namespace femcg::solver;

namespace {

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
  CHECK(has_report_page() == report_page_absent().empty());
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
