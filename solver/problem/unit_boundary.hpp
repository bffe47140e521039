#pragma once

#include <cstdint>
#include <vector>

namespace femcg::solver {

class Problem;

/// Boundary terms of a problem whose boundary values and ambient values are all 1, of which those of other constants
/// are multiples. 1_D is 1 on the constrained dofs and 0 on all others.
struct UnitBoundary {
  struct Row {
    std::int32_t dof, unknown;  ///< unknown: as in BilinearForm::unknown_of_dof
    double lift;                ///< a(1_D, phi_i)
    double transfer;            ///< integral of transfer phi_i
  };
  /// By ascending dof, where one of both is not 0; sums over all processes.
  std::vector<Row> unknowns, constrained;
  std::vector<double> reactions;  ///< a(1_D, phi_i) of the constrained dofs, of the cells of this process
};

/// Collective where several processes have parts.
UnitBoundary make_unit_boundary(const Problem& problem);

}  // namespace femcg::solver
