#include "solver/preconditioners/coarse_form.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "mesh/base/counting.hpp"
#include "mesh/box/box.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::solver {

using mesh::FunctionSpace;
using operators::BilinearForm;
using operators::DiffusionValue;
using operators::RobinFacet;

namespace {

/// Sets a flag; safe for concurrent use.
void set(char& flag) { std::atomic_ref(flag).store(1, std::memory_order_relaxed); }

/// Numbers the dofs that are not constrained.
void number_unknowns(const std::vector<char>& constrained, BilinearForm& form) {
  form.unknown_of_dof = mesh::unset<std::int32_t>(constrained.size());
  const auto for_dofs = [&](const auto& work) { operators::for_each_row(std::ssize(constrained), work); };
  for_dofs([&](std::int64_t dof) { form.unknown_of_dof[dof] = constrained[dof] != 0 ? 0 : 1; });
  form.unknowns = mesh::sum_before(std::span(form.unknown_of_dof));
  for_dofs([&](std::int64_t dof) {
    if (constrained[dof] != 0) form.unknown_of_dof[dof] = -1;
  });
}
/// Numbers the unknowns of a coarse form, which several processes share like the finer one.
void number_unknowns(const PartOfForm& fine, std::vector<char> constrained, CoarseForm& coarse) {
  if (fine.alone()) return number_unknowns(constrained, coarse.form);
  const mesh::MeshPart& part = coarse.part != nullptr ? *coarse.part : *fine.part;
  coarse.shared = std::make_unique<const operators::SharedDofs>(*fine.processes, *coarse.space, part);
  std::vector<double> by_processes(constrained.begin(), constrained.end());  // another process may own the facet
  coarse.shared->add_up(by_processes);
  std::ranges::transform(by_processes, constrained.begin(), [](double count) { return count > 0 ? 1 : 0; });
  number_unknowns(constrained, coarse.form);
  coarse.subdomain.emplace(operators::subdomain_of(coarse.form, *coarse.shared));
}
/// Unknowns that other processes own.
std::span<const std::int32_t> ghosts_of(const PartOfForm& of) {
  if (of.alone()) return {};
  return std::span(of.subdomain->map.unknowns).subspan(of.subdomain->map.owned);
}

std::vector<float> row_major(const Eigen::MatrixXd& matrix) {
  std::vector<float> numbers;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) numbers.push_back(static_cast<float>(matrix(i, j)));
  return numbers;
}

/// For each lattice node a bit mask that identifies the vertex, edge, face or interior of the cell that contains it:
/// the barycentric coordinates, or faces of tensor cells, that vanish there.
std::vector<int> sub_entities(const mesh::Lattice& lattice) {
  std::vector<int> of(static_cast<std::size_t>(lattice.size()), 0);
  const int d = mesh::dimension(lattice.shape()), p = lattice.degree();
  for (int node = 0; node < lattice.size(); ++node) {
    const std::array<int, 3>& at = lattice.index(node);
    int sum = 0;
    for (int axis = 0; axis < d; ++axis) {
      sum += at[axis];
      if (at[axis] == 0) of[node] |= 1 << (2 * axis);
      if (mesh::is_tensor(lattice.shape()) && at[axis] == p) of[node] |= 2 << (2 * axis);
    }
    if (!mesh::is_tensor(lattice.shape()) && sum == p) of[node] |= 2;
  }
  return of;
}

/// Transfer coefficient at the quadrature points of another rule, taken from the nearest point.
RobinFacet at_other_points(const RobinFacet& facet, operators::FacetEvaluator& of_fine,
                           operators::FacetEvaluator& of_coarse) {
  const auto points = static_cast<std::size_t>(of_coarse.points());
  if (std::ranges::count(facet.transfer, facet.transfer[0]) == std::ssize(facet.transfer))
    return {facet.cell, facet.facet, std::vector<double>(points, facet.transfer[0])};
  of_fine.move_to({facet.cell, facet.facet});
  of_coarse.move_to({facet.cell, facet.facet});
  const auto from = of_fine.points_in_space(), to = of_coarse.points_in_space();
  RobinFacet result{facet.cell, facet.facet, std::vector<double>(points)};
  for (std::size_t q = 0; q < result.transfer.size(); ++q) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < facet.transfer.size(); ++k) {
      double distance = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) distance += std::pow(from[3 * k + axis] - to[3 * q + axis], 2);
      if (distance < nearest) {
        nearest = distance;
        result.transfer[q] = facet.transfer[k];
      }
    }
  }
  return result;
}

}  // namespace

operators::NodesOfCells nodes_of(const BilinearForm& form) {
  const mesh::FunctionSpace& space = *form.space;
  return {
      form.unknowns,       space.dofs_per_cell(),
      form.unknown_of_dof, space.grid(),
      space.listed_dofs(), [&space](std::int32_t cell, std::int32_t* to) { std::ranges::copy(space.dofs(cell), to); }};
}

std::unique_ptr<CoarseForm> lower_degree(const BilinearForm& fine, int degree, const PartOfForm& of,
                                         LowerQuadrature quadrature) {
  auto coarse = std::make_unique<CoarseForm>();
  const FunctionSpace& of_fine = *fine.space;
  coarse->space = std::make_unique<const FunctionSpace>(of_fine, degree);
  const FunctionSpace& space = *coarse->space;
  BilinearForm& form = coarse->form;
  form.space = &space;
  form.quadrature = quadrature == LowerQuadrature::of_fine ? fine.quadrature : std::min(fine.quadrature, degree + 1);
  form.diffusion = fine.diffusion;
  form.robin.resize(fine.robin.size());
#pragma omp parallel
  {
    operators::FacetEvaluator before(of_fine, fine.quadrature), now(space, form.quadrature);
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < fine.robin.size(); ++i)
      form.robin[i] = form.quadrature == fine.quadrature ? fine.robin[i] : at_other_points(fine.robin[i], before, now);
  }

  const std::vector<int> fine_entities = sub_entities(of_fine.basis().lattice()),
                         coarse_entities = sub_entities(space.basis().lattice());
  std::vector<char> constrained(static_cast<std::size_t>(space.dof_count()), 0);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const mesh::CellDofs coarse_dofs = space.dofs(cell);
    fine.for_nodes(cell, [&](int i, std::int32_t unknown) {
      if (unknown >= 0) return;
      for (std::size_t j = 0; j < coarse_dofs.size(); ++j)
        if (coarse_entities[j] == fine_entities[i]) set(constrained[coarse_dofs[j]]);
    });
  }
  number_unknowns(of, std::move(constrained), *coarse);
  coarse->transfer = {form.cells(), nodes_of(fine), nodes_of(form),
                      row_major(space.basis().values(of_fine.basis().nodes())), ghosts_of(of)};
  return coarse;
}

namespace {

/// Groups of cells of a box, or of a process's block of it, that are merged into coarse cells. If their number along an
/// axis is odd, one end cell is not merged: in a whole box the wider one, so that none stays thin over several levels.
class JoinedCells {
 public:
  JoinedCells(const mesh::Mesh& mesh, const std::array<int, 3>& ratio)
      : dimension_(mesh.dimension()), fine_(mesh.box->cells()) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto width = [&](int cell) {
        mesh::GridIndex from{}, to{};
        from[axis] = cell;
        to[axis] = cell + 1;
        return std::abs(mesh.point(mesh.box->node(to))[axis] - mesh.point(mesh.box->node(from))[axis]);
      };
      axes_[axis] = ratio[axis] > 1 && mesh.box->is_whole()
                        ? merged_axis(ratio[axis], fine_[axis], width(0), width(fine_[axis] - 1))
                        : MergedAxis{ratio[axis], fine_[axis]};
      along_[axis] = axes_[axis].groups();
    }
    coarse_ = mesh::GridIndexing(along_[0], along_[1]);
  }

  int ratio(int axis) const { return axes_[axis].ratio; }
  const mesh::GridIndex& along() const { return along_; }  ///< coarse cells along the axes
  std::int32_t cells() const { return along_[0] * along_[1] * along_[2]; }
  /// First of the fine cells in coarse cell `at` along an axis.
  std::int32_t begin(int axis, std::int32_t at) const { return axes_[axis].begin(at); }
  /// Number of fine cells in a coarse one, along each axis.
  std::array<int, 3> extent(std::int32_t coarse) const {
    const mesh::GridIndex at = coarse_(coarse);
    std::array<int, 3> extent{1, 1, 1};
    for (int axis = 0; axis < dimension_; ++axis) extent[axis] = begin(axis, at[axis] + 1) - begin(axis, at[axis]);
    return extent;
  }
  std::int32_t cell(std::int32_t coarse, const std::array<int, 3>& in) const {
    const mesh::GridIndex at = coarse_(coarse);
    std::int32_t number = 0;
    for (int axis = dimension_ - 1; axis >= 0; --axis) number = number * fine_[axis] + begin(axis, at[axis]) + in[axis];
    return number;
  }
  /// Calls work(cell) for each fine cell of a coarse one.
  template <class Work>
  void for_cells(std::int32_t coarse, const Work& work) const {
    const std::array<int, 3> end = extent(coarse);
    for (int c = 0; c < end[2]; ++c)
      for (int b = 0; b < end[1]; ++b)
        for (int a = 0; a < end[0]; ++a) work(cell(coarse, {a, b, c}));
  }
  /// Coarse cell of a fine one.
  std::int32_t parent(std::int32_t fine) const {
    const mesh::GridIndex at = mesh::GridIndexing(fine_[0], fine_[1])(fine);
    std::int32_t number = 0;
    for (int axis = dimension_ - 1; axis >= 0; --axis) number = number * along_[axis] + axes_[axis].group_of(at[axis]);
    return number;
  }
  /// Number of fine facets in a facet of a coarse cell.
  int on_facet(std::int32_t coarse, int facet) const {
    std::array<int, 3> of = extent(coarse);
    of[facet / 2] = 1;
    return of[0] * of[1] * of[2];
  }

 private:
  int dimension_;
  std::array<MergedAxis, 3> axes_;
  mesh::GridIndex fine_, along_{1, 1, 1};
  mesh::GridIndexing coarse_;
};

std::array<double, 3> centre(const mesh::Mesh& mesh, std::int32_t cell) {
  std::array<double, 3> sum{};
  const mesh::CellNodes nodes = mesh.nodes(cell);
  for (const std::int32_t node : nodes)
    for (std::size_t axis = 0; axis < 3; ++axis)
      sum[axis] += mesh.point(node)[axis] / static_cast<double>(nodes.size());
  return sum;
}

/// Diffusion of each coarse cell, [cells][entries], if it is constant over its fine cells, else NaN; empty if it
/// differs along an axis by more than a factor of 4 between the centres of fine cells of one coarse cell.
std::optional<std::vector<double>> joined_diffusion(const BilinearForm& fine, const JoinedCells& joined) {
  constexpr double several = std::numeric_limits<double>::quiet_NaN();
  const int entries = fine.diffusion.entries, axes = fine.diffusion.is_tensor() ? fine.space->mesh().dimension() : 1;
  std::vector<double> of_cells(static_cast<std::size_t>(joined.cells()) * entries);
  std::atomic<bool> differs = false;
  operators::for_each_row(joined.cells(), [&](std::int64_t cell) {
    std::array<double, 3> least{}, greatest{};
    std::optional<DiffusionValue> first;
    bool is_constant = true;
    joined.for_cells(static_cast<std::int32_t>(cell), [&](std::int32_t child) {
      const DiffusionValue value = diffusion_at_centre(fine, child);
      for (int axis = 0; axis < axes; ++axis) {
        const double along = operators::along_axis(value.entries.data(), entries, axis);
        least[axis] = first ? std::min(least[axis], along) : along;
        greatest[axis] = std::max(greatest[axis], along);
      }
      is_constant =
          is_constant && value == first.value_or(value) && fine.diffusion.constant && fine.diffusion.constant(child);
      first = first.value_or(value);
    });
    for (int i = 0; i < entries; ++i)
      of_cells[static_cast<std::size_t>(cell * entries + i)] = is_constant ? first->entries[i] : several;
    for (int axis = 0; axis < axes; ++axis)
      if (greatest[axis] > most_diffusion_ratio * least[axis]) differs.store(true, std::memory_order_relaxed);
  });
  if (differs) return std::nullopt;
  return of_cells;
}

/// merging_ratios for the mean widths over all processes, and the mean diffusion along the axes.
std::array<int, 3> ratios(const BilinearForm& form, const operators::Communicator& processes) {
  const mesh::Mesh& mesh = form.space->mesh();
  const int d = mesh.dimension();
  const mesh::BoxNodes& box = *mesh.box;
  std::array<double, 6> lengths_and_cells{};
  const mesh::GridIndex last{box.cells()[0], box.cells()[1], d == 3 ? box.cells()[2] : 0};
  for (int axis = 0; axis < d && !box.empty(); ++axis) {
    lengths_and_cells[axis] = mesh.point(box.node(last))[axis] - mesh.point(0)[axis];
    lengths_and_cells[3 + axis] = box.cells()[axis];
  }
  processes.sum(lengths_and_cells);
  std::array<double, 3> step{};
  std::array<double, 3> diffusion = diffusion_along_axes(form);
  processes.sum(diffusion);
  for (int axis = 0; axis < d; ++axis)
    step[axis] = lengths_and_cells[axis] / lengths_and_cells[3 + axis] / std::sqrt(diffusion[axis]);
  return merging_ratios(step, box.of_box(), d);
}

/// True if the cells that are merged belong to this process.
bool has_whole_groups(const mesh::BoxNodes& box, const std::array<int, 3>& ratio) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int32_t end = box.begin()[axis] + box.cells()[axis];
    if (box.begin()[axis] % ratio[axis] != 0 || (end % ratio[axis] != 0 && end != box.of_box()[axis])) return false;
  }
  return !box.empty();
}

/// Mesh of the coarse cells, whose corners are corners of fine cells.
mesh::Mesh coarse_mesh(const mesh::Mesh& fine, const JoinedCells& joined) {
  mesh::BoxOptions options{fine.shape, {}, fine.box->size()};
  mesh::BoxBlock block;
  bool halves = true;
  for (int axis = 0; axis < 3; ++axis) {
    const int ratio = joined.ratio(axis);
    options.cells[axis] = (fine.box->of_box()[axis] + ratio - 1) / ratio;
    block.begin[axis] = fine.box->begin()[axis] / ratio;
    block.end[axis] = block.begin[axis] + joined.along()[axis];
    halves = halves && fine.box->of_box()[axis] % ratio == 0;
  }
  mesh::Mesh coarse = mesh::implicit_box(options, block);
  coarse.axisymmetric = fine.axisymmetric;
  if (fine.is_uniform_box() && halves) return coarse;
  const int d = fine.dimension();
  const mesh::GridIndexing places(joined.along()[0] + 1, joined.along()[1] + 1);
  coarse.coordinates.resize(static_cast<std::size_t>(coarse.node_count()) * d);
  const auto nodes = static_cast<std::int32_t>(coarse.coordinates.size() / d);
#pragma omp parallel for schedule(static)
  for (std::int32_t node = 0; node < nodes; ++node) {
    mesh::GridIndex at = places(node);
    for (int axis = 0; axis < d; ++axis) at[axis] = joined.begin(axis, at[axis]);
    const std::array<double, 3> point = fine.point(fine.box->node(at));
    for (int axis = 0; axis < d; ++axis) coarse.coordinates[static_cast<std::size_t>(node) * d + axis] = point[axis];
  }
  return coarse;
}

/// Shared vertices of the coarse cells: the corners of coarse cells among those of the fine ones.
std::vector<mesh::MeshPart::Neighbour> coarse_neighbours(const mesh::MeshPart& fine, const JoinedCells& joined,
                                                         const mesh::BoxNodes& coarse) {
  const mesh::BoxNodes& box = *fine.mesh.box;
  std::vector<mesh::MeshPart::Neighbour> neighbours;
  for (const mesh::MeshPart::Neighbour& neighbour : fine.neighbours) {
    std::vector<std::int32_t>& vertices = neighbours.emplace_back(neighbour.rank).vertices;
    for (const std::int32_t vertex : neighbour.vertices) {
      const mesh::GridIndex at = box.place_of_node(vertex);
      mesh::GridIndex coarse_at{};
      bool is_corner = true;
      for (int axis = 0; axis < fine.mesh.dimension(); ++axis) {
        const int ratio = joined.ratio(axis);
        coarse_at[axis] = (at[axis] + ratio - 1) / ratio;
        is_corner = is_corner && joined.begin(axis, coarse_at[axis]) == at[axis];
      }
      if (is_corner) vertices.push_back(coarse.node(coarse_at));
    }
  }
  return neighbours;
}

/// Facets of coarse cells with the mean transfer of their fine facets, 0 without any.
std::vector<RobinFacet> robin_of(const BilinearForm& fine, const JoinedCells& joined, std::size_t points) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> sums;
  for (const RobinFacet& facet : fine.robin) {
    double mean = 0;
    for (const double value : facet.transfer) mean += value / static_cast<double>(facet.transfer.size());
    const std::int32_t parent = joined.parent(facet.cell);
    sums[{parent, facet.facet}] += mean / joined.on_facet(parent, facet.facet);
  }
  std::vector<RobinFacet> facets;
  for (const auto& [at, transfer] : sums)
    facets.push_back({at.first, at.second, std::vector<double>(points, transfer)});
  return facets;
}

}  // namespace

std::array<int, 3> merging_ratios(const std::array<double, 3>& widths, const mesh::GridIndex& cells, int dimension) {
  constexpr double as_long = 1.5;
  const double shortest = *std::min_element(widths.begin(), widths.begin() + dimension);
  std::array<int, 3> ratio{1, 1, 1};
  for (int axis = 0; axis < dimension; ++axis)
    if (widths[axis] <= as_long * shortest && cells[axis] > 1) ratio[axis] = 2;
  return ratio;
}

MergedAxis merged_axis(int ratio, std::int32_t cells, double first_width, double last_width) {
  constexpr double wider = 1.01;
  return {ratio, cells, cells % ratio != 0 && first_width > wider * last_width ? 1 : 0};
}

DiffusionValue diffusion_at_centre(const BilinearForm& form, std::int32_t cell) {
  if (const auto constant = form.diffusion.constant ? form.diffusion.constant(cell) : std::nullopt) return *constant;
  DiffusionValue value;
  form.diffusion.evaluate(cell, centre(form.space->mesh(), cell),
                          std::span(value.entries).first(form.diffusion.entries));
  return value;
}

std::array<double, 3> diffusion_along_axes(const BilinearForm& form) {
  if (!form.diffusion.is_tensor()) return {1, 1, 1};
  std::array<double, 3> sum{};
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const DiffusionValue value = diffusion_at_centre(form, cell);
    for (int axis = 0; axis < form.space->mesh().dimension(); ++axis)
      sum[axis] += operators::along_axis(value.entries.data(), form.diffusion.entries, axis);
  }
  return sum;
}

std::unique_ptr<CoarseForm> coarser_box(const BilinearForm& fine, const PartOfForm& of) {
  const mesh::Mesh& of_fine = fine.space->mesh();
  if (!of_fine.box || !mesh::is_tensor(of_fine.shape) || fine.space->degree() != 1) return nullptr;
  const int d = of_fine.dimension();
  const std::array<int, 3> ratio = ratios(fine, *of.processes);
  if (ratio == std::array{1, 1, 1}) return nullptr;
  const JoinedCells joined(of_fine, ratio);
  std::optional<std::vector<double>> diffusion;
  if (has_whole_groups(*of_fine.box, ratio)) diffusion = joined_diffusion(fine, joined);
  if (of.processes->sum(diffusion ? 0 : 1) > 0) return nullptr;

  auto coarse = std::make_unique<CoarseForm>();
  mesh::MeshPart part{coarse_mesh(of_fine, joined), {}, {}};
  if (!of.alone()) part.neighbours = coarse_neighbours(*of.part, joined, *part.mesh.box);
  coarse->part = std::make_unique<const mesh::MeshPart>(std::move(part));
  coarse->space = std::make_unique<const FunctionSpace>(coarse->part->mesh, 1);
  BilinearForm& form = coarse->form;
  form.space = coarse->space.get();
  form.quadrature = fine.quadrature;
  const auto entries = static_cast<std::size_t>(fine.diffusion.entries);
  form.diffusion.entries = fine.diffusion.entries;
  form.diffusion.evaluate = [&fine, joined, entries](std::int32_t cell, std::span<const double> points,
                                                     std::span<double> values) {
    std::array<std::int32_t, 8> children{};
    Eigen::Matrix<double, 3, 8> centres;
    int count = 0;
    joined.for_cells(cell, [&](std::int32_t child) {
      const std::array<double, 3> at = centre(fine.space->mesh(), child);
      children[count] = child;
      centres.col(count++) = Eigen::Map<const Eigen::Vector3d>(at.data());
    });
    for (std::size_t q = 0; q < points.size() / 3; ++q) {
      const Eigen::Map<const Eigen::Vector3d> point(&points[3 * q]);
      Eigen::Index nearest = 0;
      (centres.leftCols(count).colwise() - point).colwise().squaredNorm().minCoeff(&nearest);
      fine.diffusion.evaluate(children[nearest], points.subspan(3 * q, 3), values.subspan(q * entries, entries));
    }
  };
  form.diffusion.constant = [of_cells = std::move(*diffusion),
                             entries](std::int32_t cell) -> std::optional<DiffusionValue> {
    const auto of_cell = std::span(of_cells).subspan(static_cast<std::size_t>(cell) * entries, entries);
    if (std::isnan(of_cell[0])) return std::nullopt;
    DiffusionValue value;
    std::ranges::copy(of_cell, value.entries.begin());
    return value;
  };
  form.robin = robin_of(fine, joined, static_cast<std::size_t>(std::pow(form.quadrature, d - 1) + 0.5));

  // Lattice nodes of a coarse cell: the corners of its fine cells.
  const int corners = 1 << d;
  std::vector<std::array<int, 3>> lattice;
  for (int c = 0; c <= (d == 3 ? ratio[2] : 0); ++c)
    for (int b = 0; b <= ratio[1]; ++b)
      for (int a = 0; a <= ratio[0]; ++a) lattice.push_back({a, b, c});
  std::vector<float> embedding;
  for (const std::array<int, 3>& at : lattice)
    for (int j = 0; j < corners; ++j) {
      double value = 1;
      for (int axis = 0; axis < d; ++axis) {
        const double x = static_cast<double>(at[axis]) / ratio[axis];
        value *= (j >> axis & 1) != 0 ? x : 1 - x;
      }
      embedding.push_back(static_cast<float>(value));
    }
  // Dof at a lattice node; -1 in the middle of an axis along which no cells are merged.
  const auto dof_at = [space = fine.space, joined, d](std::int32_t cell, const std::array<int, 3>& at) {
    const std::array<int, 3> end = joined.extent(cell);
    std::array<int, 3> in{};
    int corner = 0;
    for (int axis = 0; axis < d; ++axis) {
      const bool is_far = at[axis] == joined.ratio(axis);
      in[axis] = is_far ? end[axis] - 1 : at[axis];
      if (in[axis] >= end[axis]) return -1;
      corner |= int{is_far} << axis;
    }
    return space->dof(joined.cell(cell, in), corner);
  };

  std::vector<char> constrained(static_cast<std::size_t>(form.space->dof_count()), 0);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const mesh::CellDofs coarse_dofs = form.space->dofs(cell);
    for (int j = 0; j < corners; ++j) {
      std::array<int, 3> at{};
      for (int axis = 0; axis < d; ++axis) at[axis] = (j >> axis & 1) * ratio[axis];
      if (fine.unknown_of_dof[dof_at(cell, at)] < 0) set(constrained[coarse_dofs[static_cast<std::size_t>(j)]]);
    }
  }
  number_unknowns(of, std::move(constrained), *coarse);
  const auto write = [lattice, dof_at](std::int32_t cell, std::int32_t* to) {
    for (const std::array<int, 3>& at : lattice) *to++ = dof_at(cell, at);
  };
  coarse->transfer = {form.cells(),
                      {fine.unknowns, static_cast<int>(lattice.size()), fine.unknown_of_dof, nullptr, {}, write},
                      nodes_of(form),
                      std::move(embedding),
                      ghosts_of(of)};
  return coarse;
}

}  // namespace femcg::solver
