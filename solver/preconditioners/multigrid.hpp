#pragma once

#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// M^-1 = one multigrid cycle. On each level but the coarsest, with P the prolongation from the next coarser one
/// (Brandt 1977; Trottenberg, Oosterlee & Schuller 2001):
///
///     x = S b;  r = b - A x;  e = the cycle of P' r;  x += P e;  x += S (b - A x)
///
/// S is the Chebyshev polynomial of the fourth kind in D^-1 A (Lottes 2023), the same before and after, so that M is
/// symmetric. Levels of aggregates are visited twice, the second time from the present x (W-cycle): with a V-cycle,
/// iterations grow with the number of these levels, each of which has a tenth of the unknowns of the finer one. Levels:
/// hierarchy.hpp. By default the cycle works in single precision, whatever CG's precision.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_multigrid(const operators::Operator<T>& a, const operators::Options& given,
                                                  const PreconditionerInput<T>& input);

std::span<const operators::OptionDescription> multigrid_options();

/// Operator of levels of degree 2 and more; for several vectors on the host a matrix, which is read once for all.
std::string_view fine_operator(operators::Device device, std::int64_t systems);

/// PreconditionerDescription::bytes_of_levels. A space of degree q has about (q / p)^d times the unknowns of one of
/// degree p.
std::int64_t bytes_of_multigrid(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device device,
                                std::string_view of_cg, std::int64_t systems);

}  // namespace femcg::solver
