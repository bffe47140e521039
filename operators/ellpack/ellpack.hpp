#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Rows padded to the longest one and stored column by column: entry k of every row, then entry k + 1 (Bell & Garland
/// 2009). Throws std::invalid_argument where padding takes more than 1 GiB and four times the matrix itself.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack(const Ingredients<T>& from, const Options& given);

/// The same storage with the lengths of the rows, so that the product leaves the padding out (Kreutzer et al. 2012,
/// listing 1).
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_r(const Ingredients<T>& from, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_ellpack(const Extent<T>& of, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_ellpack_r(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
