#include "solver/fields/file_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/parts/partition.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// 1 for each region of the mesh that is written.
std::vector<char> chosen_regions(const OutputSubset& subset, const mesh::Mesh& mesh) {
  std::vector<char> chosen(mesh.region_names.size(), subset.regions.empty() ? 1 : 0);
  for (const std::string& region : subset.regions) {
    const auto found = std::ranges::find(mesh.region_names, region);
    if (found == mesh.region_names.end())
      throw InputError(
          at_place(subset.regions_place, fmt::format("output.subset.regions: the mesh has no region {}{}",
                                                     in_quotes(region), did_you_mean_part(region, mesh.region_names))));
    chosen[found - mesh.region_names.begin()] = 1;
  }
  return chosen;
}

bool is_within(const OutputSubset& subset, const mesh::Mesh& mesh, std::int32_t cell, std::span<const int> vertices) {
  const auto nodes = mesh.nodes(cell);
  for (int axis = 0; axis < mesh.dimension(); ++axis) {
    double sum = 0;
    for (const int vertex : vertices) sum += mesh.point(nodes[vertex])[axis];
    const double centre = sum / static_cast<double>(vertices.size());
    if (centre < subset.min[axis] || centre > subset.max[axis]) return false;
  }
  return true;
}

}  // namespace

FileCells::FileCells(const OutputChoice& output, int degree_of_solution, const mesh::Mesh& mesh,
                     const operators::SharedDofs& shared)
    : degree(output.degree.value_or(degree_of_solution)), linear(output.degree == 1) {
  const OutputSubset& subset = output.subset;
  if (subset.has_all()) return;
  const std::vector<char> chosen = chosen_regions(subset, mesh);
  const std::vector<int> vertices = mesh::Lattice(mesh.shape, mesh.order).vertex_nodes();
  auto inside = mesh::collect<std::int32_t>(mesh.cell_count(), [&](std::int64_t i, std::vector<std::int32_t>& found) {
    const auto cell = static_cast<std::int32_t>(i);
    if (chosen[mesh.cell_regions[cell]] && is_within(subset, mesh, cell, vertices)) found.push_back(cell);
  });
  if (!shared.any(!inside.empty()))
    throw InputError(at_place(subset.place, "output.subset: no cell of the mesh has its centre inside"));
  if (std::ssize(inside) < mesh.cell_count())
    numbers = std::make_shared<const std::vector<std::int32_t>>(std::move(inside));
}

std::vector<std::int32_t> FileCells::regions(const mesh::Mesh& mesh) const {
  if (!numbers) return mesh.cell_regions;
  std::vector<std::int32_t> regions;
  regions.reserve(numbers->size());
  for (const std::int32_t cell : *numbers) regions.push_back(mesh.cell_regions[cell]);
  return regions;
}

FilePoints::FilePoints(const mesh::FunctionSpace& space, const FileCells& cells) : given_(&space) {
  if (cells.numbers) part_ = mesh::mesh_of_cells(space.mesh(), *cells.numbers);
  if (cells.numbers || cells.degree != space.degree()) own_.emplace(cells.numbers ? part_ : space.mesh(), cells.degree);
}

}  // namespace femcg::solver
