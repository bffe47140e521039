#include "mesh/dofs/space_filling_curve.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "mesh/base/pages.hpp"
#include "mesh/base/sorting.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

constexpr int curve_bits = 20;

/// Bits of a number with d - 1 zeros between neighbouring bits.
std::uint64_t spread(std::uint64_t x, int d) {
  if (d == 2) {
    x = (x | x << 16) & 0x0000ffff0000ffffU;
    x = (x | x << 8) & 0x00ff00ff00ff00ffU;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fU;
    x = (x | x << 2) & 0x3333333333333333U;
    return (x | x << 1) & 0x5555555555555555U;
  }
  x = (x | x << 32) & 0x001f00000000ffffU;
  x = (x | x << 16) & 0x001f0000ff0000ffU;
  x = (x | x << 8) & 0x100f00f00f00f00fU;
  x = (x | x << 4) & 0x10c30c30c30c30c3U;
  return (x | x << 2) & 0x1249249249249249U;
}

/// Position on the Hilbert curve of a point with `curve_bits` bits per coordinate (Skilling 2004): transforms the
/// coordinates into the transposed index, then interleaves its bits.
std::uint64_t hilbert_index(std::array<std::uint32_t, 3> x, int d) {
  for (int bit = curve_bits - 1; bit > 0; --bit) {
    const std::uint32_t lower = (1U << bit) - 1;
    for (int i = 0; i < d; ++i) {
      // If the bit is set, inverts the lower bits of the first coordinate, else exchanges them with this coordinate's:
      // without a branch, which no processor could predict.
      const std::uint32_t inverted = lower & (0U - (x[i] >> bit & 1U));
      x[0] ^= inverted;
      const std::uint32_t exchanged = (x[0] ^ x[i]) & lower & ~inverted;
      x[0] ^= exchanged;
      x[i] ^= exchanged;
    }
  }
  for (int i = 1; i < d; ++i) x[i] ^= x[i - 1];
  // Each bit is the parity of the higher bits of the last coordinate.
  std::uint32_t mask = x[d - 1];
  for (int shift = 1; shift < curve_bits; shift *= 2) mask ^= mask >> shift;
  mask >>= 1;
  std::uint64_t index = 0;
  for (int i = 0; i < d; ++i) index = index << 1 | spread(x[i] ^ mask, d);
  return index;
}

}  // namespace

std::vector<std::int32_t> cells_along_curve(const Mesh& mesh) {
  const int d = mesh.dimension();
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const Extent extent = extent_of(mesh);
  const double largest = extent.largest();
  Array<NumberedKey> keys = unset<NumberedKey>(mesh.cell_count());
  const double share = 1.0 / static_cast<double>(vertices.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    CellPoints points;
    mesh.write_points(cell, points.data());
    std::array<double, 3> centre{};
    for (const int v : vertices)
      for (int i = 0; i < d; ++i) centre[i] += points[v * d + i] * share;
    std::array<std::uint32_t, 3> position{};
    for (int i = 0; i < d; ++i)
      position[i] = static_cast<std::uint32_t>((centre[i] - extent.low[i]) / largest * ((1U << curve_bits) - 1));
    keys[cell] = {hilbert_index(position, d), cell};
  }
  keys = sorted_in_parallel(std::move(keys));
  std::vector<std::int32_t> order = filled<std::int32_t>(keys.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.cell_count(); ++i) order[i] = keys[i].number;
  return order;
}

}  // namespace femcg::mesh
