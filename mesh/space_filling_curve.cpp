#include "mesh/space_filling_curve.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "mesh/pages.hpp"
#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

constexpr int curve_bits = 20;

/// The bits of a number, d - 1 zeros between any two.
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

/// Position along the Hilbert curve of a point with `curve_bits` bits a coordinate (Skilling 2004): the coordinates are
/// turned into the transposed index, whose bits are then interleaved.
std::uint64_t hilbert_index(std::array<std::uint32_t, 3> x, int d) {
  constexpr std::uint32_t top = 1U << (curve_bits - 1);
  for (std::uint32_t bit = top; bit > 1; bit >>= 1) {
    const std::uint32_t lower = bit - 1;
    for (int i = 0; i < d; ++i) {
      if (x[i] & bit) {
        x[0] ^= lower;
      } else {
        const std::uint32_t swapped = (x[0] ^ x[i]) & lower;
        x[0] ^= swapped;
        x[i] ^= swapped;
      }
    }
  }
  for (int i = 1; i < d; ++i) x[i] ^= x[i - 1];
  // Each bit is the parity of those above it in the last coordinate.
  std::uint32_t mask = x[d - 1];
  for (int shift = 1; shift < curve_bits; shift *= 2) mask ^= mask >> shift;
  mask >>= 1;
  std::uint64_t index = 0;
  for (int i = 0; i < d; ++i) index = index << 1 | spread(x[i] ^ mask, d);
  return index;
}

using Key = std::pair<std::uint64_t, std::int32_t>;  ///< place on the curve, cell

/// Sorts parts, one a thread, and merges pairs of them.
void sort_in_parallel(std::vector<Key>& keys) {
  const int parts = static_cast<int>(std::bit_floor(static_cast<unsigned>(omp_get_max_threads())));
  const auto begin_of = [&](int part) {
    return keys.begin() + static_cast<std::ptrdiff_t>(keys.size() * static_cast<std::size_t>(part) / parts);
  };
#pragma omp parallel for schedule(static)
  for (int part = 0; part < parts; ++part) std::sort(begin_of(part), begin_of(part + 1));
  for (int width = 1; width < parts; width *= 2) {
#pragma omp parallel for schedule(static)
    for (int part = 0; part < parts; part += 2 * width)
      std::inplace_merge(begin_of(part), begin_of(part + width), begin_of(part + 2 * width));
  }
}

}  // namespace

std::vector<std::int32_t> cells_along_curve(const Mesh& mesh) {
  const int d = mesh.dimension();
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::array<double, 3> low{}, high{};
  for (int i = 0; i < d; ++i) {
    double least = mesh.coordinates[i], greatest = least;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : greatest)
    for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
      least = std::min(least, mesh.point(node)[i]);
      greatest = std::max(greatest, mesh.point(node)[i]);
    }
    low[i] = least;
    high[i] = greatest;
  }
  double extent = 0;
  for (int i = 0; i < d; ++i) extent = std::max(extent, high[i] - low[i]);

  std::vector<Key> keys = filled<Key>(mesh.cell_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    std::array<std::uint32_t, 3> position{};
    for (int i = 0; i < d; ++i) {
      double centre = 0;
      for (const int v : vertices) centre += mesh.point(mesh.nodes(cell)[v])[i] / static_cast<double>(vertices.size());
      position[i] = static_cast<std::uint32_t>((centre - low[i]) / extent * ((1U << curve_bits) - 1));
    }
    keys[cell] = {hilbert_index(position, d), cell};
  }
  sort_in_parallel(keys);
  std::vector<std::int32_t> order = filled<std::int32_t>(keys.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.cell_count(); ++i) order[i] = keys[i].second;
  return order;
}

}  // namespace femcg::mesh
