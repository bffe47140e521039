#pragma once

#include <memory>
#include <string_view>

#include "operators/operator.hpp"
#include "operators/sell/sell_matrix.hpp"

namespace femcg::operators {

/// The product on the GPU, which moves the entries to their places; all that is given is on the host. `diagonal` is in
/// the ordering of the lists, `index` is auto, 16 or 32. Throws std::invalid_argument where 16-bit columns are insisted
/// on and do not fit.
///
/// Values are of T, or of single precision in a loop of double precision.
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_sell_cuda(const SellMatrix<Value>& lists, const CsrMatrix<Value>& matrix,
                                            Vector<T> diagonal, std::string_view index);

}  // namespace femcg::operators
