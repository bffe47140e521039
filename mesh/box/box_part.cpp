#include "mesh/box/box_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/shared_vertices.hpp"

namespace femcg::mesh {

namespace {

/// The place of a cut near `cut` with the most factors of 2, at most 2% of the smaller side's cells away.
int with_factors_of_two(int begin, int cut, int end) {
  const int most_moved = std::min(cut - begin, end - cut) / 50;
  int best = cut;
  for (int factor = 2; factor <= cut; factor *= 2)
    if (const int place = (cut + factor / 2) / factor * factor; std::abs(place - cut) <= most_moved) best = place;
  return best;
}

/// Block of one process: the box is bisected recursively. A block may be empty.
BoxBlock block_of(const BoxOptions& options, int rank, int processes) {
  const int d = dimension(options.shape);
  BoxBlock block{{}, options.cells};
  while (processes > 1) {
    const auto cells = [&](int axis) { return std::int64_t{block.end[axis]} - block.begin[axis]; };
    int axis = 0;
    for (int other = 1; other < d; ++other)
      if (cells(other) > cells(axis)) axis = other;
    const int first = (processes + 1) / 2;
    int cut = block.begin[axis] + static_cast<int>((cells(axis) * first + processes - 1) / processes);
    if (is_tensor(options.shape)) cut = with_factors_of_two(block.begin[axis], cut, block.end[axis]);
    if (rank < first) {
      block.end[axis] = cut;
      processes = first;
    } else {
      block.begin[axis] = cut;
      rank -= first;
      processes -= first;
    }
  }
  return block;
}

/// Nodes of a block of cells, first axis fastest.
struct BlockNodes {
  BlockNodes(const BoxBlock& block, int d) : begin(block.begin) {
    for (int axis = 0; axis < d; ++axis) {
      end[axis] = block.end[axis] + 1;
      if (block.begin[axis] == block.end[axis]) empty = true;
    }
    if (d == 2) begin[2] = 0;
  }
  std::int32_t number(int i, int j, int k) const {
    return (i - begin[0]) + (end[0] - begin[0]) * ((j - begin[1]) + (end[1] - begin[1]) * (k - begin[2]));
  }

  std::array<int, 3> begin, end{1, 1, 1};
  bool empty = false;  ///< true if the block has no cells
};

std::vector<std::int32_t> common_nodes(const BlockNodes& mine, const BlockNodes& other) {
  std::vector<std::int32_t> nodes;
  if (mine.empty || other.empty) return nodes;
  std::array<int, 3> begin{}, end{};
  for (int axis = 0; axis < 3; ++axis) {
    begin[axis] = std::max(mine.begin[axis], other.begin[axis]);
    end[axis] = std::min(mine.end[axis], other.end[axis]);
  }
  for (int k = begin[2]; k < end[2]; ++k)
    for (int j = begin[1]; j < end[1]; ++j)
      for (int i = begin[0]; i < end[0]; ++i) nodes.push_back(mine.number(i, j, k));
  return nodes;
}

/// Throws std::length_error if the refined box has more than 2^31 - 1 cells over all processes.
void check_count(const BoxOptions& options, int refinements) {
  const int d = dimension(options.shape);
  double cells = cells_per_cuboid(options.shape) * std::pow(2.0, d * refinements);
  for (int axis = 0; axis < d; ++axis) cells *= options.cells[axis];
  if (cells > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("refinement would make more than 2^31 - 1 cells");
}

/// Numbers in the whole box of the cells of a block, in the order of make_box.
std::vector<std::int32_t> cell_numbers_of(const BoxOptions& options, const BoxBlock& block) {
  const int d = dimension(options.shape), parts = cells_per_cuboid(options.shape);
  std::vector<std::int32_t> numbers;
  for (int k = d == 3 ? block.begin[2] : 0; k < (d == 3 ? block.end[2] : 1); ++k)
    for (int j = block.begin[1]; j < block.end[1]; ++j)
      for (int i = block.begin[0]; i < block.end[0]; ++i)
        for (int part = 0; part < parts; ++part)
          numbers.push_back((i + options.cells[0] * (j + options.cells[1] * k)) * parts + part);
  return numbers;
}

/// Refines the part of a box. In a box, a facet or edge whose vertices are all shared is itself shared.
MeshPart refined(const MeshPart& part) {
  const FunctionSpace lattice = lattice_for_refinement(part.mesh);
  const auto on_shared = dofs_on_shared_vertices(lattice, part.neighbours);
  std::vector<MeshPart::Neighbour> shared;
  for (std::size_t k = 0; k < on_shared.size(); ++k) {
    std::vector<std::int32_t>& nodes = shared.emplace_back(part.neighbours[k].rank).vertices;
    for (const OnSharedVertices& node : on_shared[k]) nodes.push_back(node.index);
  }
  return mesh::refined(part, lattice, shared);
}

}  // namespace

MeshPart part_of_box(const BoxOptions& options, int refinements, int rank, int processes) {
  check_count(options, refinements);
  const BoxBlock block = block_of(options, rank, processes);
  const int d = dimension(options.shape);
  const BlockNodes nodes(block, d);
  MeshPart part;
  part.mesh = implicit_box(options, block);
  if (!nodes.empty) part.cell_numbers = cell_numbers_of(options, block);
  for (int other = 0; other < processes; ++other) {
    if (other == rank) continue;
    std::vector<std::int32_t> common = common_nodes(nodes, BlockNodes(block_of(options, other, processes), d));
    if (!common.empty()) part.neighbours.push_back({other, std::move(common)});
  }
  for (int r = 0; r < refinements; ++r) part = refined(part);
  if (!nodes.empty && !is_valid_box(options, refinements)) validate(part.mesh);
  return part;
}

std::vector<std::int32_t> partition_in_blocks(const BoxOptions& options, int refinements, int processes) {
  const int children = 1 << dimension(options.shape) * refinements;
  std::vector<std::int32_t> process_of;
  for (int rank = 0; rank < processes; ++rank)
    for (const std::int32_t cell : cell_numbers_of(options, block_of(options, rank, processes))) {
      const std::size_t end = (std::size_t(cell) + 1) * children;
      process_of.resize(std::max(process_of.size(), end));
      std::fill(process_of.begin() + static_cast<std::ptrdiff_t>(end) - children,
                process_of.begin() + static_cast<std::ptrdiff_t>(end), rank);
    }
  return process_of;
}

}  // namespace femcg::mesh
