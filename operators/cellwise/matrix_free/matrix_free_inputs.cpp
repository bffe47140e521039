#include "operators/cellwise/matrix_free/matrix_free_inputs.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "mesh/affine_cells.hpp"
#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/cellwise/cell_loops/patch_option.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/congruence_classes.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// Tells whether all cells are affine, and whether all are boxes, up to rounding of their nodes.
struct Shapes {
  Shapes(const mesh::Mesh& mesh, const mesh::AffineCells& affine_cells) : boxes(mesh::is_tensor(mesh.shape)) {
#pragma omp parallel for schedule(static) reduction(&& : affine, boxes)
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
      affine = affine && affine_cells(cell);
      boxes = boxes && affine && affine_cells.is_box(cell);
    }
  }
  bool affine = true, boxes;
};

/// Throws std::invalid_argument if the vertices of the cells do not determine a product on the GPU, with a message that
/// begins with `asked`, the option that requires it, and recommends `instead`.
void check_vertices(const BilinearForm& form, const std::string& asked, const std::string& instead) {
  if (any_points(form))
    throw std::invalid_argument(asked + ", which is for as many Gauss points a direction as nodes; use " + instead +
                                ", or quadrature: " + std::to_string(form.space->degree() + 1));
  if (form.space->mesh().order != 1) throw std::invalid_argument(asked + ", but the cells are curved; use " + instead);
  if (!is_constant_in_cells(form))
    throw std::invalid_argument(asked + ", but the diffusion varies inside cells; use " + instead);
  if (form.diffusion.is_tensor())
    throw std::invalid_argument(asked + ", but the diffusion is a tensor; use " + instead);
}

/// `constant`: true if the diffusion is constant in each cell.
CellGeometry choose_geometry(const BilinearForm& form, bool constant, std::string_view asked) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (asked == "stored") return CellGeometry::stored;
  const CellGeometry all_else =
      fewer_pairs(mesh.dimension(), form.dofs_per_cell()) ? CellGeometry::pairs : CellGeometry::stored;
  if (any_points(form) || !constant) return all_else;
  const mesh::AffineCells affine(mesh);
  if (const Shapes all(mesh, affine); all.affine) {
    const bool diagonal = all.boxes && (!form.diffusion.is_tensor() || has_diagonal_factors(form));
    return diagonal ? CellGeometry::boxes : CellGeometry::affine;
  }
  if (!mesh::is_tensor(mesh.shape)) {
    // With few affine cells in a patch these do not fill waves; for degree 1 they need as many values as the others.
    constexpr std::int64_t enough = 4;
    return form.space->degree() > 1 && enough * affine.count() >= mesh.cell_count() ? CellGeometry::mixed : all_else;
  }
  if (mesh.order == 1 && !form.diffusion.is_tensor()) {
    // For degree 1 loading entries of K_e takes less time than computing factors.
    return asked == "vertices" || form.space->degree() > 1 ? CellGeometry::vertices : all_else;
  }
  return all_else;
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

/// Makes MatrixFreeInputs::gradients, for affine cells or for others; returns the number of tables.
int make_tables(const BilinearForm& form, bool affine, std::vector<double>& gradients) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  const std::vector<Eigen::MatrixXd> at_points = form.space->basis().gradients(rule.points);
  const auto axes = static_cast<Eigen::Index>(at_points.size()), n = at_points[0].cols();
  Eigen::MatrixXd all(rule.size(), axes * n);
  for (Eigen::Index axis = 0; axis < axes; ++axis) all.middleCols(axis * n, n) = at_points[std::size_t(axis)];
  if (affine) {
    // sum_q w_q g_q g_q' = all' W all = (Q R)' (Q R): rows of R beyond the rank vanish.
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(rule.weights.cwiseSqrt().asDiagonal() * all);
    qr.setThreshold(1e-10);
    const Eigen::MatrixXd basis = qr.householderQ() * Eigen::MatrixXd::Identity(rule.size(), qr.rank());
    all = basis.transpose() * rule.weights.cwiseSqrt().asDiagonal() * all;
  }
  gradients = row_major(all);
  return static_cast<int>(all.rows());
}

void set_tables(MatrixFreeInputs& inputs, const BilinearForm& form) {
  const bool mixed = inputs.geometry == CellGeometry::mixed;
  if (inputs.geometry == CellGeometry::affine) inputs.tables = make_tables(form, true, inputs.gradients);
  if (inputs.geometry == CellGeometry::stored || (mixed && !inputs.pairs_of_others()))
    inputs.tables = make_tables(form, false, inputs.gradients);
  if (mixed) inputs.affine_tables = make_tables(form, true, inputs.affine_gradients);
}

/// A flag per cell: 1 if it is affine.
std::vector<char> affine_flags(const mesh::Mesh& mesh) {
  const mesh::AffineCells affine(mesh);
  std::vector<char> flags(static_cast<std::size_t>(mesh.cell_count()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) flags[cell] = affine(cell);
  return flags;
}

constexpr std::int64_t most_numbers = std::int64_t{1} << 16;  // of MatrixFreeInputs::class_of_slot

/// The congruence classes if data are stored per class, else nothing.
std::optional<CongruenceClasses> classes_of_cells(const MatrixFreeInputs& inputs, Dedup dedup) {
  if (dedup == Dedup::off || !may_share(inputs.geometry)) return std::nullopt;
  const Vector<double> diffusion = copied(inputs.factors.diffusion, Device::host);
  auto classes = find_congruence_classes(*inputs.form, diffusion.span(),
                                         dedup == Dedup::on ? most_numbers : most_matrix_free_classes(*inputs.form));
  if (dedup == Dedup::on && !classes)
    throw std::invalid_argument("option 'dedup' of matrix-free is on, but more than " + std::to_string(most_numbers) +
                                " cells are distinct; use dedup: off");
  return classes;
}

void store_once(MatrixFreeInputs& inputs, const CongruenceClasses& classes) {
  constexpr std::int64_t group = CellPatches::group;
  const auto count = static_cast<std::int64_t>(classes.representatives.size());
  inputs.cell_of_class = Vector<std::int32_t>((count + group - 1) / group * group);
  fill(inputs.cell_of_class, std::int32_t{-1});
  std::copy(classes.representatives.begin(), classes.representatives.end(), inputs.cell_of_class.data());
  inputs.class_of_slot = Vector<std::uint16_t>(inputs.patches.slots());
#pragma omp parallel for schedule(static)
  for (std::int64_t slot = 0; slot < inputs.patches.slots(); ++slot) {
    const std::int32_t cell = inputs.patches.cell_of_slot[slot];
    inputs.class_of_slot[slot] = static_cast<std::uint16_t>(cell >= 0 ? classes.class_of_cell[cell] : 0);
  }
}

/// DiagonalTables for entries of K_e per pair of dofs.
DiagonalTables diagonal_tables_of_pairs(int dofs, int entries) {
  const int pairs = pairs_of(dofs);
  DiagonalTables tables;
  tables.points = (pairs + entries - 1) / entries;
  tables.squares.resize(static_cast<std::size_t>(tables.points * entries * dofs));
  for (int a = 0, pair = 0; a < dofs; ++a)
    for (int b = a + 1; b < dofs; ++b, ++pair)
      for (const int dof : {a, b}) tables.squares[static_cast<std::size_t>(pair * dofs + dof)] = 1;
  return tables;
}

}  // namespace

MixedGroups number_groups(const CellPatches& patches, std::span<const char> affine, int wave) {
  constexpr int group = CellPatches::group;
  MixedGroups groups{.numbers = Vector<std::int32_t>(patches.slots() / group), .affine_cells = {}, .other_cells = {}};
  std::vector<std::int32_t> of_affine, of_others;
  for (const CellPatch& patch : patches.patches.span()) {
    bool all = true;  // so far
    for (int first = 0; first < patch.slots; first += wave) {
      const std::span<const std::int32_t> cells = patches.cell_of_slot.span().subspan(
          static_cast<std::size_t>(patch.first_slot + first), std::min(wave, patch.slots - first));
      all = all && std::ranges::all_of(cells, [&](std::int32_t cell) { return cell < 0 || affine[cell] != 0; });
      std::vector<std::int32_t>& list = all ? of_affine : of_others;
      for (std::size_t k = 0; k < cells.size(); k += group) {
        const auto number = static_cast<std::int32_t>((list.size() + k) / group);
        groups.numbers[(patch.first_slot + first) / group + static_cast<std::int64_t>(k) / group] =
            all ? -1 - number : number;
      }
      list.insert(list.end(), cells.begin(), cells.end());
    }
  }
  const auto kept = [](const std::vector<std::int32_t>& list) {
    Vector<std::int32_t> cells(static_cast<std::int64_t>(list.size()));
    std::ranges::copy(list, cells.data());
    return cells;
  };
  groups.affine_cells = kept(of_affine);
  groups.other_cells = kept(of_others);
  return groups;
}

DiagonalTables diagonal_tables(const BilinearForm& form, CellGeometry geometry) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  const std::vector<Eigen::MatrixXd> gradients = form.space->basis().gradients(rule.points);
  const auto d = static_cast<int>(gradients.size()), entries = d * (d + 1) / 2, dofs = form.dofs_per_cell();
  if (geometry == CellGeometry::pairs) return diagonal_tables_of_pairs(dofs, entries);
  if (geometry == CellGeometry::mixed) {
    DiagonalTables tables = diagonal_tables(form, fewer_pairs(d, dofs) ? CellGeometry::pairs : CellGeometry::stored);
    const DiagonalTables affine = diagonal_tables(form, CellGeometry::affine);
    tables.points += affine.points;
    tables.squares.insert(tables.squares.end(), affine.squares.begin(), affine.squares.end());
    return tables;
  }
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
  return choose_geometry(form, is_constant_in_cells(form), asked);
}

double expected_affine_share(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  return static_cast<double>(mesh::AffineCells(mesh).count()) / std::max(1, mesh.cell_count());
}

std::int64_t most_matrix_free_classes(const BilinearForm& form) {
  return std::min(most_classes(form.cells()), most_numbers);
}

bool has_constant_factors(const BilinearForm& form) {
  return mesh::AffineCells(form.space->mesh()).all() && is_constant_in_cells(form);
}

bool any_points(const BilinearForm& form) {
  return mesh::is_tensor(form.space->mesh().shape) && form.quadrature != form.space->degree() + 1;
}

/// Most unknowns of a patch such that `blocks` blocks are resident per multiprocessor: shared memory has x and y of
/// each, besides what the system and the kernel reserve. Without the bound the largest patch of a mesh, perhaps the
/// only one of its size, would cost all patches a resident block.
constexpr int unknowns_of_blocks(int blocks, std::int64_t value_bytes) {
  constexpr std::int64_t of_multiprocessor = 228 << 10, beside = 1024 + 512;  // compute capability 9.0
  const std::int64_t numbers = (of_multiprocessor / blocks - beside) / (2 * value_bytes);
  return static_cast<int>(numbers / 4 * 4 - 1);
}

/// Options of the patches: many enough cells that little of a patch is interface, few enough that its unknowns leave
/// shared memory for other blocks, and that all multiprocessors have work.
PatchOptions matrix_free_patches(const BilinearForm& form, CellGeometry geometry, std::int64_t value_bytes) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const int n = form.dofs_per_cell();
  const int nodes = form.space->degree() + 1;  // per direction
  const bool waves = shape == mesh::CellShape::hexahedron && any_points(form) && geometry != CellGeometry::pairs;
  const bool teams = waves || (shape == mesh::CellShape::hexahedron && !thread_per_hexahedron(nodes));
  PatchOptions options;
  options.layout = teams ? CellLayout::cell_major : CellLayout::interleaved;
  const bool small = value_bytes == 4;
  int most = 128;  // measured on an H200
  if (teams)
    most = nodes == 5 ? 32 : warp_per_hexahedron(value_bytes, nodes, geometry) ? 96 : 64;
  else if (shape == mesh::CellShape::hexahedron)
    most = nodes == 3 ? 384 : is_affine(geometry) ? 2048 : 1024;
  else if (shape == mesh::CellShape::quadrilateral && !is_one_wave(n))
    most = nodes == 2 ? (small ? 1536 : 768) : nodes == 3 ? 512 : small ? 384 : 256;
  else if (shape == mesh::CellShape::tetrahedron && warp_of_simplices(n))
    most = n == 10 ? 1024 : n == 20 ? 384 : 192;
  else if (shape != mesh::CellShape::quadrilateral && n <= 10)
    most = n <= 4 ? (small ? 1024 : 768) : 256;
  if (teams && warp_per_hexahedron(value_bytes, nodes, geometry) && geometry == CellGeometry::boxes)
    options.unknowns = unknowns_of_blocks(blocks_of_box_warps, value_bytes);
  if (waves) {
    // Lines of the points take most of the shared memory, and factors most of the traffic: four waves of cells, each of
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
  inputs.dimension = form.space->mesh().dimension();
  inputs.form = &form;
  inputs.factors = factor_inputs(form, Device::cuda);
  inputs.geometry = choose_geometry(form, inputs.factors.diffusion_per_point == 0,
                                    choice.dedup == Dedup::on ? "vertices" : choice.geometry);
  PatchOptions options = matrix_free_patches(form, inputs.geometry, value_bytes);
  if (choice.patch > 0) options.cells = choice.patch;
  std::vector<char> affine;
  if (inputs.geometry == CellGeometry::mixed) {
    affine = affine_flags(form.space->mesh());
    options.first = affine;
    options.wave = mixed_wave(form.dofs_per_cell());
  }
  inputs.patches = make_cell_patches(form, options);
  if (inputs.geometry == CellGeometry::mixed) {
    inputs.groups = number_groups(inputs.patches, affine, options.wave);
    inputs.affine_slots = inputs.groups.affine_cells.size();
    inputs.other_slots = inputs.groups.other_cells.size();
  }
  if (const auto classes = classes_of_cells(inputs, choice.dedup)) store_once(inputs, *classes);
  const mesh::CellShape shape = form.space->mesh().shape;
  if (shape == mesh::CellShape::quadrilateral || shape == mesh::CellShape::hexahedron)
    set_lines(inputs, form);
  else
    set_tables(inputs, form);
  inputs.robin = robin_terms(form, inputs.patches.unknown_at.span());
  return inputs;
}

}  // namespace femcg::operators
