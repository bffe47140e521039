#pragma once

#include <string>
#include <string_view>

namespace femcg::solver {

/// True if this build carries the page with the plots of a comparison (tools/report).
bool has_report_page();

/// Why it does not, as a clause without a full stop; empty where it does.
std::string_view report_page_stub();

/// A self-contained HTML page that shows the records of a comparison, and asks nothing of the network. `json` is an
/// array of records of schema 1, UTF-8, as compare.json holds; no text in it can leave its place in the page. Throws
/// std::logic_error where this build has no page.
std::string report_page(std::string_view json);

}  // namespace femcg::solver
