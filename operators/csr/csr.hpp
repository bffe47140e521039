#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// y_i = sum over the nonzeros of row i of a_ij x_j, in compressed rows. Shares the assembled
/// matrix itself: no second copy is held.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr(const Ingredients<T>& from, const Options& given);

}  // namespace femcg::operators
