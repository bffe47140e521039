#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Compressed rows for 16 threads per row, every row beginning at a multiple of 16 entries, so that its threads read
/// aligned memory (Baskaran & Bordawekar 2009, the second way of their section on aligned access: padding with zeros).
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_aligned(const Ingredients<T>& from, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_csr_aligned(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
