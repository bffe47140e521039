#pragma once

#include <array>

#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// Reads the keys `name` and `unit` of a case.
SolutionLabel read_solution_label(const MapReader& top);

/// Dimension of a box; 0 for a file, whose dimension is not known yet.
int known_dimension(const MeshChoice& mesh);
/// Reads a point with as many coordinates as the mesh has, if known; further coordinates keep their values.
bool read_point(const ValueReader& value, int dimension, std::array<double, 3>& point);

/// Reads the section `output` of a case whose name, mesh and solution are known.
OutputChoice read_output_choice(const MapReader& top, const Case& from);

/// Name of a field in solution.vtu: u has the name of the solution, others their own; `_magnitude` is appended for the
/// magnitude of a vector field, `_NAME` for a load with a name.
std::string name_in_file(OutputField field, bool magnitude, const SolutionLabel& solution, const std::string& load);

}  // namespace femcg::solver
