#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// ELLPACK-R for T threads per row: a row's entries are dealt out to its T threads in turn, each row is padded to a
/// multiple of T, and stored so that the threads of neighbouring rows read neighbouring entries (Vazquez, Fernandez &
/// Garzon 2012; Ortega et al. 2013). Throws std::invalid_argument where padding takes more than 1 GiB and four times
/// the matrix itself.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellr_t(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> ellr_t_options();

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_ellr_t(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
