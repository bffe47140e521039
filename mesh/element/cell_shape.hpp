#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace femcg::mesh {

/// The four cells of the program. Tensor cells live on [0,1]^d, simplices on {x_i >= 0, sum x_i <= 1}.
enum class CellShape { quadrilateral, triangle, hexahedron, tetrahedron };

inline constexpr std::array all_cell_shapes{CellShape::quadrilateral, CellShape::triangle, CellShape::hexahedron,
                                            CellShape::tetrahedron};
inline constexpr int max_degree = 4;

constexpr int dimension(CellShape shape) {
  return shape == CellShape::quadrilateral || shape == CellShape::triangle ? 2 : 3;
}

/// True if the cell is a product of intervals.
constexpr bool is_tensor(CellShape shape) {
  return shape == CellShape::quadrilateral || shape == CellShape::hexahedron;
}

constexpr std::string_view name(CellShape shape) {
  constexpr std::array<std::string_view, 4> names{"quadrilateral", "triangle", "hexahedron", "tetrahedron"};
  return names[static_cast<int>(shape)];
}

constexpr std::optional<CellShape> cell_shape_from_name(std::string_view text) {
  for (const CellShape shape : all_cell_shapes)
    if (name(shape) == text) return shape;
  return std::nullopt;
}

/// Nodes of the Lagrange lattice of one degree: (p+1)^d on tensor cells, C(p+d, d) on simplices.
constexpr int lattice_size(CellShape shape, int degree) {
  const int n = degree + 1;
  switch (shape) {
    case CellShape::quadrilateral:
      return n * n;
    case CellShape::triangle:
      return n * (n + 1) / 2;
    case CellShape::hexahedron:
      return n * n * n;
    case CellShape::tetrahedron:
      return n * (n + 1) * (n + 2) / 6;
  }
  return 0;
}

}  // namespace femcg::mesh
