#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "operators/cellwise/cell_loops/patch_batches.hpp"

namespace femcg::operators {

/// Kind of the factors of a batch: those of all points, or the entries of K_e in their place (CellGeometry::pairs); one
/// set for affine cells with constant diffusion, or such a set without mixed terms.
enum class BatchGeometry : std::uint8_t { stored, pairs, affine, boxes };

/// True if gradients are constant in a cell: the sum of its factors tells all.
bool has_constant_gradients(const BilinearForm& form);

/// True if entries of K_e stand for the factors of all points, where these are more (fewer_pairs): of quadrilaterals,
/// where there are six, always; of other cells unless one set tells each. Those of degree 1 then all have them.
bool has_pairs(const BilinearForm& form);

/// Factors to be made: all points, or `pairs` (the result of has_pairs()), or else as few as determine a batch.
struct WantedFactors {
  bool all_points, pairs;
};

/// D_q of all batches, or what stands for them, or one set for those that need no more, unless all points are asked
/// for.
template <std::floating_point T>
struct BatchFactors {
  BatchFactors(const BilinearForm& form, const PatchBatches<T>& batches, WantedFactors wanted);

  const Lanes<T>* of(std::int32_t batch) const { return values.data() + offsets[batch]; }

  int entries, points;
  std::vector<std::int64_t> offsets;  ///< of each batch in values
  std::vector<BatchGeometry> geometry;
  Vector<Lanes<T>> values;
};

}  // namespace femcg::operators
