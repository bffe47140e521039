#pragma once

#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// The keys `name` and `unit` of a case.
SolutionLabel read_solution_label(const MapReader& top);

/// The section `output` of a case of which name, mesh and solution are known.
OutputChoice read_output_choice(const MapReader& top, const Case& from);

}  // namespace femcg::solver
