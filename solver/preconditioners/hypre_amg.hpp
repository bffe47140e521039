#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// True if this build has hypre; otherwise hypre_stub.cpp replaces it.
bool built_with_hypre();

/// Settings of BoomerAMG; the others are fixed (AmgByHypre).
struct AmgChoice {
  double strength = 0.25;                ///< fraction of the largest entry of a row above which an entry is strong
  int aggressive = 1;                    ///< number of finest levels with aggressive coarsening
  std::string_view coarsening = "hmis";  ///< or pmis, falgout
};

/// Size of a level's matrix.
struct AmgLevel {
  std::int64_t rows, nonzeros;
};

/// One V-cycle of hypre's BoomerAMG (Henson & Yang 2002) for a symmetric matrix, in double precision on the host:
/// extended+i interpolation with at most 4 entries per row (De Sterck, Falgout, Nolting & Yang 2008), l1-Gauss-Seidel
/// forwards before and backwards after, so that the cycle is symmetric (Baker, Falgout, Kolev & Yang 2011). This
/// follows hypre's recommendations for diffusion problems.
class AmgByHypre {
 public:
  /// Copies the matrix. Throws InputError if hypre cannot number its entries, std::runtime_error with hypre's message
  /// if hypre fails, and in a build without hypre.
  AmgByHypre(const operators::CsrMatrix<double>& a, const AmgChoice& choice);
  ~AmgByHypre();

  /// z = M^-1 r, both [rows].
  void apply(const double* r, double* z) const;
  /// Levels, finest first.
  std::vector<AmgLevel> levels() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::solver
