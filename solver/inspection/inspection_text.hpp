#pragma once

#include <string>

#include "solver/case/case.hpp"
#include "solver/inspection/drafted_groups.hpp"
#include "solver/inspection/inspection.hpp"

namespace femcg::solver {

/// The tables of regions, faces and quality, each behind an empty line.
std::string to_text(const Inspection& inspection);

/// A section `mesh` for a case file that gives a name to every part that has none, and can hold a condition where it is
/// a face; empty where there is no such part. Names are those of drafted_groups for what they hold, then by tag. It can
/// be read as YAML, and femcg check accepts it.
std::string draft_of_groups(const Inspection& inspection, const std::vector<DraftedGroup>& drafted,
                            const mesh::GmshOptions& options);

}  // namespace femcg::solver
