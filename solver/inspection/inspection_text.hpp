#pragma once

#include <string>

#include "solver/case/case.hpp"
#include "solver/inspection/drafted_groups.hpp"
#include "solver/inspection/inspection.hpp"

namespace femcg::solver {

/// Tables of regions, faces and quality, each after an empty line.
std::string to_text(const Inspection& inspection);

/// A section `mesh` for a case file that names every unnamed part, if a condition can apply to it; empty if there is
/// none. Names come from drafted_groups for the parts in them, otherwise from tags. The text is valid YAML, and femcg
/// check accepts it.
std::string draft_of_groups(const Inspection& inspection, const std::vector<DraftedGroup>& drafted,
                            const mesh::GmshOptions& options);

}  // namespace femcg::solver
