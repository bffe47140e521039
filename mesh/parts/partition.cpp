#include "mesh/parts/partition.hpp"

#include <algorithm>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/dofs/space_filling_curve.hpp"

namespace femcg::mesh {

std::vector<std::int32_t> partition_along_curve(const Mesh& mesh, int parts) {
  const std::vector<std::int32_t> order = cells_along_curve(mesh);
  std::vector<std::int32_t> part_of(order.size());
  const auto cells = static_cast<std::int64_t>(order.size());
  // The first cells % parts parts have one cell more.
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
  mesh.axisymmetric = whole.axisymmetric;
  mesh.follows_curve = whole.follows_curve;
  mesh.region_names = whole.region_names;
  const std::int64_t n = whole.nodes_per_cell(), count = std::ssize(cells);
  const int d = whole.dimension();
  std::vector<std::int32_t> number = filled<std::int32_t>(whole.node_count());
  const std::int32_t nodes = number_used(
      count, [&](std::int64_t i) { return whole.nodes(cells[i]); }, number);
  mesh.coordinates = filled<double>(std::size_t(nodes) * d);
#pragma omp parallel for schedule(static)
  for (std::int32_t node = 0; node < whole.node_count(); ++node) {
    const std::int32_t next = node + 1 < whole.node_count() ? number[node + 1] : nodes;
    if (next > number[node])
      std::copy_n(whole.point(node).begin(), d, &mesh.coordinates[std::int64_t{number[node]} * d]);
  }
  mesh.cell_nodes = filled<std::int32_t>(count * n);
  mesh.cell_regions = filled<std::int32_t>(count);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto of_cell = whole.nodes(cells[i]);
    for (std::int64_t k = 0; k < n; ++k) mesh.cell_nodes[i * n + k] = number[of_cell[k]];
    mesh.cell_regions[i] = whole.cell_regions[cells[i]];
  }
  return mesh;
}

}  // namespace femcg::mesh
