#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// SELL-C-sigma: chunks of C rows, each padded to its longest row and stored column by column; before that, rows are
/// sorted by length within windows of sigma rows (Kreutzer et al. 2012, whose pJDS is C = 32 and sigma = all rows).
/// x and y keep their order. With `values: single` the matrix is rounded, and sums are not. Throws
/// std::invalid_argument where sigma is not a multiple of C.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> sell_options();

/// pJDS: chunks of 32 rows, all rows sorted by length together, x and y in the order of the sorted rows too, so that
/// the product writes y as it goes; permutation is left to who applies it, before and after (Kreutzer et al. 2012).
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_pjds(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> pjds_options();

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_pjds(const Extent<T>& of, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_sell(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
