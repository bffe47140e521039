#pragma once

#include <string>
#include <string_view>

namespace femcg::solver {

/// True if this build contains the page with the plots of a comparison (tools/report).
bool has_report_page();

/// Reason why it does not, as a clause without a full stop; empty if it does.
std::string_view report_page_stub();

/// Self-contained HTML page that shows the records of a comparison without network access. `json`: array of records of
/// schema 1 in UTF-8, as in compare.json; its texts are escaped. Throws std::logic_error if this build has no page.
std::string report_page(std::string_view json);

}  // namespace femcg::solver
