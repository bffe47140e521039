#pragma once

#include <memory>
#include <string_view>

#include "operators/operator.hpp"
#include "operators/sell/sell_matrix.hpp"

namespace femcg::operators {

/// `index` is auto, 16 or 32. Throws std::invalid_argument where 16-bit columns are insisted on and do not fit.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell_cuda(const CsrMatrix<T>& matrix, const SellMatrix<T>& chunks,
                                            std::string_view index);

}  // namespace femcg::operators
