#include "mesh/vtu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <stdexcept>

#include "mesh/atomic_file.hpp"
#include "mesh/first_failure.hpp"
#include "mesh/vtu_grid.hpp"

namespace femcg::mesh {
namespace {

/// The lattice node at each of VTK's nodes.
std::vector<int> lattice_nodes_in_vtk_order(const Lattice& lattice) {
  const int p = lattice.degree();
  const Eigen::MatrixXd points = vtk_lagrange_points(lattice.shape(), p);
  std::vector<int> nodes;
  for (Eigen::Index n = 0; n < points.cols(); ++n) {
    std::array<int, 3> index{};
    for (Eigen::Index i = 0; i < points.rows(); ++i) index[i] = static_cast<int>(std::lround(p * points(i, n)));
    nodes.push_back(lattice.node(index[0], index[1], index[2]));
  }
  return nodes;
}

std::uint8_t vtk_cell_type(CellShape shape) {
  switch (shape) {
    case CellShape::triangle:
      return 69;
    case CellShape::quadrilateral:
      return 70;
    case CellShape::tetrahedron:
      return 71;
    case CellShape::hexahedron:
      return 72;
  }
  return 0;
}

// Values at the equally spaced lattice.

/// The first cell of each dof. Only there is the dof evaluated, so that the file does not depend on the threads.
std::vector<std::int32_t> first_cells(const FunctionSpace& space) {
  std::vector<std::int32_t> first(space.dof_count());
  for (std::int32_t cell = space.mesh().cell_count() - 1; cell >= 0; --cell)
    for (const std::int32_t dof : space.dofs(cell)) first[dof] = cell;
  return first;
}

/// dofs x components: `basis` (lattice nodes x functions) times what `gather(cell, coefficients)` puts into the
/// functions x components matrix of each cell.
template <class Gather>
std::vector<double> evaluate(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                             const Eigen::MatrixXd& basis, int components, const Gather& gather) {
  std::vector<double> result(std::size_t(space.dof_count()) * components);
  FirstFailure failure;
#pragma omp parallel
  {
    Eigen::MatrixXd coefficients, values;
    failure.guard(FirstFailure::preparation, [&] {
      coefficients = Eigen::MatrixXd::Zero(basis.cols(), components);
      values.resize(basis.rows(), components);
    });
#pragma omp for
    for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell)
      failure.guard(cell, [&] {
        gather(cell, coefficients);
        values.noalias() = basis * coefficients;
        const auto dofs = space.dofs(cell);
        for (std::size_t node = 0; node < dofs.size(); ++node) {
          if (first_cell[dofs[node]] != cell) continue;
          for (int c = 0; c < components; ++c) result[std::size_t(dofs[node]) * components + c] = values(node, c);
        }
      });
  }
  failure.rethrow();
  return result;
}

/// dofs x 3; z = 0 in the plane.
std::vector<double> lattice_points(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                                   const Eigen::MatrixXd& lattice) {
  const Mesh& mesh = space.mesh();
  const LagrangeBasis geometry(mesh.shape, mesh.order, NodeFamily::equispaced);
  return evaluate(space, first_cell, geometry.values(lattice), 3, [&](std::int32_t cell, Eigen::MatrixXd& coordinates) {
    const auto nodes = mesh.nodes(cell);
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (int i = 0; i < mesh.dimension(); ++i) coordinates(n, i) = mesh.point(nodes[n])[i];
  });
}

std::vector<double> lattice_values(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                                   const Eigen::MatrixXd& basis, const PointField& field) {
  return evaluate(space, first_cell, basis, field.components, [&](std::int32_t cell, Eigen::MatrixXd& local) {
    const auto dofs = space.dofs(cell);
    for (std::size_t n = 0; n < dofs.size(); ++n)
      for (int c = 0; c < field.components; ++c)
        local(n, c) = field.values[std::int64_t{dofs[n]} * field.components + c];
  });
}

// The arrays and the file.

template <class T>
CompressedArray compress(std::span<const T> values) {
  return CompressedArray::make<T>(std::ssize(values), [&](std::int64_t first, std::span<T> block) {
    std::copy_n(values.begin() + first, block.size(), block.begin());
  });
}
CompressedArray compress(const std::vector<double>& values) { return compress(std::span(values)); }

void add_cells(VtuGrid& grid, const FunctionSpace& space) {
  const Mesh& mesh = space.mesh();
  const std::int64_t cells = mesh.cell_count();
  const std::vector<int> order = lattice_nodes_in_vtk_order(space.basis().lattice());
  const std::int64_t n = std::ssize(order);
  grid.open("Cells");
  grid.add("Int64", "connectivity", 1,
           CompressedArray::make<std::int64_t>(cells * n, [&](std::int64_t first, std::span<std::int64_t> block) {
             for (std::size_t i = 0; i < block.size(); ++i) {
               const std::int64_t entry = first + static_cast<std::int64_t>(i);
               block[i] = space.dofs(static_cast<std::int32_t>(entry / n))[order[entry % n]];
             }
           }));
  grid.add("Int64", "offsets", 1,
           CompressedArray::make<std::int64_t>(cells, [&](std::int64_t first, std::span<std::int64_t> block) {
             for (std::size_t i = 0; i < block.size(); ++i) block[i] = (first + static_cast<std::int64_t>(i) + 1) * n;
           }));
  grid.add("UInt8", "types", 1,
           CompressedArray::make<std::uint8_t>(cells, [&](std::int64_t, std::span<std::uint8_t> block) {
             std::fill(block.begin(), block.end(), vtk_cell_type(mesh.shape));
           }));
  grid.close("Cells");
}

}  // namespace

void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields) {
  const Mesh& mesh = space.mesh();
  for (const PointField& field : point_fields)
    if (std::ssize(field.values) != std::int64_t{space.dof_count()} * field.components)
      throw std::invalid_argument("field " + field.name + " has not one value a degree of freedom");
  for (const CellField& field : cell_fields)
    if (std::ssize(field.values) != mesh.cell_count())
      throw std::invalid_argument("field " + field.name + " has not one value a cell");

  const LagrangeBasis lattice(mesh.shape, space.degree(), NodeFamily::equispaced);
  const Eigen::MatrixXd basis = space.basis().values(lattice.nodes());
  const std::vector<std::int32_t> first_cell = first_cells(space);

  VtuGrid grid(space.dof_count(), mesh.cell_count());
  grid.open("Points");
  grid.add("Float64", "Points", 3, compress(lattice_points(space, first_cell, lattice.nodes())));
  grid.close("Points");
  add_cells(grid, space);
  grid.open("PointData", point_fields.empty() ? "" : point_fields.front().name);
  for (const PointField& field : point_fields)
    grid.add("Float64", field.name, field.components, compress(lattice_values(space, first_cell, basis, field)),
             field.unit);
  grid.close("PointData");
  grid.open("CellData");
  for (const CellField& field : cell_fields) grid.add("Int32", field.name, 1, compress(field.values));
  grid.close("CellData");
  grid.write(stream);
}

void write_vtu(const std::filesystem::path& file, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields) {
  write_atomically(file, [&](std::ostream& stream) { write_vtu(stream, space, point_fields, cell_fields); });
}

}  // namespace femcg::mesh
