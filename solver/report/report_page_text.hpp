#pragma once

#include <string_view>

namespace femcg::solver {

/// The page of a comparison made by tools/report, split at the place of the records; or the reason why this build has
/// none.
struct ReportPageText {
  std::string_view before, after;
  std::string_view absence;  ///< a clause that follows "report.html was left out: "; empty if there is a page
};

/// Defined in the build folder in either case.
ReportPageText report_page_text();

}  // namespace femcg::solver
