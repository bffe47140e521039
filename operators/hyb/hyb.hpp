#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The first `width` entries of every row as ELLPACK, padded; what longer rows have beyond as coordinates, sorted by
/// row (Bell & Garland 2009). Throws std::invalid_argument where a given width pads by more than 1 GiB and four times
/// the matrix itself.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> hyb_options();

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_hyb(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
