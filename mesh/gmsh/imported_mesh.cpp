#include "mesh/gmsh/imported_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mesh/element/reference_cell.hpp"
#include "mesh/gmsh/groups/boundary_faces.hpp"
#include "mesh/gmsh/groups/entities.hpp"
#include "mesh/gmsh/groups/groups.hpp"
#include "mesh/gmsh/raw/counted.hpp"

namespace femcg::mesh {

namespace {

/// 1 for each cell that repeats an earlier one's vertices: format 2 repeats cells that are in several groups.
std::vector<char> repeated_cells(const Mesh& mesh) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const auto sorted_vertices = [&](std::int32_t cell) {
    std::array<std::int32_t, 8> key;
    key.fill(mesh.node_count());  // After every node.
    std::transform(vertices.begin(), vertices.end(), key.begin(), [&](int v) { return mesh.nodes(cell)[v]; });
    std::sort(key.begin(), key.end());
    return key;
  };
  // Cells with the same vertices have the same least one; few others do.
  std::vector<std::vector<std::int32_t>> by_least_vertex(mesh.node_count());
  std::vector<char> repeated(mesh.cell_count(), 0);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto key = sorted_vertices(cell);
    std::vector<std::int32_t>& others = by_least_vertex[key[0]];
    repeated[cell] =
        std::any_of(others.begin(), others.end(), [&](std::int32_t other) { return sorted_vertices(other) == key; });
    if (!repeated[cell]) others.push_back(cell);
  }
  return repeated;
}

void drop_repeated_cells(Mesh& mesh) {
  const std::vector<char> repeated = repeated_cells(mesh);
  const auto count = std::count(repeated.begin(), repeated.end(), 1);
  if (count == 0) return;
  std::int32_t kept = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (repeated[cell]) continue;
    std::copy_n(mesh.nodes(cell).begin(), mesh.nodes_per_cell(),
                mesh.cell_nodes.begin() + std::int64_t{kept} * mesh.nodes_per_cell());
    mesh.cell_regions[kept++] = mesh.cell_regions[cell];
  }
  mesh.cell_nodes.resize(std::size_t(kept) * mesh.nodes_per_cell());
  mesh.cell_regions.resize(kept);
  mesh.warnings.push_back(fmt::format("left out {} repeating another one", counted(count, "cell")));
}

/// Copies nodes and cells, without regions; returns the mesh's number of each raw node.
std::vector<std::int32_t> begin_mesh(const RawMesh& raw, std::size_t declared_nodes, Mesh& mesh) {
  mesh.warnings = raw.warnings;
  check_cells(raw);
  std::vector<std::int32_t> node_numbers = copy_cells(raw, mesh);
  const auto unused = static_cast<std::size_t>(std::ranges::count(node_numbers, no_node));
  const std::size_t orphans = std::max(declared_nodes, raw.node_count()) - (raw.node_count() - unused);
  if (declared_nodes > 0 && orphans > 0)
    mesh.warnings.push_back(fmt::format("left out {} used by no cell", counted(orphans, "node")));
  return node_numbers;
}

}  // namespace

Mesh to_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes) {
  Mesh mesh;
  const std::vector<std::int32_t> node_numbers = begin_mesh(raw, declared_nodes, mesh);
  assign_regions(raw, options, mesh);
  drop_repeated_cells(mesh);
  const bool ruled = std::ranges::any_of(
      options.groups, [&](const auto& group) { return group.second.dimension == raw.dimension - 1; });
  assign_boundaries(ruled ? with_boundary_faces(raw, options, node_numbers, mesh) : raw, options, node_numbers, mesh);
  return mesh;
}

EntityMesh to_entity_mesh(const RawMesh& raw, const GmshOptions& options, std::size_t declared_nodes) {
  EntityMesh made;
  const std::vector<std::int32_t> node_numbers = begin_mesh(raw, declared_nodes, made.mesh);
  made.regions = assign_region_entities(raw, options, made.mesh);
  drop_repeated_cells(made.mesh);
  made.faces = assign_face_entities(with_boundary_faces(raw, options, node_numbers, made.mesh), options, node_numbers,
                                    made.mesh);
  return made;
}

}  // namespace femcg::mesh
