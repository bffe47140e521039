#pragma once

#include <cstdint>
#include <vector>

namespace femcg::solver {

class Problem;

/// Boundary terms of a problem for boundary and ambient values of 1; those of other constants are multiples. 1_D is 1
/// at the constrained dofs and 0 at all others.
struct UnitBoundary {
  struct Row {
    std::int32_t dof, unknown;  ///< unknown: as in BilinearForm::unknown_of_dof
    double lift;                ///< a(1_D, phi_i)
    double transfer;            ///< integral of transfer phi_i
  };
  /// Rows with a nonzero term, by ascending dof; sums over all processes.
  std::vector<Row> unknowns, constrained;
  std::vector<double> reactions;  ///< a(1_D, phi_i) of the constrained dofs, over this process's cells
};

/// Collective if several processes have subdomains.
UnitBoundary make_unit_boundary(const Problem& problem);

}  // namespace femcg::solver
