#include "solver/inspection/inspection_files.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/vtu/vtu.hpp"
#include "mesh/vtu/vtu_grid.hpp"

namespace femcg::solver {

namespace {

using mesh::CellShape;
using mesh::CompressedArray;
using mesh::Mesh;

/// VTK's type of the facets, and the lattice nodes of each facet of a cell in VTK's order.
struct VtkFacets {
  explicit VtkFacets(const Mesh& mesh) {
    const CellShape shape = mesh.shape;
    const CellShape of_facet = mesh::is_tensor(shape) ? CellShape::quadrilateral : CellShape::triangle;
    const bool curve = mesh.dimension() == 2;
    type = curve ? mesh::vtk_lagrange_curve : mesh::vtk_cell_type(of_facet);
    const Eigen::MatrixXd places =
        curve ? mesh::vtk_lagrange_points_of_curve(mesh.order) : mesh::vtk_lagrange_points(of_facet, mesh.order);
    const Eigen::MatrixXd vertices = mesh::LagrangeBasis(shape, 1, mesh::NodeFamily::equispaced).nodes();
    const mesh::Lattice lattice(shape, mesh.order);
    for (int f = 0; f < static_cast<int>(mesh::facets(shape).size()); ++f) {
      const Eigen::VectorXd origin = vertices.col(mesh::facets(shape)[f].vertices[0]);
      nodes.push_back(mesh::lattice_nodes_at(lattice, (mesh::facet_tangents(shape, f) * places).colwise() + origin));
    }
  }
  std::uint8_t type;
  std::vector<std::vector<int>> nodes;
};

/// Function that makes the compressed array of these values.
template <class T>
std::function<CompressedArray()> array_of(std::vector<T> values) {
  return [values = std::move(values)] {
    return CompressedArray::make<T>(std::ssize(values), [&](std::int64_t first, std::span<T> block) {
      std::copy_n(values.begin() + first, block.size(), block.begin());
    });
  };
}

/// Grid on the nodes of the mesh, with the sections Points and Cells; `nodes_of(i, out)` appends the nodes of cell i.
template <class NodesOf>
mesh::VtuGrid begin_grid(const Mesh& mesh, std::int64_t cells, std::uint8_t type, const NodesOf& nodes_of) {
  mesh::VtuGrid grid(mesh.node_count(), cells);
  std::vector<double> points(std::size_t(mesh.node_count()) * 3, 0.0);
  for (std::int32_t node = 0; node < mesh.node_count(); ++node)
    std::copy_n(mesh.point(node).begin(), mesh.dimension(), points.begin() + std::int64_t{node} * 3);
  grid.open("Points");
  grid.add("Float64", "Points", 3, array_of(std::move(points)));
  grid.close("Points");
  std::vector<std::int64_t> connectivity, offsets;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    nodes_of(cell, connectivity);
    offsets.push_back(std::ssize(connectivity));
  }
  grid.open("Cells");
  grid.add("Int64", "connectivity", 1, array_of(std::move(connectivity)));
  grid.add("Int64", "offsets", 1, array_of(std::move(offsets)));
  grid.add("UInt8", "types", 1, array_of(std::vector<std::uint8_t>(cells, type)));
  grid.close("Cells");
  return grid;
}

}  // namespace

void write_cells(std::ostream& stream, const mesh::EntityMesh& by_entity, const Inspection& inspection) {
  const Mesh& mesh = by_entity.mesh;
  const mesh::Lattice lattice(mesh.shape, mesh.order);
  const std::vector<int> order = mesh::lattice_nodes_in_vtk_order(lattice);
  mesh::VtuGrid grid = begin_grid(mesh, mesh.cell_count(), mesh::vtk_cell_type(mesh.shape),
                                  [&](std::int64_t cell, std::vector<std::int64_t>& nodes) {
                                    const auto of_cell = mesh.nodes(static_cast<std::int32_t>(cell));
                                    for (const int node : order) nodes.push_back(of_cell[node]);
                                  });
  std::vector<std::int32_t> tags;
  for (const std::int32_t region : mesh.cell_regions) tags.push_back(by_entity.regions[region].tag);
  grid.open("CellData", "region");
  grid.add("Int32", "region", 1, array_of(std::move(tags)));
  const auto add = [&](const char* name, double mesh::CellQuality::*number) {
    std::vector<double> values;
    for (const mesh::CellQuality& quality : inspection.of_cells) values.push_back(quality.*number);
    grid.add("Float64", name, 1, array_of(std::move(values)));
  };
  add("smallest_angle", &mesh::CellQuality::smallest_angle);
  add("largest_angle", &mesh::CellQuality::largest_angle);
  add("jacobian", &mesh::CellQuality::jacobian);
  add("aspect", &mesh::CellQuality::aspect);
  grid.close("CellData");
  grid.write(stream);
}

void write_faces(std::ostream& stream, const mesh::EntityMesh& by_entity) {
  const Mesh& mesh = by_entity.mesh;
  const VtkFacets facets(mesh);
  std::vector<mesh::BoundaryFacet> all;
  std::vector<std::int32_t> tags, regions;
  for (std::size_t f = 0; f < by_entity.faces.size(); ++f)
    for (const mesh::BoundaryFacet& facet : mesh.boundaries[f].facets) {
      all.push_back(facet);
      tags.push_back(by_entity.faces[f].tag);
      regions.push_back(by_entity.regions[mesh.cell_regions[facet.cell]].tag);
    }
  mesh::VtuGrid grid =
      begin_grid(mesh, std::ssize(all), facets.type, [&](std::int64_t i, std::vector<std::int64_t>& nodes) {
        for (const int node : facets.nodes[all[i].facet]) nodes.push_back(mesh.nodes(all[i].cell)[node]);
      });
  grid.open("CellData", "face");
  grid.add("Int32", "face", 1, array_of(std::move(tags)));
  grid.add("Int32", "region", 1, array_of(std::move(regions)));
  grid.close("CellData");
  grid.write(stream);
}

}  // namespace femcg::solver
