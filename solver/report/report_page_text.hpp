#pragma once

#include <string_view>

namespace femcg::solver {

/// The page of a comparison as tools/report makes it, around the place for the records; or why this build has none.
struct ReportPageText {
  std::string_view before, after;
  std::string_view absence;  ///< a clause that fits after "report.html was left out: "; empty where there is a page
};

/// Defined in the build folder, either way.
ReportPageText report_page_text();

}  // namespace femcg::solver
