#include "solver/report/report_page.hpp"

#include <algorithm>
#include <stdexcept>

#include "solver/report/report_page_text.hpp"

namespace femcg::solver {

bool has_report_page() { return report_page_text().absence.empty(); }

std::string_view report_page_stub() { return report_page_text().absence; }

std::string report_page(std::string_view json) {
  const ReportPageText text = report_page_text();
  if (!text.absence.empty()) throw std::logic_error(std::string(text.absence));
  // A script element ends at "</script" and changes its rules at "<!--" (HTML standard, 13.2.5.4 and 4.12.1.3). In
  // JSON, '<' occurs only inside strings, where it can be escaped.
  constexpr std::string_view less_than = "\\u003c";
  std::string page;
  page.reserve(text.before.size() + json.size() + 5 * std::ranges::count(json, '<') + text.after.size());
  page += text.before;
  for (const char c : json)
    if (c == '<')
      page += less_than;
    else
      page += c;
  page += text.after;
  return page;
}

}  // namespace femcg::solver
