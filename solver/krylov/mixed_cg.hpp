#pragma once

#include <functional>
#include <optional>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// A system of CG in single precision.
struct SingleSystem {
  const operators::Operator<float>* a;
  const Preconditioner<float>* preconditioner;  ///< diagonal, or null
};

/// Asked once, at the residual from which on single precision can follow: the system in it, or nothing where CG is to
/// stay in double precision.
using GoOver = std::function<std::optional<SingleSystem>(const CgResult& so_far)>;

/// CG that begins in double precision and ends in single, with the iterations of double precision alone.
///
/// Rounding of a product early on, when |r| is large, is carried along by the directions and grows until CG has lost
/// what it knew of the smallest eigenvalues: a few iterations in single precision at the beginning cost half as many
/// again, and up to several times as many. Products may be the less exact the smaller |r| / |b| is in comparison with
/// what they are for, the tolerance (Simoncini & Szyld 2003): from `goes_over_at` on, x is kept in double precision,
/// what is added to it, residual and direction go on in single, with reliable updates (Clark et al. 2010). Where single
/// precision ends as stagnated or indefinite, CG goes on from its x in double precision.
///
/// The options are those of conjugate_gradients, but for method and loop, which are classic and launched, and `after`.
/// With a preconditioner that is not diagonal it is conjugate_gradients.
CgResult mixed_conjugate_gradients(const operators::Operator<double>& a, const operators::Vector<double>& b,
                                   std::vector<double>& x, const CgOptions<double>& options, const GoOver& go_over);

/// The relative residual from which on single precision follows.
double goes_over_at(double tolerance);

}  // namespace femcg::solver
