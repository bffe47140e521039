#pragma once

// The diagonals of the cells of a patch, from the data of products: sums over the points of D_q times squares and
// products of the basis functions' derivatives.
//
// A block has the D_q of some cells and points in shared memory, and one thread per basis function of four of these
// cells, so that each load of the tables serves four cells. Cells are then added to the unknowns one after the other:
// sums are in the order of the slots, the same in every run.

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/matrix_free_cuda.hpp"

namespace femcg::operators::cuda {

/// A patch's part of the diagonal in place of a product: y does not depend on x.
template <class T, int d>
struct DiagonalCells {
  static constexpr int threads = 128, blocks_per_multiprocessor = 2, entries = d * (d + 1) / 2, together = 4;
  static constexpr int scratch_size = 3072;  ///< values, at most

  CellGeometry geometry;
  bool interleaved;              ///< layout of data and local indices
  int dofs, points;              ///< of a cell; of the tables
  const T* numbers;              ///< see CellData
  const std::uint16_t* classes;  ///< of slots, if data are stored per congruence class; else null
  const T *squares, *positions;  ///< see DiagonalTables
  /// For mixed simplices: data of affine cells, and the groups of these (MixedGroups).
  const T* affine_numbers = nullptr;
  const std::int32_t* group_numbers = nullptr;

  __host__ __device__ static constexpr int cells_at_once(int dofs) { return threads / dofs * together; }
  /// Points whose D_q a block has in shared memory at a time.
  __host__ __device__ static int points_at_once(int dofs, int points) {
    const int most = scratch_size / (cells_at_once(dofs) * entries);
    return most < points ? most : points;
  }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T*, T* y, T* scratch) const {
    const int mine = static_cast<int>(threadIdx.x), group = mine / dofs, a = mine % dofs;
    const int groups = threads / dofs, cells = groups * together, step = points_at_once(dofs, points);
    for (int first = 0; first < patch.cells; first += cells) {
      T sums[together] = {};
      for (int q = 0; q < points; q += step) {
        const int count = points - q < step ? points - q : step;
        __syncthreads();
        for (int k = mine; k < cells * count; k += threads) {
          T factor[entries] = {};
          if (first + k / count < patch.cells) find_factor(patch.first_slot + first + k / count, q + k % count, factor);
#pragma unroll
          for (int e = 0; e < entries; ++e) scratch[k * entries + e] = factor[e];
        }
        __syncthreads();
        if (group < groups) add_points(scratch + group * together * count * entries, q, count, a, sums);
      }
      for (int turn = 0; turn < groups; ++turn)
#pragma unroll
        for (int j = 0; j < together; ++j) {
          const int cell = first + turn * together + j;
          if (turn == group && cell < patch.cells)
            if (const int place = place_of(all, patch.first_slot + cell, a); place < patch.unknown_count)
              y[place] += sums[j];
          __syncthreads();
        }
    }
  }

 private:
  __device__ void add_points(const T* factors, int q, int count, int a, T (&sums)[together]) const {
    const T* square = squares + (q * entries * dofs + a);
    for (int k = 0; k < count * entries; ++k) {
      const T number = __ldg(square + k * dofs);
#pragma unroll
      for (int j = 0; j < together; ++j) sums[j] += factors[j * count * entries + k] * number;
    }
  }

  /// Local index of a slot's dof, as in CellPatches::place_index.
  __device__ int place_of(const Patches& all, std::int64_t slot, int dof) const {
    constexpr int group = CellPatches::group;
    return all.local_indices[interleaved ? slot / group * group * ((dofs + 1) / 2 * 2) + dof / 2 * 2 * group +
                                               slot % group * 2 + dof % 2
                                         : slot * dofs + dof];
  }

  /// D_q; D / w for all points (affine cells, boxes); or D_q / w_q (vertices).
  __device__ void find_factor(std::int64_t slot, int q, T (&factor)[entries]) const {
    const std::int64_t cell = classes != nullptr ? classes[slot] : slot;
    switch (geometry) {
      case CellGeometry::pairs:
        return of_pairs(cell, q, factor);
      case CellGeometry::stored:
        for (int e = 0; e < entries; ++e) factor[e] = stored(cell, points, q, e);
        return;
      case CellGeometry::affine:
        for (int e = 0; e < entries; ++e) factor[e] = number(numbers, cell, e, entries);
        return;
      case CellGeometry::boxes:
        for (int axis = 0; axis < d; ++axis) factor[axis * d - axis * (axis - 1) / 2] = number(numbers, cell, axis, d);
        return;
      case CellGeometry::vertices:
        return from_vertices(cell, positions + q * d, factor);
      case CellGeometry::mixed:
        return of_mixed(cell, q, factor);
    }
  }
  /// Value `which` of the `count` values of a cell.
  __device__ T number(const T* of_cells, std::int64_t cell, int which, int count) const {
    constexpr int group = CellPatches::group;
    return of_cells[interleaved ? (cell / group * count + which) * group + cell % group : cell * count + which];
  }
  __device__ void of_pairs(std::int64_t cell, int q, T (&factor)[entries]) const {
    for (int e = 0; e < entries; ++e)
      if (const int pair = q * entries + e; pair < pairs_of(dofs))
        factor[e] = number(numbers, cell, pair, pairs_of(dofs));
  }
  /// A factor in the layout of cuda_cell_factors.
  __device__ T stored(std::int64_t cell, int of_points, int q, int entry) const {
    constexpr int group = CellPatches::group, pair = d == 2 ? 1 : 2;
    return numbers[interleaved ? ((cell / group * of_points + q) * entries + entry) * group + cell % group
                               : (cell * entries + entry / pair * pair) * of_points + q * pair + entry % pair];
  }
  /// D of a mixed cell: the last point stands for affine cells.
  __device__ void of_mixed(std::int64_t slot, int q, T (&factor)[entries]) const {
    constexpr int group = CellPatches::group;
    const int group_number = group_numbers[slot / group], others = points - 1;
    if ((group_number < 0) != (q == others)) return;
    const std::int64_t at = std::int64_t{group_number < 0 ? -1 - group_number : group_number} * group + slot % group;
    if (group_number >= 0 && fewer_pairs(d, dofs)) return of_pairs(at, q, factor);
    for (int e = 0; e < entries; ++e)
      factor[e] = group_number < 0 ? number(affine_numbers, at, e, entries) : stored(at, others, q, e);
  }
  /// kappa |J| J^-1 J^-T at x in the unit square or cube. The words of a cell as in TensorGeometry.
  __device__ void from_vertices(std::int64_t cell, const T* x, T (&factor)[entries]) const {
    constexpr int count = straight_words<d>;
    const auto word = [&](int vector, int axis) { return number(numbers, cell, vector * d + axis, count); };
    const T kappa = number(numbers, cell, count - 1, count);
    T columns[d][d], rows[d][d];  // dX / dx_i, and the rows of |J| J^-1
    for (int axis = 0; axis < d; ++axis)
      if constexpr (d == 2) {
        columns[0][axis] = word(0, axis) + x[1] * word(2, axis);
        columns[1][axis] = word(1, axis) + x[0] * word(2, axis);
      } else {
        const T xyz = word(6, axis);
        columns[0][axis] = word(0, axis) + x[1] * word(2, axis) + x[2] * (word(4, axis) + x[1] * xyz);
        columns[1][axis] = word(1, axis) + x[0] * word(2, axis) + x[2] * (word(5, axis) + x[0] * xyz);
        columns[2][axis] = word(3, axis) + x[0] * word(4, axis) + x[1] * (word(5, axis) + x[0] * xyz);
      }
    if constexpr (d == 2) {
      rows[0][0] = columns[1][1];
      rows[0][1] = -columns[1][0];
      rows[1][0] = -columns[0][1];
      rows[1][1] = columns[0][0];
    } else {
      for (int i = 0; i < 3; ++i)
        for (int axis = 0; axis < 3; ++axis) {
          const int j = (i + 1) % 3, k = (i + 2) % 3, next = (axis + 1) % 3, last = (axis + 2) % 3;
          rows[i][axis] = columns[j][next] * columns[k][last] - columns[j][last] * columns[k][next];
        }
    }
    T determinant = 0;
    for (int axis = 0; axis < d; ++axis) determinant += columns[0][axis] * rows[0][axis];
    const T scale = kappa / determinant;
    int entry = 0;
    for (int i = 0; i < d; ++i)
      for (int j = i; j < d; ++j) {
        T sum = 0;
        for (int axis = 0; axis < d; ++axis) sum += rows[i][axis] * rows[j][axis];
        factor[entry++] = scale * sum;
      }
  }
};

}  // namespace femcg::operators::cuda
