#include "mesh/curved_cells.hpp"

#include <Eigen/Dense>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Weights that map the displacements of the inner nodes of one edge to those of the cell's inner nodes.
struct EdgeExtension {
  std::vector<int> edge_nodes;  ///< from the edge's first vertex to its second
  Eigen::MatrixXd weights;      ///< inner nodes x edge nodes
};

EdgeExtension extend(const Lattice& lattice, const SubEntity& edge, const std::vector<int>& inner) {
  const int p = lattice.degree();
  const auto barycentric = [&](int node, int vertex) {
    const auto& [i, j, k] = lattice.index(node);
    return static_cast<double>(vertex == 0 ? p - i - j : vertex == 1 ? i : j) / p;
  };
  EdgeExtension extension;
  for (int s = 1; s < p; ++s)
    for (int node = 0; node < lattice.size(); ++node)
      if (barycentric(node, edge.vertices[1]) * p == s && barycentric(node, edge.vertices[0]) * p == p - s)
        extension.edge_nodes.push_back(node);

  Eigen::VectorXd along(p - 1), at(static_cast<Eigen::Index>(inner.size()));
  for (int s = 1; s < p; ++s) along[s - 1] = 2.0 * s / p - 1;
  for (std::size_t a = 0; a < inner.size(); ++a)
    at[static_cast<Eigen::Index>(a)] =
        barycentric(inner[a], edge.vertices[1]) - barycentric(inner[a], edge.vertices[0]);
  extension.weights = line_values(along, at);
  for (Eigen::Index a = 0; a < extension.weights.rows(); ++a)
    for (int s = 1; s < p; ++s)
      extension.weights(a, s - 1) *= barycentric(inner[a], edge.vertices[0]) * barycentric(inner[a], edge.vertices[1]) /
                                     (s * (p - s) / double(p * p));
  return extension;
}

}  // namespace

void place_inner_nodes(Mesh& mesh) {
  if (mesh.shape != CellShape::triangle || mesh.order < 3) return;
  const Lattice lattice(mesh.shape, mesh.order);
  const LagrangeBasis corners(mesh.shape, 1, NodeFamily::equispaced);
  const Eigen::MatrixXd straight =
      corners.values(LagrangeBasis(mesh.shape, mesh.order, NodeFamily::equispaced).nodes());
  std::vector<int> inner;
  for (int node = 0; node < lattice.size(); ++node) {
    const auto& [i, j, k] = lattice.index(node);
    if (i > 0 && j > 0 && i + j < mesh.order) inner.push_back(node);
  }
  std::vector<EdgeExtension> extensions;
  for (const SubEntity& edge : edges(mesh.shape)) extensions.push_back(extend(lattice, edge, inner));

    // Inner nodes belong to one cell only, so threads do not conflict.
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto nodes = mesh.nodes(cell);
    const auto straight_point = [&](int node, int axis) {
      double sum = 0;
      for (int v = 0; v < 3; ++v) sum += straight(node, v) * mesh.point(nodes[lattice.vertex_nodes()[v]])[axis];
      return sum;
    };
    for (int axis = 0; axis < 2; ++axis)
      for (std::size_t a = 0; a < inner.size(); ++a) {
        double position = straight_point(inner[a], axis);
        for (const EdgeExtension& extension : extensions)
          for (std::size_t s = 0; s < extension.edge_nodes.size(); ++s) {
            const int node = extension.edge_nodes[s];
            position += extension.weights(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(s)) *
                        (mesh.point(nodes[node])[axis] - straight_point(node, axis));
          }
        mesh.coordinates[std::int64_t{nodes[inner[a]]} * 2 + axis] = position;
      }
  }
}

}  // namespace femcg::mesh
