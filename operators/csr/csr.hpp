#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// y_i = sum over the nonzeros of row i of a_ij x_j, in compressed rows. Shares the assembled
/// matrix itself, no second copy is held, but with `values: single` one in single precision. On the GPU in one of two
/// ways (csr.cu). Throws std::invalid_argument for options that do not go together.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> csr_options();

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_csr(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
