#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "operators/cellwise/cell_loops/patch_batches.hpp"

namespace femcg::operators {

/// Kind of the stored factors of a batch: those of all points; the entries of K_e instead (CellGeometry::pairs); one
/// set, for affine cells with constant diffusion; or such a set without mixed terms.
enum class BatchGeometry : std::uint8_t { stored, pairs, affine, boxes };

/// True if gradients are constant in a cell: the sum of its factors is then sufficient.
bool has_constant_gradients(const BilinearForm& form);

/// True if entries of K_e are stored instead of the factors of all points, where they are fewer (fewer_pairs): always
/// for quadrilaterals, which have six; for other cells unless one set is sufficient for each. Those of degree 1 then
/// all have them.
bool has_pairs(const BilinearForm& form);

/// Factors to make: all points, or `pairs` (the result of has_pairs()), else the fewest for each batch.
struct WantedFactors {
  bool all_points, pairs;
};

/// D_q of all batches, entries of K_e instead, or one set for batches where it is sufficient, unless all points are
/// wanted.
template <std::floating_point T>
struct BatchFactors {
  BatchFactors(const BilinearForm& form, const PatchBatches<T>& batches, WantedFactors wanted);

  const Lanes<T>* of(std::int32_t batch) const { return values.data() + offsets[batch]; }

  int entries, points;
  std::vector<std::int64_t> offsets;  ///< of each batch in `values`
  std::vector<BatchGeometry> geometry;
  Vector<Lanes<T>> values;
};

}  // namespace femcg::operators
