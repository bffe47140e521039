#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// True if this build has hypre; hypre_stub.cpp stands in where it has not.
bool built_with_hypre();

/// Settings of BoomerAMG; all else is as AmgByHypre says.
struct AmgChoice {
  double strength = 0.25;                ///< fraction of the largest entry of a row above which one is strong
  int aggressive = 1;                    ///< finest levels with aggressive coarsening
  std::string_view coarsening = "hmis";  ///< or pmis, falgout
};

/// The rows and entries of a level's matrix.
struct AmgLevel {
  std::int64_t rows, nonzeros;
};

/// One V-cycle of hypre's BoomerAMG (Henson & Yang 2002) for a symmetric matrix, in double precision and on the host:
/// extended+i interpolation of at most 4 entries a row (De Sterck, Falgout, Nolting & Yang 2008), l1-Gauss-Seidel
/// forwards before and backwards after, so that the cycle is symmetric (Baker, Falgout, Kolev & Yang 2011). This is
/// hypre's own advice for diffusion problems.
class AmgByHypre {
 public:
  /// Keeps a copy of the matrix. Throws InputError where hypre cannot number its entries, std::runtime_error with
  /// hypre's words where it fails, and in a build without it.
  AmgByHypre(const operators::CsrMatrix<double>& a, const AmgChoice& choice);
  ~AmgByHypre();

  /// z = M^-1 r, both [rows].
  void apply(const double* r, double* z) const;
  /// The finest level first.
  std::vector<AmgLevel> levels() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::solver
