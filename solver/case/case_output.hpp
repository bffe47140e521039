#pragma once

#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// Reads the keys `name` and `unit` of a case.
SolutionLabel read_solution_label(const MapReader& top);

/// Reads the section `output` of a case whose name, mesh and solution are known.
OutputChoice read_output_choice(const MapReader& top, const Case& from);

/// Name of a field in solution.vtu: u has the name of the solution, others their own; `_magnitude` is appended for the
/// magnitude of a vector field, `_NAME` for a load with a name.
std::string name_in_file(OutputField field, bool magnitude, const SolutionLabel& solution, const std::string& load);

}  // namespace femcg::solver
