#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

Lattice::Lattice(CellShape shape, int degree) : shape_(shape), degree_(degree) {
  const int last_z = dimension(shape) == 3 ? degree : 0;
  for (int k = 0; k <= last_z; ++k)
    for (int j = 0; j <= (is_tensor(shape) ? degree : degree - k); ++j)
      for (int i = 0; i <= (is_tensor(shape) ? degree : degree - k - j); ++i) indices_.push_back({i, j, k});
  for (int v = 0; v < vertex_count(shape); ++v) {
    if (is_tensor(shape))
      vertex_nodes_.push_back(node((v & 1) * degree, (v >> 1 & 1) * degree, (v >> 2) * degree));
    else
      vertex_nodes_.push_back(node(v == 1 ? degree : 0, v == 2 ? degree : 0, v == 3 ? degree : 0));
  }
}

int Lattice::node(int i, int j, int k) const {
  const int n = degree_ + 1;
  if (is_tensor(shape_)) return i + n * (j + n * k);
  const auto triangle = [](int m) { return m * (m + 1) / 2; };
  const auto tetrahedron = [](int m) { return m * (m + 1) * (m + 2) / 6; };
  const int in_plane = n - k;  // nodes along an edge of layer k
  const int before_row = triangle(in_plane) - triangle(in_plane - j);
  return (dimension(shape_) == 3 ? tetrahedron(n) - tetrahedron(in_plane) : 0) + before_row + i;
}

int vertex_count(CellShape shape) {
  const int d = dimension(shape);
  return is_tensor(shape) ? 1 << d : d + 1;
}

const std::vector<SubEntity>& edges(CellShape shape) {
  using Entities = std::vector<SubEntity>;
  // Quadrilateral, triangle, hexahedron, tetrahedron.
  static const std::array<Entities, 4> all{
      Entities{{1, {0, 2}}, {1, {1, 3}}, {1, {0, 1}}, {1, {2, 3}}}, Entities{{1, {0, 1}}, {1, {0, 2}}, {1, {1, 2}}},
      Entities{{1, {0, 1}},
               {1, {2, 3}},
               {1, {4, 5}},
               {1, {6, 7}},
               {1, {0, 2}},
               {1, {1, 3}},
               {1, {4, 6}},
               {1, {5, 7}},
               {1, {0, 4}},
               {1, {1, 5}},
               {1, {2, 6}},
               {1, {3, 7}}},
      Entities{{1, {0, 1}}, {1, {0, 2}}, {1, {0, 3}}, {1, {1, 2}}, {1, {1, 3}}, {1, {2, 3}}}};
  return all[static_cast<std::size_t>(shape)];
}

const std::vector<SubEntity>& faces(CellShape shape) {
  using Entities = std::vector<SubEntity>;
  static const std::array<Entities, 4> all{Entities{{2, {0, 1, 2, 3}}}, Entities{{2, {0, 1, 2}}},
                                           Entities{{2, {0, 2, 4, 6}},
                                                    {2, {1, 3, 5, 7}},
                                                    {2, {0, 1, 4, 5}},
                                                    {2, {2, 3, 6, 7}},
                                                    {2, {0, 1, 2, 3}},
                                                    {2, {4, 5, 6, 7}}},
                                           Entities{{2, {0, 1, 2}}, {2, {0, 1, 3}}, {2, {0, 2, 3}}, {2, {1, 2, 3}}}};
  return all[static_cast<std::size_t>(shape)];
}

const std::vector<SubEntity>& facets(CellShape shape) { return dimension(shape) == 2 ? edges(shape) : faces(shape); }

}  // namespace femcg::mesh
