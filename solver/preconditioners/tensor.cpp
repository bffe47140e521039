#include "solver/preconditioners/tensor.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/grid_indexing.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::Device;
using operators::Operator;
using operators::Options;
using operators::TensorAxis;
using operators::TensorInverse;
using operators::Vector;

namespace {

/// Lattice points of a box, constrained ones included: the tensor product of the lines' points.
class BoxLattice {
 public:
  explicit BoxLattice(const BilinearForm& form)
      : form_(form),
        lattice_(form.space->basis().lattice()),
        dimension_(form.space->mesh().dimension()),
        cells_(form.space->mesh().box->cells()) {}

  int dimension() const { return dimension_; }
  const mesh::GridIndex& cells() const { return cells_; }
  int points(int axis) const { return axis < dimension_ ? form_.space->degree() * cells_[axis] + 1 : 1; }
  /// Unknown at a point; negative if constrained.
  std::int32_t unknown(const std::array<int, 3>& at) const {
    const int p = form_.space->degree();
    std::array<int, 3> cell{}, in{};
    for (int axis = 0; axis < dimension_; ++axis) {
      cell[axis] = std::min(at[axis] / p, cells_[axis] - 1);
      in[axis] = at[axis] - p * cell[axis];
    }
    return form_.unknown_of_dof[form_.space->dof(cell[0] + cells_[0] * (cell[1] + cells_[1] * cell[2]),
                                                 lattice_.node(in[0], in[1], in[2]))];
  }
  /// The points from `first` on, for a GPU.
  operators::BoxPoints from(const std::array<int, 3>& first, const std::array<int, 3>& size) const {
    operators::BoxPoints points{nodes_of(form_), form_.space->degree(), {1, 1, 1}, first, size, {}};
    std::copy_n(cells_.begin(), dimension_, points.cells.begin());
    const int n = points.degree + 1;
    for (int k = 0; k < (dimension_ == 3 ? n : 1); ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) points.node_at.push_back(lattice_.node(i, j, k));
    return points;
  }
  /// True if all points of a side are constrained.
  bool is_fixed(int axis, int end) const {
    std::array<int, 3> first{}, last{points(0), points(1), points(2)};
    (end == 0 ? last[axis] : first[axis]) = end == 0 ? 1 : last[axis] - 1;
    for (int k = first[2]; k < last[2]; ++k)
      for (int j = first[1]; j < last[1]; ++j)
        for (int i = first[0]; i < last[0]; ++i)
          if (unknown({i, j, k}) >= 0) return false;
    return true;
  }

 private:
  const BilinearForm& form_;
  const mesh::Lattice& lattice_;
  int dimension_;
  mesh::GridIndex cells_;
};

/// Sets the widths of the lines' cells. True if all vertices lie on the lines.
bool set_widths(const mesh::Mesh& mesh, std::array<BoxLine, 3>& lines) {
  constexpr double rounding = 1e-12;
  const mesh::BoxNodes& box = *mesh.box;
  const int d = mesh.dimension();
  std::array<std::vector<double>, 3> places, counts;
  for (int axis = 0; axis < d; ++axis) {
    places[axis].assign(static_cast<std::size_t>(box.cells()[axis]) + 1, 0.0);
    counts[axis] = places[axis];
  }
  const auto for_vertices = [&](const auto& work) {
    mesh::GridIndex at{};
    for (at[2] = 0; at[2] <= (d == 3 ? box.cells()[2] : 0); ++at[2])
      for (at[1] = 0; at[1] <= box.cells()[1]; ++at[1])
        for (at[0] = 0; at[0] <= box.cells()[0]; ++at[0]) work(at, mesh.point(box.node(at)));
  };
  if (mesh.is_uniform_box()) {
    for (int axis = 0; axis < d; ++axis) {
      mesh::GridIndex next{};
      next[axis] = 1;
      lines[axis].widths.assign(static_cast<std::size_t>(box.cells()[axis]),
                                mesh.point(box.node(next))[axis] - mesh.point(0)[axis]);
    }
    return true;
  }
  for_vertices([&](const mesh::GridIndex& at, const std::array<double, 3>& point) {
    for (int axis = 0; axis < d; ++axis) {
      places[axis][at[axis]] += point[axis];
      ++counts[axis][at[axis]];
    }
  });
  double most = 0, size = 0;
  for (int axis = 0; axis < d; ++axis) {
    for (std::size_t i = 0; i < places[axis].size(); ++i) places[axis][i] /= counts[axis][i];
    for (std::size_t i = 1; i < places[axis].size(); ++i)
      lines[axis].widths.push_back(places[axis][i] - places[axis][i - 1]);
    size = std::max(size, std::abs(places[axis].back() - places[axis].front()));
  }
  for_vertices([&](const mesh::GridIndex& at, const std::array<double, 3>& point) {
    for (int axis = 0; axis < d; ++axis) most = std::max(most, std::abs(point[axis] - places[axis][at[axis]]));
  });
  if (most <= rounding * size) return true;
  // Means over many distorted cells are nearly equal; exactly equal widths give waves as eigenvectors.
  constexpr double nearly = 1.2;
  for (int axis = 0; axis < d; ++axis) {
    std::vector<double>& widths = lines[axis].widths;
    const auto [least, greatest] = std::ranges::minmax(widths);
    const double mean = (places[axis].back() - places[axis].front()) / static_cast<double>(widths.size());
    if (greatest < nearly * least) std::ranges::fill(widths, mean);
  }
  return false;
}

/// Sets the diffusion along each axis, the mean of a tensor that varies. Returns why the form has not this diffusion
/// exactly; empty if it has.
std::string set_diffusion(const BilinearForm& form, std::array<BoxLine, 3>& lines) {
  if (form.space->mesh().axisymmetric) return "it is a body of revolution";
  const int d = form.space->mesh().dimension(), entries = form.diffusion.entries;
  const auto first = form.diffusion.constant ? form.diffusion.constant(0) : std::nullopt;
  std::atomic<bool> differs = !first;
  operators::for_each_row(first ? form.cells() : 0, [&](std::int64_t cell) {
    if (form.diffusion.constant(static_cast<std::int32_t>(cell)) != first)
      differs.store(true, std::memory_order_relaxed);
  });
  if (differs) {
    const std::array<double, 3> sums = diffusion_along_axes(form);
    for (int axis = 0; axis < d; ++axis)
      lines[axis].diffusion = form.diffusion.is_tensor() ? sums[axis] / form.cells() : 1;
    return "the diffusion varies";
  }
  double off_axes = 0;
  for (int i = 0; i < d; ++i) {
    lines[i].diffusion = operators::along_axis(first->entries.data(), entries, i);
    for (int j = i + 1; j < d && form.diffusion.is_tensor(); ++j)
      off_axes = std::max(off_axes, std::abs(first->entries[operators::upper_index(i, j, d)]));
  }
  return off_axes > 0 ? "the diffusion is not along the axes" : "";
}

/// Sets the mean transfer of each side. True if each side has a constant transfer, and no facet lies inside the box.
bool set_transfer(const BilinearForm& form, const mesh::GridIndex& cells, std::array<BoxLine, 3>& lines) {
  const mesh::GridIndexing places(cells[0], cells[1]);
  std::array<double, 6> sum{}, least{}, most{};
  std::array<std::int64_t, 6> facets{};
  least.fill(std::numeric_limits<double>::infinity());
  bool is_one = true;
  for (const operators::RobinFacet& facet : form.robin) {
    const int side = facet.facet, axis = side / 2, at = places(facet.cell)[axis];
    if (at != (side % 2 == 0 ? 0 : cells[axis] - 1)) {
      is_one = false;
      continue;
    }
    ++facets[side];
    for (const double value : facet.transfer) {
      sum[side] += value / static_cast<double>(facet.transfer.size());
      least[side] = std::min(least[side], value);
      most[side] = std::max(most[side], value);
    }
  }
  for (int side = 0; side < 6; ++side) {
    if (facets[side] == 0) continue;
    const int axis = side / 2;
    const std::int64_t of_side = form.cells() / cells[axis];
    is_one = is_one && facets[side] == of_side && least[side] == most[side];
    lines[axis].transfer[side % 2] = sum[side] / static_cast<double>(of_side);
  }
  return is_one;
}

/// Limits transfer coefficients to what eigenvectors in double precision can resolve relative to the diffusion; true if
/// all were within the limits.
bool limit_transfer(BoxLine& line) {
  constexpr double most_apart = 1e4;
  double length = 0;
  for (const double width : line.widths) length += width;
  bool are_within = true;
  for (std::size_t end = 0; end < 2; ++end) {
    if (line.is_fixed[end]) line.transfer[end] = 0;
    if (line.transfer[end] == 0) continue;
    const double of_end = line.diffusion / (end == 0 ? line.widths.front() : line.widths.back());
    const double limited = std::clamp(line.transfer[end], line.diffusion / length / most_apart, of_end * most_apart);
    are_within = are_within && limited == line.transfer[end];
    line.transfer[end] = limited;
  }
  return are_within;
}

/// Lower bound that keeps sum_axes K from being 0 for constants: half of its second least value.
double least_of(const std::array<TensorAxis, 3>& axes) {
  constexpr double rounding = 1e-12;
  double second = std::numeric_limits<double>::infinity();
  for (const TensorAxis& axis : axes) {
    if (axis.size == 1 && axis.stiffness[0] == 0) continue;
    const auto [least, most] = std::ranges::minmax(axis.stiffness);
    if (axis.vectors.empty() || least > rounding * most) return 0;
    for (const double value : axis.stiffness)
      if (value > rounding * most) second = std::min(second, value);
  }
  return second / 2;
}

}  // namespace

std::optional<SeparableBox> separable_box(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (!mesh.box || !mesh::is_tensor(mesh.shape) || mesh.order != 1 || form.space->grid() == nullptr ||
      mesh.box->empty() || !mesh.box->is_whole())
    return std::nullopt;
  SeparableBox result;
  const BoxLattice lattice(form);
  std::int64_t unknowns = 1;
  const bool is_on_lines = set_widths(mesh, result.lines);
  const std::string why_not_diffusion = set_diffusion(form, result.lines);
  for (int axis = 0; axis < mesh.dimension(); ++axis) {
    BoxLine& line = result.lines[axis];
    line.degree = form.space->degree();
    line.quadrature = form.quadrature;
    for (int end = 0; end < 2; ++end) line.is_fixed[end] = lattice.is_fixed(axis, end);
    unknowns *= std::max(0, line.unknowns());
  }
  const bool has_one_transfer = set_transfer(form, lattice.cells(), result.lines);
  bool has_usual_transfer = true;
  for (int axis = 0; axis < mesh.dimension(); ++axis)
    has_usual_transfer = limit_transfer(result.lines[axis]) && has_usual_transfer;
  result.why_not_equal = !is_on_lines                 ? "vertices are not on straight lines"
                         : !why_not_diffusion.empty() ? why_not_diffusion
                         : !has_one_transfer          ? "a side has several transfer coefficients"
                         : !has_usual_transfer        ? "a transfer coefficient is too small or great"
                         : unknowns != form.unknowns  ? "a side is constrained in part"
                                                      : "";
  return result;
}

template <std::floating_point T>
TensorInverse tensor_inverse(const BilinearForm& form, const SeparableBox& box, const std::array<bool, 3>& solved,
                             const operators::LevelOrdering& ordering, const Vector<T>& diagonal, Device device) {
  const BoxLattice lattice(form);
  const int d = lattice.dimension();
  TensorInverse result;
  std::array<TensorAxis, 3> diagonals;
  std::array<int, 3> first{};
  for (int axis = 0; axis < 3; ++axis) {
    if (axis < d) {
      diagonals[axis] = diagonals_of(box.lines[axis]);
      first[axis] = box.lines[axis].first();
    } else {
      diagonals[axis] = {1, {}, {0.0}, {1.0}};
    }
    result.axes[axis] = axis < d && solved[axis] ? eigenvectors_of(box.lines[axis]) : diagonals[axis];
  }
  result.least = least_of(result.axes);

  const auto& [x, y, z] = diagonals;
  if (device == Device::cuda) {
    result.unknowns = operators::cuda_places_of_points(lattice.from(first, {x.size, y.size, z.size}), ordering);
  } else {
    result.unknowns = Vector<std::int32_t>(std::int64_t{x.size} * y.size * z.size);
    operators::for_each_row(std::int64_t{y.size} * z.size, [&](std::int64_t line) {
      const auto j = static_cast<int>(line % y.size), k = static_cast<int>(line / y.size);
      for (int i = 0; i < x.size; ++i)
        result.unknowns[line * x.size + i] = lattice.unknown({first[0] + i, first[1] + j, first[2] + k});
    });
    renumber(ordering, result.unknowns.span());
  }
  result.drops_constants = box.why_not_equal.empty();
  if (box.why_not_equal.empty()) return result;

  const Vector<T> of_form = operators::copied(diagonal, Device::host);
  const Vector<std::int32_t> unknowns = operators::copied(result.unknowns, Device::host);
  result.scale = Vector<float>(result.unknowns.size());
  operators::for_each_row(std::int64_t{y.size} * z.size, [&](std::int64_t line) {
    const std::int64_t j = line % y.size, k = line / y.size;
    for (std::int64_t i = 0; i < x.size; ++i) {
      const std::int32_t unknown = unknowns[line * x.size + i];
      const double of_box = x.stiffness[i] * y.mass[j] * z.mass[k] +
                            x.mass[i] * (y.stiffness[j] * z.mass[k] + y.mass[j] * z.stiffness[k]);
      result.scale[line * x.size + i] =
          unknown < 0 ? 0.0F : static_cast<float>(std::sqrt(of_box / static_cast<double>(of_form[unknown])));
    }
  });
  return result;
}

namespace {

template <std::floating_point T>
class Tensor final : public Preconditioner<T> {
 public:
  Tensor(const Operator<T>& a, const BilinearForm& form, const SeparableBox& box, const Vector<T>& diagonal)
      : Preconditioner<T>(a.size(), a.device()),
        why_not_equal_(box.why_not_equal),
        solves_(operators::make_tensor_solves<T>(
            tensor_inverse(form, box, {true, true, true}, {&a.ordering()}, diagonal, a.device()), a.device())),
        dimension_(form.space->mesh().dimension()) {}

  bool is_inverse() const override { return why_not_equal_.empty(); }
  bool takes_few_iterations() const override { return true; }
  /// Each axis reads and writes all points twice; gather, division and scatter once.
  PreconditionerCost cost() const override { return {0, 4 * dimension_ + 6, 0}; }
  std::map<std::string, std::string> chosen() const override {
    if (why_not_equal_.empty()) return {{"separable", "yes"}};
    return {{"separable", "no, as " + why_not_equal_}};
  }
  std::vector<LevelSummary> levels() const override {
    return {{"eigenvectors of lines", "dense", this->size(), solves_->stored_bytes()}};
  }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override { solves_->apply(r, z); }

  std::string why_not_equal_;
  std::unique_ptr<operators::TensorSolves<T>> solves_;
  int dimension_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_tensor(const Operator<T>& a, const Options&,
                                               const PreconditionerInput<T>& input) {
  const std::optional<SeparableBox> box =
      input.form != nullptr && input.of.alone() ? separable_box(*input.form) : std::nullopt;
  if (!box)
    throw std::invalid_argument(
        "preconditioner tensor is for boxes of quadrilaterals or hexahedra: use preconditioner multigrid");
  Vector<T> diagonal;
  if (!box->why_not_equal.empty() && input.diagonal == nullptr) {
    diagonal = Vector<T>(a.size(), a.device());
    a.diagonal(diagonal);
  }
  return std::make_unique<Tensor<T>>(a, *input.form, *box, input.diagonal != nullptr ? *input.diagonal : diagonal);
}

std::int64_t bytes_of_tensor(const BilinearForm* form, std::int64_t, Device device, std::string_view, std::int64_t) {
  constexpr std::int64_t of_point = 2 * sizeof(double) + sizeof(std::int32_t) + sizeof(float), workspace = 32 << 20;
  if (form == nullptr || !form->space->mesh().box) return 0;
  std::int64_t bytes = form->unknowns * of_point + (device == Device::cuda ? workspace : 0);
  for (int axis = 0; axis < form->space->mesh().dimension(); ++axis) {
    const std::int64_t points = std::int64_t{form->space->degree()} * form->space->mesh().box->cells()[axis] + 1;
    bytes += points * points * std::int64_t{sizeof(double)};
  }
  return bytes;
}

bool tensor_is_best(const BilinearForm& form, Device device) {
  const std::optional<SeparableBox> box = separable_box(form);
  if (!box || !box->why_not_equal.empty()) return false;
  const int most_points = device == Device::host ? 2'000 : 16'000;
  int points = 0;
  for (int axis = 0; axis < form.space->mesh().dimension(); ++axis) {
    const BoxLine& line = box->lines[axis];
    if (!line.has_cheap_eigenvectors()) return false;
    points += line.unknowns();
  }
  return points <= most_points;
}

template TensorInverse tensor_inverse(const BilinearForm&, const SeparableBox&, const std::array<bool, 3>&,
                                      const operators::LevelOrdering&, const Vector<double>&, Device);
template TensorInverse tensor_inverse(const BilinearForm&, const SeparableBox&, const std::array<bool, 3>&,
                                      const operators::LevelOrdering&, const Vector<float>&, Device);
template std::unique_ptr<Preconditioner<double>> make_tensor(const Operator<double>&, const Options&,
                                                             const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_tensor(const Operator<float>&, const Options&,
                                                            const PreconditionerInput<float>&);

}  // namespace femcg::solver
