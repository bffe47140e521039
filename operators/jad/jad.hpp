#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Jagged diagonals: all rows sorted by length, the longest first; then the first entry of every row, the second of
/// every row that has two, and so on, without padding (Saad 1989; on GPUs Li & Saad 2013, and Wang, Gu & Li 2017). x
/// and y keep their order.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_jad(const Ingredients<T>& from, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_jad(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
