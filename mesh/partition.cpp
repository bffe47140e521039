#include "mesh/partition.hpp"

#include <algorithm>

#include "mesh/space_filling_curve.hpp"

namespace femcg::mesh {

std::vector<std::int32_t> partition_along_curve(const Mesh& mesh, int parts) {
  const std::vector<std::int32_t> order = cells_along_curve(mesh);
  std::vector<std::int32_t> part_of(order.size());
  const auto cells = static_cast<std::int64_t>(order.size());
  // The first cells % parts of them have one cell more.
  const std::int64_t least = cells / parts, larger = cells % parts;
  for (std::int64_t place = 0; place < cells; ++place) {
    const bool in_larger = place < larger * (least + 1);
    part_of[order[place]] =
        static_cast<std::int32_t>(in_larger ? place / (least + 1) : larger + (place - larger * (least + 1)) / least);
  }
  return part_of;
}

Mesh mesh_of_cells(const Mesh& whole, std::span<const std::int32_t> cells) {
  Mesh mesh;
  mesh.shape = whole.shape;
  mesh.order = whole.order;
  mesh.region_names = whole.region_names;
  std::vector<std::int32_t> nodes;
  for (const std::int32_t cell : cells) nodes.insert(nodes.end(), whole.nodes(cell).begin(), whole.nodes(cell).end());
  mesh.cell_nodes = nodes;
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (std::int32_t& node : mesh.cell_nodes)
    node = static_cast<std::int32_t>(std::ranges::lower_bound(nodes, node) - nodes.begin());
  for (const std::int32_t node : nodes)
    mesh.coordinates.insert(mesh.coordinates.end(), whole.point(node), whole.point(node) + whole.dimension());
  for (const std::int32_t cell : cells) mesh.cell_regions.push_back(whole.cell_regions[cell]);
  return mesh;
}

}  // namespace femcg::mesh
