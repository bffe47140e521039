#include "operators/stored/assembled/expected_entries.hpp"

#include <array>
#include <cmath>

namespace femcg::operators {

namespace {

/// Dimension of the smallest entity (vertex, edge, face or cell) that contains two nodes of a lattice.
int dimension_of_pair(const mesh::Lattice& lattice, int a, int b) {
  const std::array<int, 3>&x = lattice.index(a), &y = lattice.index(b);
  const int p = lattice.degree(), d = mesh::dimension(lattice.shape());
  int sides = 0;  // that contain both nodes
  std::array<int, 2> sum{};
  for (int axis = 0; axis < d; ++axis) {
    sum[0] += x[axis];
    sum[1] += y[axis];
    if (x[axis] == 0 && y[axis] == 0) ++sides;
    if (mesh::is_tensor(lattice.shape()) && x[axis] == p && y[axis] == p) ++sides;
  }
  if (!mesh::is_tensor(lattice.shape()) && sum[0] == p && sum[1] == p) ++sides;
  return d - sides;
}

}  // namespace

double expected_entries(const BilinearForm& form, int degree) {
  // Pairs of a cell's nodes by the smallest entity that contains both: the pair appears in as many cells as that
  // entity.
  const mesh::Mesh& mesh = form.space->mesh();
  const mesh::Lattice lattice(mesh.shape, degree);
  const int d = mesh.dimension();
  std::array<double, 4> pairs{};  // by the dimension of that entity
  for (int a = 0; a < lattice.size(); ++a)
    for (int b = 0; b < a; ++b) ++pairs[static_cast<std::size_t>(dimension_of_pair(lattice, a, b))];
  // Most facets have two cells; edges of tetrahedra have about 5.1, those of hexahedra 4.
  const std::array<double, 4> cells_of = d == 2                        ? std::array{1.0, 2.0, 1.0, 1.0}
                                         : mesh::is_tensor(mesh.shape) ? std::array{1.0, 4.0, 2.0, 1.0}
                                                                       : std::array{1.0, 5.1, 2.0, 1.0};
  double entries = form.unknowns * std::pow(static_cast<double>(degree) / form.space->degree(), d);
  for (std::size_t k = 1; k <= static_cast<std::size_t>(d); ++k) entries += 2 * form.cells() * pairs[k] / cells_of[k];
  return entries;
}

}  // namespace femcg::operators
