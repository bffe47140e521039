#pragma once

#include <array>
#include <cstdint>

#include "mesh/element/cell_shape.hpp"
#include "mesh/grid_indexing.hpp"

namespace femcg::mesh {

/// Number of cells that each rectangle or cuboid is split into.
constexpr int cells_per_cuboid(CellShape shape) { return is_tensor(shape) ? 1 : dimension(shape) == 2 ? 2 : 6; }

/// Coordinates and numbers of the nodes of a box's cells, or of a block of them: equally spaced, numbered row by row of
/// the grid, so that none are stored. Simplices split each rectangle into 2 and each cuboid into 6 cells, one for each
/// order of the axes on the way from corner 0 to the opposite one (Kuhn 1960), so that neighbouring cells agree on the
/// diagonals of their common face. Odd permutations swap two vertices to keep the orientation.
class BoxNodes {
 public:
  constexpr BoxNodes() = default;
  /// A block of `cells` cells that starts at cell `begin` of a box with `of_box` cells and edge lengths `size`; in 2D,
  /// one cell along z.
  constexpr BoxNodes(CellShape shape, const GridIndex& begin, const GridIndex& cells, const GridIndex& of_box,
                     const std::array<double, 3>& size)
      : shape_(shape),
        begin_(begin),
        cells_(cells),
        of_box_(of_box),
        size_(size),
        step_{size[0] / of_box[0], size[1] / of_box[1], size[2] / of_box[2]},
        parts_(cells_per_cuboid(shape)),
        cuboids_(cells[0], cells[1]),
        nodes_(cells[0] + 1, cells[1] + 1) {}

  constexpr CellShape shape() const { return shape_; }
  constexpr const GridIndex& begin() const { return begin_; }
  constexpr const GridIndex& cells() const { return cells_; }
  constexpr const GridIndex& of_box() const { return of_box_; }
  constexpr const std::array<double, 3>& size() const { return size_; }
  /// True unless this is a smaller block of the box.
  constexpr bool is_whole() const { return cells_ == of_box_; }
  constexpr bool empty() const { return cells_[0] == 0 || cells_[1] == 0 || cells_[2] == 0; }
  constexpr std::int32_t node_count() const {
    return empty() ? 0 : (cells_[0] + 1) * (cells_[1] + 1) * (dimension(shape_) == 3 ? cells_[2] + 1 : 1);
  }
  constexpr std::int32_t node(const GridIndex& at) const {
    return at[0] + (cells_[0] + 1) * (at[1] + (cells_[1] + 1) * at[2]);
  }
  /// Corner of a rectangle or cuboid, one bit per axis, at a vertex of one of its cells.
  constexpr int corner(int part, int vertex) const {
    constexpr std::array<std::array<int, 3>, 2> triangles{{{0, 1, 3}, {0, 3, 2}}};
    constexpr std::array<std::array<int, 4>, 6> tetrahedra{
        {{0, 1, 3, 7}, {0, 5, 1, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 6, 4, 7}}};
    if (is_tensor(shape_)) return vertex;
    return dimension(shape_) == 2 ? triangles[part][vertex] : tetrahedra[part][vertex];
  }
  /// Grid index in the block of one vertex of a cell; for_vertices calls work(index) for all of them.
  constexpr GridIndex vertex(std::int32_t cell, int vertex) const {
    return vertex_at(cuboids_(parts_(cell)), corner(parts_.rest(cell), vertex));
  }
  template <class Work>
  constexpr void for_vertices(std::int32_t cell, const Work& work) const {
    if (is_tensor(shape_)) {
      const GridIndex at = cuboids_(cell);
      const int count = dimension(shape_) == 2 ? 4 : 8;
      for (int v = 0; v < count; ++v) work(vertex_at(at, v));
    } else {
      const GridIndex at = cuboids_(parts_(cell));
      const int part = parts_.rest(cell), count = dimension(shape_) + 1;
      for (int v = 0; v < count; ++v) work(vertex_at(at, corner(part, v)));
    }
  }
  constexpr GridIndex place_of_node(std::int32_t node) const { return nodes_(node); }
  /// Coordinate at a grid index of the block, shifted by `moved` cells; the far side lies exactly at the box's size.
  constexpr double coordinate(const GridIndex& at, int axis, double moved = 0) const {
    const std::int32_t index = begin_[axis] + at[axis];
    return index == of_box_[axis] ? size_[axis] : (index + moved) * step_[axis];
  }

 private:
  static constexpr GridIndex vertex_at(const GridIndex& cuboid, int corner) {
    return {cuboid[0] + (corner & 1), cuboid[1] + (corner >> 1 & 1), cuboid[2] + (corner >> 2)};
  }

  CellShape shape_ = CellShape::quadrilateral;
  GridIndex begin_{}, cells_{1, 1, 1}, of_box_{1, 1, 1};
  std::array<double, 3> size_{1, 1, 1}, step_{1, 1, 1};
  Quotient parts_;
  GridIndexing cuboids_, nodes_;
};

}  // namespace femcg::mesh
