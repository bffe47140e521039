#pragma once

#include <memory>
#include <span>
#include <vector>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Places of a matrix's entries in slices of `height` rows (Monakov et al. 2010): entry k of a slice's rows before
/// entry k + 1, rows padded to the longest of their slice.
struct SliceLayout {
  std::int64_t height = 1;
  std::int64_t sigma = 1;        ///< rows that are sorted by length together, longest first; 1 for none
  Vector<std::int64_t> offsets;  ///< slices + 1: entries before each, padding included
  std::shared_ptr<const Vector<std::int32_t>> row_at;  ///< the row at each position; null where rows keep their order

  std::int64_t slices() const { return offsets.size() - 1; }
  std::int64_t entries() const { return offsets[slices()]; }
};

/// The layouts of all heights with the first sigma, then with the next. Those that store more than half as much again
/// as the least are left out: a product reads what is stored.
std::vector<SliceLayout> slice_layouts(const Vector<std::int64_t>& row_offsets, std::span<const std::int64_t> heights,
                                       std::span<const std::int64_t> sigmas);

}  // namespace femcg::operators
