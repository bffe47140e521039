#include "mesh/vtu/vtu.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include "mesh/base/atomic_file.hpp"
#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/vtu/vtu_grid.hpp"

namespace femcg::mesh {
namespace {

/// Writes values at the lattice nodes of a cell, [nodes][components]. May have scratch memory.
using AtNodes = std::function<void(std::int32_t cell, std::span<double> values)>;

/// Values [dofs][components], each dof evaluated in its first cell; computed block by block to bound memory.
CompressedArray at_dofs(const FunctionSpace& space, std::span<const std::int32_t> first_cell, int components,
                        const std::function<AtNodes()>& make) {
  const std::int64_t count = std::int64_t{space.dof_count()} * components;
  return CompressedArray::make<double>(count, [&](std::int64_t first, std::span<double> block) {
    const std::int64_t last = first + std::ssize(block), begin = first / components, end = (last - 1) / components + 1;
    std::vector<std::int32_t> cells(first_cell.begin() + begin, first_cell.begin() + end);
    if (!std::ranges::is_sorted(cells)) std::ranges::sort(cells);  // for a renumbered space
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    const AtNodes evaluate = make();
    std::vector<double> values(static_cast<std::size_t>(space.dofs_per_cell()) * components);
    for (const std::int32_t cell : cells) {
      evaluate(cell, values);
      const auto dofs = space.dofs(cell);
      for (std::size_t node = 0; node < dofs.size(); ++node) {
        const std::int64_t dof = dofs[node];
        if (dof < begin || dof >= end || first_cell[dof] != cell) continue;
        for (int c = 0; c < components; ++c)
          if (const std::int64_t entry = dof * components + c; entry >= first && entry < last)
            block[entry - first] = values[node * components + c];
      }
    }
  });
}

/// `basis` (lattice nodes x functions) times each cell's coefficients (functions x components), which `gather(cell,
/// coefficients)` writes.
template <class Gather>
CompressedArray at_lattice(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                           const Eigen::MatrixXd& basis, int components, const Gather& gather) {
  return at_dofs(space, first_cell, components, [&]() -> AtNodes {
    return [&, coefficients = Eigen::MatrixXd(Eigen::MatrixXd::Zero(basis.cols(), components)),
            at_nodes = Eigen::MatrixXd()](std::int32_t cell, std::span<double> values) mutable {
      gather(cell, coefficients);
      at_nodes.noalias() = basis * coefficients;
      using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      Eigen::Map<RowMajor>(values.data(), basis.rows(), components) = at_nodes;
    };
  });
}

/// Points of the lattice; z = 0 in 2D.
CompressedArray lattice_points(const FunctionSpace& space, std::span<const std::int32_t> first_cell) {
  const Mesh& mesh = space.mesh();
  const LagrangeBasis lattice(mesh.shape, space.degree(), NodeFamily::equispaced),
      geometry(mesh.shape, mesh.order, NodeFamily::equispaced);
  const Eigen::MatrixXd basis = geometry.values(lattice.nodes());
  return at_lattice(space, first_cell, basis, 3, [&](std::int32_t cell, Eigen::MatrixXd& coordinates) {
    CellPoints points;
    mesh.write_points(cell, points.data());
    const int d = mesh.dimension();
    for (int n = 0; n < mesh.nodes_per_cell(); ++n)
      for (int i = 0; i < d; ++i) coordinates(n, i) = points[n * d + i];
  });
}

CompressedArray lattice_values(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                               const Eigen::MatrixXd& basis, std::span<const double> coefficients) {
  return at_lattice(space, first_cell, basis, 1, [&](std::int32_t cell, Eigen::MatrixXd& local) {
    const auto dofs = space.dofs(cell);
    for (std::size_t n = 0; n < dofs.size(); ++n) local(n, 0) = coefficients[dofs[n]];
  });
}

// Arrays and file.

template <class T>
CompressedArray compress(std::span<const T> values) {
  return CompressedArray::make<T>(std::ssize(values), [&](std::int64_t first, std::span<T> block) {
    std::copy_n(values.begin() + first, block.size(), block.begin());
  });
}

/// Adds cells of one type and number of nodes; `fill_nodes` fills the connectivity for CompressedArray::make.
template <class FillNodes>
void add_cells(VtuGrid& grid, std::int64_t cells, std::int64_t nodes, std::uint8_t type, const FillNodes& fill_nodes) {
  grid.open("Cells");
  grid.add("Int64", "connectivity", 1, [=] { return CompressedArray::make<std::int64_t>(cells * nodes, fill_nodes); });
  grid.add("Int64", "offsets", 1, [=] {
    return CompressedArray::make<std::int64_t>(cells, [=](std::int64_t first, std::span<std::int64_t> block) {
      for (std::size_t i = 0; i < block.size(); ++i) block[i] = (first + static_cast<std::int64_t>(i) + 1) * nodes;
    });
  });
  grid.add("UInt8", "types", 1, [=] {
    return CompressedArray::make<std::uint8_t>(
        cells, [=](std::int64_t, std::span<std::uint8_t> block) { std::ranges::fill(block, type); });
  });
  grid.close("Cells");
}

void add_cells(VtuGrid& grid, const FunctionSpace& space, CellKind kind) {
  const std::vector<int> order = lattice_nodes_in_vtk_order(space.basis().lattice());
  const std::int64_t n = std::ssize(order);
  add_cells(grid, space.mesh().cell_count(), n, vtk_cell_type(space.mesh().shape, kind),
            [&space, order, n](std::int64_t first, std::span<std::int64_t> block) {
              const std::int64_t last = first + std::ssize(block);
              for (std::int64_t entry = first; entry < last;) {
                const std::int64_t cell = entry / n;
                const CellDofs dofs = space.dofs(static_cast<std::int32_t>(cell));
                for (const std::int64_t end = std::min((cell + 1) * n, last); entry < end; ++entry)
                  block[entry - first] = dofs[order[entry - cell * n]];
              }
            });
}

void add_cell_fields(VtuGrid& grid, std::span<const CellField> fields, std::int64_t cells) {
  grid.open("CellData");
  for (const CellField& field : fields) {
    if (std::ssize(field.values) != cells)
      throw std::invalid_argument("field " + field.name + " has not one value a cell");
    grid.add("Int32", field.name, 1, [&field] { return compress(field.values); });
  }
  grid.close("CellData");
}

/// Values written cell by cell by the functions of `make`; a cell that two blocks share is evaluated for both.
CompressedArray evaluated(const SeparateCells& cells, int components, const std::function<NodeValues()>& make) {
  const std::int64_t of_cell = std::int64_t{cells.nodes} * components;
  return CompressedArray::make<double>(cells.count * of_cell, [&](std::int64_t first, std::span<double> block) {
    const NodeValues evaluate = make();
    std::vector<double> values(of_cell);
    const std::int64_t end = first + std::ssize(block);
    for (std::int64_t cell = first / of_cell; cell * of_cell < end; ++cell) {
      evaluate(cell, values);
      const std::int64_t begin = std::max(first, cell * of_cell), stop = std::min(end, (cell + 1) * of_cell);
      std::copy(values.begin() + (begin - cell * of_cell), values.begin() + (stop - cell * of_cell),
                block.begin() + (begin - first));
    }
  });
}

/// Values of a cellwise field at the dofs, [dofs][components].
CompressedArray shared(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                       const CellwiseField& field) {
  const std::vector<int> order = lattice_nodes_in_vtk_order(space.basis().lattice());
  const int components = field.components;
  return at_dofs(space, first_cell, components, [&]() -> AtNodes {
    return [&order, components, evaluate = field.make(), in_vtk_order = std::vector<double>(order.size() * components)](
               std::int32_t cell, std::span<double> values) mutable {
      evaluate(cell, in_vtk_order);
      for (std::size_t k = 0; k < order.size(); ++k)
        std::copy_n(&in_vtk_order[k * components], components,
                    &values[static_cast<std::size_t>(order[k]) * components]);
    };
  });
}

/// Points and cells of a space. The space and the fields of the grid are read when the grid is written.
VtuGrid grid_of(const FunctionSpace& space, std::span<const std::int32_t> first_cell,
                std::span<const TextField> text_fields, CellKind kind) {
  VtuGrid grid(space.dof_count(), space.mesh().cell_count());
  for (const TextField& field : text_fields) grid.add_texts(field.name, field.texts);
  grid.open("Points");
  grid.add("Float64", "Points", 3, [&space, first_cell] { return lattice_points(space, first_cell); });
  grid.close("Points");
  add_cells(grid, space, kind);
  return grid;
}

/// Adds all fields, their values made by `array`.
template <class Array>
void add_point_data(VtuGrid& grid, std::span<const CellwiseField> fields, const Array& array) {
  const auto scalars = std::ranges::find(fields, 1, &CellwiseField::components);
  grid.open("PointData", scalars == fields.end() ? "" : scalars->name);
  for (const CellwiseField& field : fields)
    grid.add(
        "Float64", field.name, field.components, [&field, array] { return array(field); }, field.unit);
  grid.close("PointData");
}

}  // namespace

std::uint8_t vtk_cell_type(CellShape shape, CellKind kind) {
  const bool linear = kind == CellKind::linear;
  switch (shape) {
    case CellShape::triangle:
      return linear ? 5 : 69;
    case CellShape::quadrilateral:
      return linear ? 9 : 70;
    case CellShape::tetrahedron:
      return linear ? 10 : 71;
    case CellShape::hexahedron:
      return linear ? 12 : 72;
  }
  return 0;
}

Eigen::MatrixXd vtk_lagrange_points_of_curve(int degree) {
  Eigen::MatrixXd points(1, degree + 1);
  points(0, 0) = 0;
  points(0, 1) = 1;
  for (int i = 1; i < degree; ++i) points(0, i + 1) = static_cast<double>(i) / degree;
  return points;
}

std::vector<int> lattice_nodes_at(const Lattice& lattice, const Eigen::MatrixXd& places) {
  std::vector<int> nodes;
  for (Eigen::Index n = 0; n < places.cols(); ++n) {
    std::array<int, 3> index{};
    for (Eigen::Index i = 0; i < places.rows(); ++i)
      index[i] = static_cast<int>(std::lround(lattice.degree() * places(i, n)));
    nodes.push_back(lattice.node(index[0], index[1], index[2]));
  }
  return nodes;
}
std::vector<int> lattice_nodes_in_vtk_order(const Lattice& lattice) {
  return lattice_nodes_at(lattice, vtk_lagrange_points(lattice.shape(), lattice.degree()));
}

std::vector<std::int32_t> first_cells(const FunctionSpace& space) {
  std::vector<std::int32_t> first = filled(space.dof_count(), std::numeric_limits<std::int32_t>::max());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell)
    for (const std::int32_t dof : space.dofs(cell)) lower(first[dof], cell);
  return first;
}

void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields) {
  const LagrangeBasis lattice(space.mesh().shape, space.degree(), NodeFamily::equispaced);
  const Eigen::MatrixXd basis = space.basis().values(lattice.nodes());
  const std::vector<std::int32_t> first_cell = first_cells(space);
  VtuGrid grid = grid_of(space, first_cell, text_fields, CellKind::lagrange);
  grid.open("PointData", point_fields.empty() ? "" : point_fields.front().name);
  const auto array = [&](const PointField& field) {
    if (std::ssize(field.values) != space.dof_count())
      throw std::invalid_argument("field " + field.name + " has not one value a degree of freedom");
    return lattice_values(space, first_cell, basis, field.values);
  };
  for (const PointField& field : point_fields)
    grid.add(
        "Float64", field.name, 1, [&] { return array(field); }, field.unit);
  grid.close("PointData");
  add_cell_fields(grid, cell_fields, space.mesh().cell_count());
  grid.write(stream);
}

void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields, CellKind kind) {
  const std::vector<std::int32_t> first_cell = first_cells(space);
  VtuGrid grid = grid_of(space, first_cell, text_fields, kind);
  add_point_data(grid, fields, [&](const CellwiseField& field) { return shared(space, first_cell, field); });
  add_cell_fields(grid, cell_fields, space.mesh().cell_count());
  grid.write(stream);
}

void write_vtu(std::ostream& stream, const SeparateCells& cells, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields) {
  VtuGrid grid(cells.count * cells.nodes, cells.count);
  for (const TextField& field : text_fields) grid.add_texts(field.name, field.texts);
  grid.open("Points");
  grid.add("Float64", "Points", 3, [&] { return evaluated(cells, 3, cells.points); });
  grid.close("Points");
  add_cells(grid, cells.count, cells.nodes, cells.vtk_type,
            [](std::int64_t first, std::span<std::int64_t> block) { std::iota(block.begin(), block.end(), first); });
  add_point_data(grid, fields,
                 [&](const CellwiseField& field) { return evaluated(cells, field.components, field.make); });
  add_cell_fields(grid, cell_fields, cells.count);
  grid.write(stream);
}

void write_vtu(const std::filesystem::path& file, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields) {
  write_atomically(file, [&](std::ostream& stream) { write_vtu(stream, space, point_fields, cell_fields); });
}

}  // namespace femcg::mesh
