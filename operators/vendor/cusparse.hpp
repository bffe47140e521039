#pragma once

#include <memory>

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The baseline on the GPU: cuSPARSE's generic product with compressed rows, and the vector passes of CG as cuBLAS
/// calls with scalars on the device. Both count nonzeros in 32 bits: throws std::invalid_argument where there are more.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr(const Ingredients<T>& from, const Options& given);

/// The same with cuSPARSE's sliced ELLPACK, slices of 32 rows.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> cusparse_csr_options();

/// The memory that they take.
template <std::floating_point T>
OperatorBytes bytes_of_cusparse_csr(const Extent<T>& of, const Options& given);
template <std::floating_point T>
OperatorBytes bytes_of_cusparse_sell(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
