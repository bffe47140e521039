#include "mesh/parts/shared_vertices.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Position of each vertex in a neighbour's list.
class Places {
 public:
  explicit Places(std::int32_t nodes) : places_(filled<std::int32_t>(nodes, -1)) {}
  void set(const MeshPart::Neighbour& neighbour) {
    for (std::size_t place = 0; place < neighbour.vertices.size(); ++place)
      places_[neighbour.vertices[place]] = static_cast<std::int32_t>(place);
  }
  void clear(const MeshPart::Neighbour& neighbour) {
    for (const std::int32_t vertex : neighbour.vertices) places_[vertex] = -1;
  }
  std::int32_t operator[](std::int32_t node) const { return places_[node]; }

 private:
  std::vector<std::int32_t> places_;
};

std::vector<OnSharedVertices> in_order(std::vector<OnSharedVertices> found) {
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

constexpr OnSharedVertices::Key no_vertices{{{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}};

/// Local vertices of each node of a lattice, with the weights of its key; empty for nodes inside cells.
using KeyWeights = std::vector<std::vector<std::pair<int, std::int32_t>>>;
KeyWeights key_weights(CellShape shape, int degree) {
  const Eigen::MatrixXd nodes = LagrangeBasis(shape, degree, NodeFamily::equispaced).nodes();
  const Eigen::MatrixXd values = LagrangeBasis(shape, 1, NodeFamily::equispaced).values(nodes);
  const double scale = is_tensor(shape) ? std::pow(degree, dimension(shape)) : degree;
  const std::size_t most = facets(shape).front().vertices.size();
  KeyWeights weights(static_cast<std::size_t>(values.rows()));
  for (Eigen::Index a = 0; a < values.rows(); ++a) {
    auto& of_node = weights[static_cast<std::size_t>(a)];
    for (int v = 0; v < values.cols(); ++v)
      if (const auto weight = static_cast<std::int32_t>(std::lround(scale * values(a, v))); weight > 0)
        of_node.emplace_back(v, weight);
    if (of_node.size() > most) of_node.clear();
  }
  return weights;
}

}  // namespace

std::vector<std::vector<OnSharedVertices>> dofs_on_shared_vertices(const FunctionSpace& space,
                                                                   std::span<const MeshPart::Neighbour> neighbours) {
  const Mesh& mesh = space.mesh();
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const KeyWeights weights = key_weights(mesh.shape, space.degree());
  std::vector<char> is_shared = filled<char>(mesh.node_count());
  for (const MeshPart::Neighbour& neighbour : neighbours)
    for (const std::int32_t vertex : neighbour.vertices) is_shared[vertex] = 1;
  const auto cells = collect<std::int32_t>(mesh.cell_count(), [&](std::int64_t i, std::vector<std::int32_t>& found) {
    const auto nodes = mesh.nodes(static_cast<std::int32_t>(i));
    if (std::ranges::any_of(vertices, [&](int v) { return is_shared[nodes[v]] != 0; }))
      found.push_back(static_cast<std::int32_t>(i));
  });
  Places places(mesh.node_count());
  std::vector<std::vector<OnSharedVertices>> on_shared;
  for (const MeshPart::Neighbour& neighbour : neighbours) {
    places.set(neighbour);
    on_shared.push_back(in_order(
        collect<OnSharedVertices>(std::ssize(cells), [&](std::int64_t i, std::vector<OnSharedVertices>& found) {
          const auto nodes = mesh.nodes(cells[i]);
          const CellDofs dofs = space.dofs(cells[i]);
          for (std::size_t a = 0; a < weights.size(); ++a) {
            OnSharedVertices dof{no_vertices, dofs[a]};
            std::size_t count = 0;
            for (const auto& [v, weight] : weights[a]) {
              const std::int32_t place = places[nodes[vertices[v]]];
              if (place < 0) break;
              dof.key[count++] = {place, weight};
            }
            if (count == 0 || count < weights[a].size()) continue;
            std::sort(dof.key.begin(), dof.key.begin() + static_cast<std::ptrdiff_t>(count));
            found.push_back(dof);
          }
        })));
    places.clear(neighbour);
  }
  return on_shared;
}

std::vector<std::vector<OnSharedVertices>> facets_on_shared_vertices(const Mesh& mesh,
                                                                     std::span<const BoundaryFacet> facets,
                                                                     std::span<const MeshPart::Neighbour> neighbours) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  Places places(mesh.node_count());
  std::vector<std::vector<OnSharedVertices>> on_shared;
  for (const MeshPart::Neighbour& neighbour : neighbours) {
    places.set(neighbour);
    std::vector<OnSharedVertices> found;
    for (std::size_t k = 0; k < facets.size(); ++k) {
      const std::vector<int>& corners = mesh::facets(mesh.shape)[facets[k].facet].vertices;
      OnSharedVertices facet{no_vertices, static_cast<std::int32_t>(k)};
      for (std::size_t v = 0; v < corners.size(); ++v)
        facet.key[v] = {places[mesh.nodes(facets[k].cell)[vertices[corners[v]]]], 1};
      const auto end = facet.key.begin() + static_cast<std::ptrdiff_t>(corners.size());
      if (std::any_of(facet.key.begin(), end, [](const auto& weight) { return weight.vertex < 0; })) continue;
      std::sort(facet.key.begin(), end);
      found.push_back(facet);
    }
    on_shared.push_back(in_order(std::move(found)));
    places.clear(neighbour);
  }
  return on_shared;
}

}  // namespace femcg::mesh
