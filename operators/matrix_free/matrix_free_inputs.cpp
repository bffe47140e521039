#include "operators/matrix_free/matrix_free_inputs.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "mesh/lagrange_basis.hpp"
#include "mesh/quadrature.hpp"
#include "operators/cell_loops/patch_option.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/forms/identical_cells.hpp"
#include "operators/matrix_free/matrix_free.hpp"

namespace femcg::operators {

namespace {

/// A node of a cell in space.
Eigen::Map<const Eigen::VectorXd> node_of(const mesh::Mesh& mesh, std::int32_t cell, int v) {
  const std::int32_t node = mesh.cell_nodes[static_cast<std::size_t>(std::int64_t{cell} * mesh.nodes_per_cell() + v)];
  return {mesh.coordinates.data() + std::int64_t{node} * mesh.dimension(), mesh.dimension()};
}

/// Whether the map of every cell is affine, to rounding of its nodes.
bool all_affine(const mesh::Mesh& mesh) {
  if (mesh.order != 1) return false;
  const int d = mesh.dimension(), vertices = mesh.nodes_per_cell();
  if (vertices == d + 1) return true;  // simplices
  bool affine = true;
#pragma omp parallel for schedule(static) reduction(&& : affine)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto at = [&](int v, int axis) { return node_of(mesh, cell, v)[axis]; };
    for (int axis = 0; axis < d; ++axis) {
      double scale = 0, least = at(0, axis), largest = least;
      for (int v = 0; v < vertices; ++v) {
        scale = std::max(scale, std::abs(at(v, axis)));
        least = std::min(least, at(v, axis));
        largest = std::max(largest, at(v, axis));
      }
      for (int v = 3; v < vertices; ++v) {
        double parallel = at(0, axis);
        for (int along = 0; along < d; ++along)
          if (v >> along & 1) parallel += at(1 << along, axis) - at(0, axis);
        if (std::abs(parallel - at(v, axis)) > 1e-14 * scale + 1e-12 * (largest - least)) affine = false;
      }
    }
  }
  return affine;
}

/// Whether the edges of affine quadrilaterals or hexahedra are orthogonal, to rounding of their nodes.
bool all_boxes(const mesh::Mesh& mesh) {
  if (!mesh::is_tensor(mesh.shape)) return false;
  const int d = mesh.dimension();
  bool boxes = true;
#pragma omp parallel for schedule(static) reduction(&& : boxes)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    using Vertices = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 4>;
    Vertices at(d, d + 1);  // the first, and its neighbours along the axes
    at.col(0) = node_of(mesh, cell, 0);
    for (int axis = 0; axis < d; ++axis) at.col(axis + 1) = node_of(mesh, cell, 1 << axis);
    const double rounding = 1e-14 * at.cwiseAbs().maxCoeff();
    const Vertices edges = at.rightCols(d).colwise() - at.col(0);
    for (int i = 0; i < d; ++i)
      for (int j = 0; j < i; ++j) {
        const double a = edges.col(i).norm(), b = edges.col(j).norm();
        if (std::abs(edges.col(i).dot(edges.col(j))) > 1e-12 * a * b + rounding * (a + b)) boxes = false;
      }
  }
  return boxes;
}

/// Throws std::invalid_argument where the vertices of the cells do not tell a product on the GPU all, which `asked` for
/// it: "option ... is ...", and what to ask for `instead`.
void check_vertices(const BilinearForm& form, const std::string& asked, const std::string& instead) {
  if (any_points(form))
    throw std::invalid_argument(asked + ", which is for as many Gauss points a direction as nodes; use " + instead +
                                ", or quadrature: " + std::to_string(form.space->degree() + 1));
  if (form.space->mesh().order != 1) throw std::invalid_argument(asked + ", but the cells are curved; use " + instead);
  if (!diffusion_of_cells(form).constant_in_cells)
    throw std::invalid_argument(asked + ", but the diffusion varies inside cells; use " + instead);
}

/// `constant`: the diffusion is, in each cell.
CellGeometry choose_geometry(const BilinearForm& form, bool constant, std::string_view asked) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (any_points(form) || asked == "stored") return CellGeometry::stored;
  if (constant && mesh.order == 1) {
    if (all_affine(mesh)) return all_boxes(mesh) ? CellGeometry::boxes : CellGeometry::affine;
    // The factors of hexahedra of degree 1 are read in less time than they are computed in: on an H200 8.1 against 4.4
    // billion unknowns x iterations of CG a second.
    const bool faster_stored = mesh.shape == mesh::CellShape::hexahedron && form.space->degree() == 1;
    return faster_stored && asked != "vertices" ? CellGeometry::stored : CellGeometry::vertices;
  }
  return CellGeometry::stored;
}

std::vector<double> row_major(const Eigen::MatrixXd& matrix) {
  std::vector<double> numbers;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) numbers.push_back(matrix(i, j));
  return numbers;
}

void set_lines(MatrixFreeInputs& inputs, const BilinearForm& form) {
  const mesh::Quadrature gauss = mesh::gauss_line(form.quadrature);
  const Eigen::VectorXd points = gauss.points.row(0).transpose(),
                        nodes = mesh::gauss_lobatto_points(form.space->degree() + 1);
  inputs.interpolate = row_major(mesh::line_values(nodes, points));
  inputs.interpolate_derivative = row_major(mesh::line_derivatives(nodes, points));
  inputs.differentiate = row_major(mesh::line_derivatives(points, points));
  inputs.points.assign(points.data(), points.data() + points.size());
  inputs.weights.assign(gauss.weights.data(), gauss.weights.data() + gauss.weights.size());
}

void set_tables(MatrixFreeInputs& inputs, const BilinearForm& form) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  const std::vector<Eigen::MatrixXd> at_points = form.space->basis().gradients(rule.points);
  const auto axes = static_cast<Eigen::Index>(at_points.size()), n = at_points[0].cols();
  Eigen::MatrixXd all(rule.size(), axes * n);
  for (Eigen::Index axis = 0; axis < axes; ++axis) all.middleCols(axis * n, n) = at_points[std::size_t(axis)];
  if (inputs.geometry == CellGeometry::affine) {
    // sum_q w_q g_q g_q' = all' W all = (Q R)' (Q R): rows of R beyond the rank vanish.
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(rule.weights.cwiseSqrt().asDiagonal() * all);
    qr.setThreshold(1e-10);
    const Eigen::MatrixXd basis = qr.householderQ() * Eigen::MatrixXd::Identity(rule.size(), qr.rank());
    all = basis.transpose() * rule.weights.cwiseSqrt().asDiagonal() * all;
  }
  inputs.tables = static_cast<int>(all.rows());
  inputs.gradients = row_major(all);
}

/// The unknowns of the Robin terms by their positions among the patches'.
void put_in_order(RobinRows& robin, const CellPatches& patches) {
  if (robin.rows.empty()) return;
  std::vector<std::int32_t> position(static_cast<std::size_t>(patches.unknown_count));
#pragma omp parallel for schedule(static)
  for (std::int32_t at = 0; at < patches.unknown_count; ++at)
    position[static_cast<std::size_t>(patches.unknown_at[at])] = at;
  for (std::int32_t& row : robin.rows) row = position[static_cast<std::size_t>(row)];
  for (std::int32_t& column : robin.columns) column = position[static_cast<std::size_t>(column)];
}

/// The kinds of cells whose numbers are stored once; nothing where they are not.
std::optional<IdenticalCells> kinds_of_cells(const MatrixFreeInputs& inputs, Dedup dedup) {
  constexpr std::int64_t most_numbers = std::int64_t{1} << 16;  // of kind_of_slot
  if (dedup == Dedup::off || inputs.geometry == CellGeometry::stored) return std::nullopt;
  const Vector<double> diffusion = copied(inputs.factors.diffusion, Device::host);
  auto kinds = find_identical_cells(
      *inputs.form, diffusion.span(),
      dedup == Dedup::on ? most_numbers : std::min(most_kinds(inputs.form->cells()), most_numbers));
  if (dedup == Dedup::on && !kinds)
    throw std::invalid_argument("option 'dedup' of matrix-free is on, but more than " + std::to_string(most_numbers) +
                                " cells are distinct; use dedup: off");
  return kinds;
}

void store_once(MatrixFreeInputs& inputs, const IdenticalCells& kinds) {
  constexpr std::int64_t group = CellPatches::group;
  const auto count = static_cast<std::int64_t>(kinds.representatives.size());
  inputs.cell_of_kind = Vector<std::int32_t>((count + group - 1) / group * group);
  fill(inputs.cell_of_kind, std::int32_t{-1});
  std::copy(kinds.representatives.begin(), kinds.representatives.end(), inputs.cell_of_kind.data());
  inputs.kind_of_slot = Vector<std::uint16_t>(inputs.patches.slots());
#pragma omp parallel for schedule(static)
  for (std::int64_t slot = 0; slot < inputs.patches.slots(); ++slot) {
    const std::int32_t cell = inputs.patches.cell_of_slot[slot];
    inputs.kind_of_slot[slot] = static_cast<std::uint16_t>(cell >= 0 ? kinds.kind_of_cell[cell] : 0);
  }
}

}  // namespace

DiagonalTables diagonal_tables(const BilinearForm& form, CellGeometry geometry) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  const std::vector<Eigen::MatrixXd> gradients = form.space->basis().gradients(rule.points);
  const auto d = static_cast<int>(gradients.size()), entries = d * (d + 1) / 2, dofs = form.dofs_per_cell();
  DiagonalTables tables;
  tables.points = is_affine(geometry) ? 1 : rule.size();
  tables.squares.resize(static_cast<std::size_t>(tables.points * entries * dofs));
  for (int q = 0; q < rule.size(); ++q)
    for (int r = 0, entry = 0; r < d; ++r)
      for (int s = r; s < d; ++s, ++entry)
        for (int a = 0; a < dofs; ++a) {
          const double weight = (r == s ? 1 : 2) * (geometry == CellGeometry::stored ? 1 : rule.weights[q]);
          const int point = is_affine(geometry) ? 0 : q;
          tables.squares[static_cast<std::size_t>((point * entries + entry) * dofs + a)] +=
              weight * gradients[static_cast<std::size_t>(r)](q, a) * gradients[static_cast<std::size_t>(s)](q, a);
        }
  tables.positions.assign(rule.points.data(), rule.points.data() + rule.points.size());
  return tables;
}

MatrixFreeChoice chosen_matrix_free(const BilinearForm& form, Device device, const Options& given) {
  const std::string_view name = "matrix-free";
  const MatrixFreeChoice choice{value_of(geometry_option, name, given), asked_dedup(name, given, device),
                                asked_patch(name, given, device)};
  if (choice.geometry == "vertices") {
    if (device == Device::host)
      throw std::invalid_argument(
          "option 'geometry' of matrix-free is vertices, which only a GPU takes; use geometry: auto");
    check_vertices(form, "option 'geometry' of matrix-free is vertices", "geometry: stored");
  }
  if (choice.dedup == Dedup::on) {
    if (choice.geometry == "stored")
      throw std::invalid_argument(
          "option 'dedup' of matrix-free is on, but geometry: stored stores every cell's own; leave one of them out");
    check_vertices(form, "option 'dedup' of matrix-free is on", "dedup: off");
  }
  if (mesh::is_tensor(form.space->mesh().shape) && !any_points(form) && is_one_wave(form.dofs_per_cell()) &&
      choice.patch > cells_per_wave)
    throw std::invalid_argument("option 'patch' of matrix-free is at most " + std::to_string(cells_per_wave) +
                                " for quadrilaterals of degree 4");
  return choice;
}

CellGeometry expected_geometry(const BilinearForm& form, std::string_view asked) {
  return choose_geometry(form, diffusion_of_cells(form).constant_in_cells, asked);
}

bool has_constant_factors(const BilinearForm& form) {
  return all_affine(form.space->mesh()) && diffusion_of_cells(form).constant_in_cells;
}

bool any_points(const BilinearForm& form) {
  return mesh::is_tensor(form.space->mesh().shape) && form.quadrature != form.space->degree() + 1;
}

/// Many enough cells that little of a patch is interface, few enough that its unknowns leave shared memory to others,
/// and that a GPU has work everywhere.
PatchOptions matrix_free_patches(const BilinearForm& form, CellGeometry geometry, std::int64_t value_bytes) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const int n = form.dofs_per_cell();
  const int nodes = form.space->degree() + 1;  // a direction
  const bool waves = shape == mesh::CellShape::hexahedron && any_points(form);
  const bool teams = waves || (shape == mesh::CellShape::hexahedron && !thread_per_hexahedron(nodes));
  PatchOptions options;
  options.layout = teams ? PlaceLayout::cell_major : PlaceLayout::interleaved;
  const bool small = value_bytes == 4;
  int most = 128;  // as measured on an H200
  if (teams)
    most = nodes == 5 ? 32 : warp_per_hexahedron(value_bytes, nodes, geometry) ? 96 : 64;
  else if (shape == mesh::CellShape::hexahedron)
    most = nodes == 3 ? 384 : is_affine(geometry) ? 2048 : 1024;
  else if (shape == mesh::CellShape::quadrilateral && !is_one_wave(n))
    most = nodes == 2 ? (small ? 1536 : 768) : nodes == 3 ? 512 : small ? 384 : 256;
  else if (shape == mesh::CellShape::tetrahedron && warp_of_simplices(value_bytes, n))
    most = n == 10 ? 1024 : n == 20 ? 384 : 192;
  else if (shape != mesh::CellShape::quadrilateral && n <= 10)
    most = n <= 4 ? (small ? 1024 : 768) : 256;
  if (waves) {
    // The points' lines take most of the shared memory, and factors most of the traffic: four waves of cells, each of
    // 128 lines of nodes.
    most = 4 * (128 / (nodes * nodes));
    options.unknowns = 2048;
  }
  const int least = teams ? 8 : CellPatches::group;
  options.cells = cells_per_patch(form, least, most, form.robin.empty());
  return options;
}

MatrixFreeInputs matrix_free_inputs(const BilinearForm& form, const MatrixFreeChoice& choice,
                                    std::int64_t value_bytes) {
  MatrixFreeInputs inputs;
  inputs.degree = form.space->degree();
  inputs.form = &form;
  inputs.factors = factor_inputs(form, Device::cuda);
  inputs.geometry = choose_geometry(form, inputs.factors.diffusion_per_point == 0,
                                    choice.dedup == Dedup::on ? "vertices" : choice.geometry);
  PatchOptions options = matrix_free_patches(form, inputs.geometry, value_bytes);
  if (choice.patch > 0) options.cells = choice.patch;
  inputs.patches = make_cell_patches(form, options);
  if (const auto kinds = kinds_of_cells(inputs, choice.dedup)) store_once(inputs, *kinds);
  const mesh::CellShape shape = form.space->mesh().shape;
  if (shape == mesh::CellShape::quadrilateral || shape == mesh::CellShape::hexahedron)
    set_lines(inputs, form);
  else
    set_tables(inputs, form);
  inputs.robin = robin_rows(form);
  put_in_order(inputs.robin, inputs.patches);
  return inputs;
}

}  // namespace femcg::operators
