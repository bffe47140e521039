#include "solver/problem/load.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/cells_at_vertices.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

namespace {

bool is_given(double value) { return value != 0; }

/// Common constant ambient value of all Robin conditions, 0 without any; empty if it is not a single number.
std::optional<double> ambient_of_all(const std::vector<BoundaryCondition>& conditions) {
  std::optional<double> one;
  for (const BoundaryCondition& condition : conditions) {
    if (condition.kind != BoundaryKind::transfer) continue;
    const std::optional<double> ambient = condition.ambient.constant();
    if (!ambient || !std::isfinite(*ambient) || (one && *one != *ambient)) return std::nullopt;
    one = ambient;
  }
  return one.value_or(0.0);
}

/// Beyond this relative imbalance the case is wrong; below it, a curved boundary may be the cause.
constexpr double most_imbalance = 1e-3;
constexpr double notable_imbalance = 1e-10;

/// Integrals of the positive and of the negative part of a source, both nonnegative.
struct SourceParts {
  double in = 0, out = 0;
};

/// Moments of a source with the basis functions of a few cells at a time, and its integrals there. Has scratch memory:
/// one per thread.
class CellLoads {
 public:
  /// `parts` has an entry for every group of cell_lanes cells.
  CellLoads(const operators::BilinearForm& form, const FieldOnRegions& source, std::span<SourceParts> parts)
      : source_(&source),
        parts_(parts),
        basis_(form.space->basis(), form.quadrature),
        cells_(form.space->mesh(), form.quadrature),
        values_(static_cast<std::size_t>(cells_.points())),
        scratch_(static_cast<std::size_t>(basis_.scratch_size())),
        densities_(values_.size()),
        sums_(static_cast<std::size_t>(basis_.functions())),
        masses_(sums_.size()) {
    for (std::size_t q = 0; q < densities_.size(); ++q)
      densities_[q] = operators::CellLanes{} + cells_.weights()[static_cast<Eigen::Index>(q)];
    basis_.test_values(densities_.data(), masses_.data(), scratch_.data());
  }

  /// Writes the moments of the cells [first, last), [cells][dofs]; returns true if the source is nonzero anywhere in
  /// them.
  bool write(std::int32_t first, std::int32_t last, double* to) {
    bool given = false;
    for (std::int32_t cell = first; cell < last; cell += operators::cell_lanes) {
      const int count = std::min<std::int32_t>(operators::cell_lanes, last - cell);
      bool constant = true;
      for (int lane = 0; lane < count; ++lane) constant = constant && source_->of_cell(cell + lane).constant();
      cells_.move_to(cell, count, !constant);
      given = evaluate() || given;
      const std::span<const operators::CellLanes> measures = cells_.measures();
      if (constant && cells_.affine()) {
        const operators::CellLanes density = densities_[0] * measures[0] / cells_.weights()[0];
        for (std::size_t a = 0; a < sums_.size(); ++a) sums_[a] = density * masses_[a];
        densities_[0] = density * cells_.weights().sum();
        add_parts(cell, count, 1);
      } else {
        for (std::size_t q = 0; q < densities_.size(); ++q) densities_[q] *= measures[q];
        basis_.test_values(densities_.data(), sums_.data(), scratch_.data());
        add_parts(cell, count, densities_.size());
      }
      for (int lane = 0; lane < count; ++lane)
        for (const operators::CellLanes& sum : sums_) *to++ = sum[lane];
    }
    return given;
  }

 private:
  /// Adds the integrals of the first `densities` densities, which include the measures.
  void add_parts(std::int32_t first, int count, std::size_t densities) {
    operators::CellLanes in{}, out{};
    for (std::size_t q = 0; q < densities; ++q) {
      in += densities_[q] > 0 ? densities_[q] : operators::CellLanes{};
      out -= densities_[q] < 0 ? densities_[q] : operators::CellLanes{};
    }
    SourceParts& parts = parts_[static_cast<std::size_t>(first / operators::cell_lanes)];
    for (int lane = 0; lane < count; ++lane) {
      parts.in += in[lane];
      parts.out += out[lane];
    }
  }

  /// Evaluates the source at the points of the current cells; true if it is nonzero anywhere.
  bool evaluate() {
    bool given = false;
    for (int lane = 0; lane < operators::cell_lanes; ++lane) {
      const Expression& source = source_->of_cell(cells_.cell(lane));
      if (const std::optional<double> value = source.constant()) {
        given = given || *value != 0;
        for (operators::CellLanes& density : densities_) density[lane] = *value;
        continue;
      }
      source.evaluate(cells_.positions(lane), values_);
      given = given || std::ranges::any_of(values_, is_given);
      for (std::size_t q = 0; q < densities_.size(); ++q) densities_[q][lane] = values_[q];
    }
    return given;
  }

  const FieldOnRegions* source_;
  std::span<SourceParts> parts_;
  operators::PointTables basis_;
  operators::CellsAtPoints cells_;
  std::vector<double> values_;
  std::vector<operators::CellLanes> scratch_, densities_, sums_;
  std::vector<operators::CellLanes> masses_;  ///< integrals of the basis functions over the reference cell
};

/// Integral of |source| by another rule than the form's; empty if the source is undefined at one of its points.
std::optional<double> absolute_integral(const mesh::Mesh& mesh, const FieldOnRegions& source, int quadrature) try {
  constexpr std::int32_t at_once = 16 * operators::cell_lanes;
  double sum = 0;
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::int32_t begin = 0; begin < mesh.cell_count(); begin += at_once)
    failure.guard(begin, [&] {
      operators::CellsAtPoints cells(mesh, quadrature);
      std::vector<double> values(static_cast<std::size_t>(cells.points()));
      const std::int32_t end = std::min(begin + at_once, mesh.cell_count());
      for (std::int32_t first = begin; first < end; first += operators::cell_lanes) {
        const int count = std::min<std::int32_t>(operators::cell_lanes, end - first);
        cells.move_to(first, count, true);
        const std::span<const operators::CellLanes> measures = cells.measures();
        for (int lane = 0; lane < count; ++lane) {
          source.of_cell(first + lane).evaluate(cells.positions(lane), values);
          for (std::size_t q = 0; q < values.size(); ++q) sum += std::abs(values[q]) * measures[q][lane];
        }
      }
    });
  failure.rethrow();
  return sum;
} catch (const InputError&) {
  return std::nullopt;
}

/// Finest rule for which absolute_integral takes little time; 0 if it is not finer than the form's.
int finer_quadrature(const operators::BilinearForm& form) {
  constexpr double most_points = 4e6;
  constexpr int most = 16;
  const double in_cell = most_points / std::max<double>(1, form.cells());
  const int n = std::min(most, static_cast<int>(std::pow(in_cell, 1.0 / form.space->mesh().dimension())));
  return n > form.quadrature ? n : 0;
}

}  // namespace

void prescribed_flux(const BoundaryCondition& condition, std::span<const double> points, std::span<double> values) {
  if (condition.kind == BoundaryKind::flux) return condition.value.evaluate(points, values);
  std::vector<double> ambient(values.size());
  condition.transfer.evaluate(points, values);
  condition.ambient.evaluate(points, ambient);
  for (std::size_t q = 0; q < values.size(); ++q) values[q] *= ambient[q];
}

Load::Load(const Problem& problem, LoadData data)
    : data_(std::move(data)), uniform_ambient_(ambient_of_all(data_.boundary)) {
  constrain(problem);
  add_source(problem);
  add_points(problem);
  add_boundary_terms(problem);
  problem.shared().add_up(of_dofs_);
  if (uniform_ambient_) add_uniform_transfer(problem);
  check_underflow(problem);
  balance(problem);
  move_boundary_values(problem);
  if (!name().empty())
    for (std::string& warning : warnings_) warning = fmt::format("load {}: {}", in_quotes(name()), warning);
}

/// Place in the case for messages about the balance: the first flux, or else the source.
const Place& Load::place() const {
  for (const BoundaryCondition& condition : data_.boundary)
    if (condition.kind == BoundaryKind::flux) return condition.place;
  return data_.source.place;
}

void Load::constrain(const Problem& problem) {
  const auto value_at = [&](const DirichletDof& dof, int condition) {
    return data_.boundary[condition].value(dof.point[0], dof.point[1], dof.point[2]);
  };
  const std::vector<DirichletDof>& dofs = problem.dirichlet_dofs();
  boundary_values_.resize(dofs.size());
  mesh::FirstFailure failure;
  bool any = false;
#pragma omp parallel for schedule(static) reduction(|| : any)
  for (std::size_t i = 0; i < dofs.size(); ++i)
    failure.guard(static_cast<std::int64_t>(i), [&] {
      const double value = boundary_values_[i] = value_at(dofs[i], dofs[i].condition);
      any = any || is_given(value);
    });
  failure.rethrow();
  has_boundary_values_ = problem.shared().any(any);
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const double value : boundary_values_) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  least = problem.shared().least(least);
  greatest = -problem.shared().least(-greatest);
  if (!has_boundary_values_)
    uniform_value_ = 0;
  else if (least == greatest)
    uniform_value_ = least;
  int contradictions = 0;
  std::int32_t contradicted = -1;
  for (const auto& [i, condition] : problem.earlier_conditions()) {
    const double value = boundary_values_[i], other = value_at(dofs[i], condition);
    if (i == contradicted || std::abs(value - other) <= 1e-12 * (std::abs(value) + std::abs(other))) continue;
    contradicted = i;
    if (problem.shared().owns(dofs[i].dof)) ++contradictions;
  }
  if (const double all = problem.shared().sum(contradictions); all > 0)
    warnings_.push_back(fmt::format(
        "boundary values of different groups disagree at {} shared nodes; the later entry holds there", all));
}

void Load::add_source(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const std::string key = name().empty() ? "equation.source" : fmt::format("loads.{}.source", name());
  const FieldOnRegions field(data_.source, key, form.space->mesh(), 0.0);
  const auto& regions = field.by_region();
  if (std::ranges::all_of(regions, [](const Expression& e) { return e.constant() == 0.0; })) {
    of_dofs_ = mesh::array_of<double>(form.space->dof_count());
    return;
  }
  std::atomic<bool> given = false;
  std::vector<SourceParts> parts(static_cast<std::size_t>(form.cells() / operators::cell_lanes) + 1);
  of_dofs_ = operators::sum_over_cell_ranges(*form.space, [&]() -> operators::CellRangeWork {
    const auto loads = std::make_shared<CellLoads>(form, field, parts);
    return [&, loads](std::int32_t first, std::int32_t last, double* values) {
      const bool here = loads->write(first, last, values);
      if (here && !given.load(std::memory_order_relaxed)) given = true;
      return here;
    };
  });
  given_ = given;
  constexpr std::size_t block = 1024;  // sums of block sums have smaller rounding errors
  for (std::size_t first = 0; first < parts.size(); first += block) {
    SourceParts of_block;
    for (std::size_t k = first; k < std::min(first + block, parts.size()); ++k) {
      of_block.in += parts[k].in;
      of_block.out += parts[k].out;
    }
    sources_ += of_block.in;
    sinks_ += of_block.out;
  }
  if (!field.constant()) note_unseen_source(problem, field);
}

/// Adds power phi_i(point).
void Load::add_points(const Problem& problem) {
  const mesh::FunctionSpace& space = *problem.form().space;
  for (std::size_t k = 0; k < data_.points.size(); ++k) {
    const double power = data_.points[k].power;
    const std::optional<mesh::Location>& location = problem.points()[k].second;
    if (power == 0 || !location) continue;
    given_ = true;
    (power > 0 ? sources_ : sinks_) += std::abs(power);
    const Eigen::VectorXd values =
        space.basis()
            .values(Eigen::Map<const Eigen::VectorXd>(location->coordinates.data(), space.mesh().dimension()))
            .transpose();
    const mesh::CellDofs dofs = space.dofs(location->cell);
    for (std::size_t a = 0; a < dofs.size(); ++a) of_dofs_[dofs[a]] += power * values[static_cast<Eigen::Index>(a)];
  }
}

/// Warns about a source that is narrower than the cells, which quadrature points may miss.
void Load::note_unseen_source(const Problem& problem, const FieldOnRegions& source) {
  const operators::BilinearForm& form = problem.form();
  const int finer = finer_quadrature(form);
  const double here = sources_ + sinks_;
  const auto finer_here = finer > 0 ? absolute_integral(form.space->mesh(), source, finer) : std::nullopt;
  const double by_form = problem.shared().sum(here), by_finer = problem.shared().sum(finer_here.value_or(here));
  constexpr double notable = 0.1;
  if (std::abs(by_finer - by_form) <= notable * std::max(by_finer, by_form)) return;
  warnings_.push_back(fmt::format(
      "{} varies within cells: its size, integrated, is {:.2g} by `quadrature: {}` and {:.2g} by a finer rule; refine "
      "the mesh, or raise quadrature",
      name().empty() ? "equation.source" : "source", by_form, form.quadrature, by_finer));
}

void Load::add_boundary_terms(const Problem& problem) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto is_flux = [&](const ConditionedFacet& at) {
    return at.kind == BoundaryKind::flux && data_.boundary[at.condition].value.constant() != 0.0;
  };
  std::vector<int> conditions;
  std::vector<mesh::BoundaryFacet> facets;
  for (const ConditionedFacet& at : problem.boundary())
    if (!at.insulated() && (at.kind == BoundaryKind::transfer ? !uniform_ambient_ : is_flux(at))) {
      conditions.push_back(at.condition);
      facets.push_back(at.facet);
    }
  std::atomic<bool> any = given_;
  operators::add_facet_moments(
      space, problem.form().quadrature, facets,
      [&](const operators::FacetEvaluator& facet, std::size_t k, std::span<double> values) {
        prescribed_flux(data_.boundary[conditions[k]], facet.points_in_space(), values);
        if (!any.load(std::memory_order_relaxed) && std::ranges::any_of(values, is_given)) any = true;
      },
      of_dofs_);
  given_ = any;
}

/// Adds the uniform ambient value times the moments of transfer to of_dofs_, which holds sums over all processes.
void Load::add_uniform_transfer(const Problem& problem) {
  if (*uniform_ambient_ == 0) return;
  bool any = given_;
  for (const auto* rows : {&problem.unit_boundary().unknowns, &problem.unit_boundary().constrained}) {
#pragma omp parallel for schedule(static) reduction(|| : any)
    for (std::size_t k = 0; k < rows->size(); ++k) {
      const UnitBoundary::Row& row = (*rows)[k];
      of_dofs_[row.dof] += *uniform_ambient_ * row.transfer;
      any = any || row.transfer != 0;
    }
  }
  given_ = any;
}

/// Throws InputError if a nonzero source gives a zero load.
void Load::check_underflow(const Problem& problem) const {
  const bool given = problem.shared().any(given_);
  if (const bool there = problem.shared().any(std::ranges::any_of(of_dofs_, is_given)); given && !there)
    throw InputError(at_place(place(), "the load underflows: scale the units of equation and boundary"));
}

/// Balances the load on floating components, where it must have zero mean: sum_i l(phi_i) = integral of f + integral of
/// the fluxes = 0.
void Load::balance(const Problem& problem) {
  if (!problem.singular()) return;
  const mesh::Array<double>& masses = problem.masses();
  std::vector<std::string> unbalanced;
  for (const Problem::Floating& floating : problem.floating()) {
    std::array<double, 3> sums{};
    for (const std::int32_t dof : floating.dofs) {
      if (!problem.shared().owns(dof)) continue;
      sums[0] += of_dofs_[dof];
      sums[1] += std::abs(of_dofs_[dof]);
      sums[2] += masses[dof];
    }
    problem.shared().sum(sums);
    const auto [total, magnitude, volume] = sums;
    if (std::abs(total) > most_imbalance * magnitude) {
      unbalanced.push_back(at_place(
          place(), fmt::format("no boundary value or transfer holds the solution{}, and the load{} does not balance: "
                               "source and fluxes add up to {:.6g}, which must be 0; give some boundary a value, or "
                               "balance source and flux",
                               floating.text, name().empty() ? "" : " " + in_quotes(name()), total)));
      continue;
    }
    if (std::abs(total) > notable_imbalance * magnitude)
      warnings_.push_back(
          fmt::format("the load was out of balance by {:.3g} of its size; a constant source of {:.6g} was added",
                      std::abs(total) / magnitude, -total / volume));
    added_source_ -= total;
    for (const std::int32_t dof : floating.dofs) of_dofs_[dof] -= total / volume * masses[dof];
  }
  if (!unbalanced.empty()) throw InputError(unbalanced);
}

void Load::move_boundary_values(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  values_ = mesh::unset<double>(form.unknowns);
  mesh::Array<double> lift;
  if (!uniform_value_) {
    const auto is_constrained = [&](std::int32_t dof) { return form.unknown_of_dof[dof] < 0; };
    lift = operators::FormProduct(form).apply_to_constrained(boundary_values_,
                                                             operators::cells_at_vertices(*form.space, is_constrained));
    problem.shared().add_up(lift);
  }
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs_.size(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0)
      values_[i] = of_dofs_[dof] - (lift.empty() ? 0.0 : lift[dof]);
  if (has_boundary_values_ && uniform_value_) {
    const std::vector<UnitBoundary::Row>& rows = problem.unit_boundary().unknowns;
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < rows.size(); ++k) values_[rows[k].unknown] -= *uniform_value_ * rows[k].lift;
  }
  of_constrained_.resize(boundary_values_.size());
  for (std::size_t k = 0; k < of_constrained_.size(); ++k)
    of_constrained_[k] = of_dofs_[problem.dirichlet_dofs()[k].dof];
  of_dofs_ = {};
}

}  // namespace femcg::solver
