#include "solver/system/constant_start.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/cells_at_vertices.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// A Robin facet: transfer and the load's ambient values at its quadrature points.
struct RobinPoints {
  const ConditionedFacet* at;
  std::span<const double> transfer;
  std::vector<double> ambient;
};

/// Facets with transfer, in the order of BilinearForm::robin.
std::vector<const ConditionedFacet*> robin_facets(const Problem& problem) {
  std::vector<const ConditionedFacet*> facets;
  for (const ConditionedFacet& at : problem.boundary())
    if (!at.insulated() && at.kind == BoundaryKind::transfer) facets.push_back(&at);
  return facets;
}

/// Calls work(evaluator, k, points) for each Robin facet k, in parallel.
template <class Work>
void for_robin_facets(const Problem& problem, const Load& load, const Work& work) {
  const operators::BilinearForm& form = problem.form();
  const std::vector<const ConditionedFacet*> facets = robin_facets(problem);
  operators::for_each_facet(
      *form.space, form.quadrature, facets.size(), [&](operators::FacetEvaluator& evaluator, std::size_t k) {
        evaluator.move_to(facets[k]->facet);
        RobinPoints points{facets[k], form.robin[k].transfer, {}};
        points.ambient.resize(static_cast<std::size_t>(evaluator.points()));
        load.boundary()[facets[k]->condition].ambient.evaluate(evaluator.points_in_space(), points.ambient);
        work(evaluator, k, points);
      });
}

/// Sums of the terms returned by terms(i), first <= i < last; a single sum is split into four, since each addition
/// depends on the previous one.
template <class Terms, std::size_t count = std::tuple_size_v<std::invoke_result_t<Terms, std::size_t>>>
std::array<double, count> sums_of_block(std::size_t first, std::size_t last, const Terms& terms) {
  constexpr std::size_t together = count == 1 ? 4 : 1;
  std::array<std::array<long double, count>, together> sums{};
  const auto add = [&](std::size_t i, std::array<long double, count>& to) {
    const std::array<double, count> all = terms(i);
    for (std::size_t n = 0; n < count; ++n) to[n] += all[n];
  };
  std::size_t i = first;
  for (; i + together <= last; i += together)
    for (std::size_t k = 0; k < together; ++k) add(i + k, sums[k]);
  for (; i < last; ++i) add(i, sums[0]);
  std::array<double, count> total;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t k = 1; k < together; ++k) sums[0][n] += sums[k][n];
    total[n] = static_cast<double>(sums[0][n]);
  }
  return total;
}

}  // namespace

Components::Components(const Problem& problem, std::vector<double> diagonal)
    : problem_(&problem), conductors_(problem), diagonal_(std::move(diagonal)), is_exact_(diagonal_.size(), 0) {
  const operators::BilinearForm& form = problem.form();
  conductors_.mark(is_exact_);
  for (const UnitBoundary::Row& row : problem.unit_boundary().unknowns)
    if (row.transfer - row.lift > 0.1 * diagonal_[row.unknown]) is_exact_[row.unknown] = 1;
  const mesh::FunctionSpace& space = *form.space;
  if (count() > 1) {
    of_dof_.resize(static_cast<std::size_t>(space.dof_count()));
    of_unknown_.resize(static_cast<std::size_t>(form.unknowns));
    for (std::int32_t cell = 0; cell < form.cells(); ++cell)
      for (const std::int32_t dof : space.dofs(cell)) {
        of_dof_[dof] = problem.component_of_cell()[cell];
        if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0) of_unknown_[i] = of_dof_[dof];
      }
  }
  if (problem.shared().is_alone()) return;
  owned_.resize(static_cast<std::size_t>(form.unknowns));
  for (std::int32_t dof = 0; dof < space.dof_count(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0) owned_[i] = problem.shared().owns(dof) ? 1 : 0;
}

template <class PartOf, class Terms>
auto Components::sums_of_items(std::size_t items, const PartOf& part_of, const Terms& terms) const {
  constexpr std::size_t count = std::tuple_size_v<std::invoke_result_t<Terms, std::size_t>>;
  constexpr std::size_t block = std::size_t{1} << 16;
  const std::size_t blocks = (items + block - 1) / block, components = this->count();
  std::vector<std::array<double, count>> parts(blocks * components);
  // In long double: rounding errors would act like heat.
#pragma omp parallel
  {
    std::vector<std::array<long double, count>> sums(components);
#pragma omp for schedule(static)
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t first = b * block, last = std::min(items, first + block);
      if (components == 1 && owned_.empty()) {
        parts[b] = sums_of_block(first, last, terms);
        continue;
      }
      std::ranges::fill(sums, std::array<long double, count>{});
      for (std::size_t i = first; i < last; ++i) {
        const std::int32_t part = part_of(i);
        if (part < 0) continue;
        const std::array<double, count> all = terms(i);
        for (std::size_t n = 0; n < count; ++n) sums[part][n] += all[n];
      }
      for (std::size_t k = 0; k < components; ++k)
        for (std::size_t n = 0; n < count; ++n) parts[b * components + k][n] = static_cast<double>(sums[k][n]);
    }
  }
  std::array<std::vector<double>, count> sums;
  for (std::size_t n = 0; n < count; ++n) {
    sums[n].resize(components);
    for (std::size_t k = 0; k < parts.size(); ++k) sums[n][k % components] += parts[k][n];
    problem_->shared().sum(sums[n]);
  }
  return sums;
}

template <class Terms>
auto Components::several_sums(const Terms& terms) const {
  return sums_of_items(
      diagonal_.size(), [&](std::size_t i) { return owns(i) ? static_cast<std::int32_t>(of_unknown(i)) : -1; }, terms);
}

template <class Rows, class Terms>
auto Components::sums_of_rows(const Rows& rows, const Terms& terms) const {
  const auto part_of = [&](std::size_t k) {
    const auto unknown = static_cast<std::size_t>(rows[k].unknown);
    return owns(unknown) ? static_cast<std::int32_t>(of_unknown(unknown)) : -1;
  };
  return sums_of_items(rows.size(), part_of, [&](std::size_t k) { return terms(rows[k]); });
}

template <class Term>
std::vector<double> Components::sums(const Term& term) const {
  return several_sums([&](std::size_t i) { return std::array<double, 1>{term(i)}; })[0];
}

ConstantStart::ConstantStart(const Components& of, const Load& load) : of_(&of), parts_(of.count()) {
  static_cast<void>(scaled_load(load.values(), of.problem().shared()));  // throws if the load cannot be represented
  find_rows(load);
  find_constants(load);
  find_energies(load);
}

void ConstantStart::find_rows(const Load& load) {
  const Problem& problem = of_->problem();
  const operators::BilinearForm& form = problem.form();
  const mesh::FunctionSpace& space = *form.space;
  if (load.uniform_value() && load.uniform_ambient()) return find_uniform_rows(load);
  // `known` with opposite sign, before it is shared.
  mesh::Array<double> known = operators::FormProduct(form).apply_to_constrained(
      load.boundary_values(),
      operators::cells_at_vertices(space, [&](std::int32_t dof) { return form.unknown_of_dof[dof] < 0; }));
  reaction_.resize(load.boundary_values().size());
  for (std::size_t k = 0; k < reaction_.size(); ++k) reaction_[k] = known[problem.dirichlet_dofs()[k].dof];
  const std::vector<const ConditionedFacet*> facets = robin_facets(problem);
  std::vector<mesh::BoundaryFacet> at;
  for (const ConditionedFacet* facet : facets) at.push_back(facet->facet);
  operators::add_facet_moments(
      space, form.quadrature, at,
      [&](const operators::FacetEvaluator& facet, std::size_t k, std::span<double> values) {
        load.boundary()[facets[k]->condition].ambient.evaluate(facet.points_in_space(), values);
        for (std::size_t q = 0; q < values.size(); ++q) values[q] *= -form.robin[k].transfer[q];
      },
      known);
  problem.shared().add_up(known);
  mesh::Array<double> unit = mesh::array_of<double>(known.size());
  for (const UnitBoundary::Row& row : problem.unit_boundary().unknowns) unit[row.dof] = row.lift - row.transfer;
  rows_ = mesh::collect<BoundaryRow>(std::ssize(unit), [&](std::int64_t dof, auto& rows) {
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0 && (unit[dof] != 0 || known[dof] != 0))
      rows.push_back({i, -unit[dof], -known[dof]});
  });
}

void ConstantStart::find_uniform_rows(const Load& load) {
  const UnitBoundary& unit = of_->problem().unit_boundary();
  const double value = *load.uniform_value(), ambient = *load.uniform_ambient();
  rows_.resize(unit.unknowns.size());
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const UnitBoundary::Row& row = unit.unknowns[k];
    rows_[k] = {row.unknown, row.transfer - row.lift, ambient * row.transfer - value * row.lift};
  }
  reaction_.reserve(unit.reactions.size());
  for (const double reaction : unit.reactions) reaction_.push_back(value * reaction);
}

/// Computes c, and the remaining load; a component whose remaining load is rounding has none.
void ConstantStart::find_constants(const Load& load) {
  const Problem& problem = of_->problem();
  const auto [units, magnitudes, known] = of_->sums_of_rows(rows_, [](const BoundaryRow& row) {
    return std::array{row.unit, std::abs(row.unit), std::abs(row.known)};
  });
  std::vector<double> values(parts_.size());
  for (const DirichletDof& dof : problem.dirichlet_dofs()) values[of_->of_dof(dof.dof)] += 1;
  problem.shared().sum(values);
  const std::span<const double> b = load.values();
  const std::vector<double> loads = of_->sums([&](std::size_t i) { return b[i]; });
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    parts_[k].unit = units[k];
    parts_[k].has_values = values[k] > 0;
    if (units[k] > 0) parts_[k].constant = loads[k] / units[k];
    parts_[k].rounding = 64 * epsilon * (std::abs(parts_[k].constant) * magnitudes[k] + known[k]);
  }
  values_ = mesh::unset<double>(b.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = b[i];
  const auto part_of_row = [&](const BoundaryRow& row) {
    return parts_[of_->of_unknown(row.unknown)].constant * row.unit;
  };
  operators::for_each_row(std::ssize(rows_), [&](std::int64_t k) {
    BoundaryRow& row = rows_[k];
    const double part = part_of_row(row);
    values_[row.unknown] -= part;
    row.known -= part;
  });
  const std::vector<double> noise = of_->sums_of_rows(rows_, [&](const BoundaryRow& row) {
    const double value = values_[row.unknown], whole = std::abs(b[row.unknown]) + std::abs(part_of_row(row));
    return std::array{value != 0 && std::abs(value) <= 64 * epsilon * whole ? 1.0 : 0.0};  // only rounding
  })[0];
  const std::vector<double> counts = of_->sums([&](std::size_t i) { return values_[i] != 0 ? 1.0 : 0.0; });
  for (std::size_t k = 0; k < parts_.size(); ++k) parts_[k].is_loaded = counts[k] > noise[k];
  scale_parts(b);
}

/// Scales values_: with one component the largest entry is from 1 to 2; with several, also |b - c A1| in the norm of
/// D^-1.
void ConstantStart::scale_parts(std::span<const double> b) {
  std::vector<double> most = largest_values();
  for (std::size_t k = 0; k < parts_.size(); ++k)
    if (parts_[k].is_loaded) parts_[k].exponent = -std::ilogb(most[k]);
  if (parts_.size() > 1) {
    const std::vector<double> squares = of_->sums([&](std::size_t i) {
      const Part& part = parts_[of_->of_unknown(i)];
      const double number = part.is_loaded ? std::ldexp(values_[i], part.exponent) / std::sqrt(of_->diagonal(i)) : 0.0;
      return number * number;
    });
    int largest = std::numeric_limits<int>::min();
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (!parts_[k].is_loaded) continue;
      if (squares[k] > 0) parts_[k].exponent -= std::ilogb(std::sqrt(squares[k]));
      largest = std::max(largest, std::ilogb(most[k]) + parts_[k].exponent);
    }
    for (Part& part : parts_)
      if (part.is_loaded) part.exponent -= largest;
  }
  std::vector<PowerOfTwo> scales;
  for (const Part& part : parts_) scales.push_back(part.is_loaded ? PowerOfTwo(part.exponent) : PowerOfTwo::zero());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = scales[of_->of_unknown(i)](values_[i]);
  operators::for_each_row(std::ssize(rows_), [&](std::int64_t k) {
    rows_[k].known = std::ldexp(rows_[k].known, parts_[of_->of_unknown(rows_[k].unknown)].exponent);
  });
  const std::vector<double> sums = of_->sums([&](std::size_t i) { return values_[i]; });
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    parts_[k].rounding = std::ldexp(parts_[k].rounding, parts_[k].exponent);
    parts_[k].imbalance = sums[k];
  }
  of_conductors_ = of_->conductors().sums(values_);
  double square = 0;
  for (const double each : of_->sums([&](std::size_t i) {
         const double number = scales[of_->of_unknown(i)](b[i]);
         return number * number;
       }))
    square += each;
  norm_ = std::sqrt(square);
}

/// Largest |values_| of each component.
std::vector<double> ConstantStart::largest_values() const {
  std::vector<double> most(parts_.size());
#pragma omp parallel
  {
    std::vector<double> mine(parts_.size());
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < values_.size(); ++i) {
      double& of_part = mine[of_->of_unknown(i)];
      of_part = std::max(of_part, std::abs(values_[i]));
    }
#pragma omp critical
    for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], mine[k]);
  }
  for (double& each : most) each = -of_->problem().shared().least(-each);
  return most;
}

/// Energies with G = g - c at the constrained dofs: a(G, G) + integral of transfer ((c - ambient)^2 + 2 (c - ambient)
/// G).
void ConstantStart::find_energies(const Load& load) {
  const Problem& problem = of_->problem();
  const std::vector<double>& values = load.boundary_values();
  const auto part_of = [&](std::size_t k) { return of_->of_dof(problem.dirichlet_dofs()[k].dof); };
  const std::vector<double> energies = of_->sums_of_items(values.size(), part_of, [&](std::size_t k) {
    const Part& part = parts_[static_cast<std::size_t>(part_of(k))];
    return std::array{std::ldexp(values[k] - part.constant, part.exponent) *
                      std::ldexp(reaction_[k] - part.constant * problem.unit_boundary().reactions[k], part.exponent)};
  })[0];
  const std::vector<double> of_transfer = energies_of_transfer(load);
  for (std::size_t k = 0; k < parts_.size(); ++k) parts_[k].energy = energies[k] + of_transfer[k];
}

std::vector<double> ConstantStart::energies_of_transfer(const Load& load) const {
  const Problem& problem = of_->problem();
  const operators::BilinearForm& form = problem.form();
  const mesh::FunctionSpace& space = *form.space;
  std::vector<double> energies(parts_.size());
  if (load.uniform_value() && load.uniform_ambient()) {
    const auto integrals = [&](const std::vector<UnitBoundary::Row>& rows) {  // integrals of transfer phi_i
      const auto part_of = [&](std::size_t k) {
        return problem.shared().owns(rows[k].dof) ? of_->of_dof(rows[k].dof) : -1;
      };
      return of_->sums_of_items(rows.size(), part_of, [&](std::size_t k) { return std::array{rows[k].transfer}; })[0];
    };
    const std::vector<double> constrained = integrals(problem.unit_boundary().constrained),
                              free = integrals(problem.unit_boundary().unknowns);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto scaled = [&](double number) { return std::ldexp(number, parts_[k].exponent); };
      const double above = scaled(parts_[k].constant - *load.uniform_ambient()),
                   beyond = scaled(*load.uniform_value() - parts_[k].constant);
      energies[k] = above * (above * (constrained[k] + free[k]) + 2 * beyond * constrained[k]);
    }
    return energies;
  }
  std::vector<double> of_facets(form.robin.size());
  const auto part_of = [&](const ConditionedFacet& at) { return of_->of_dof(space.dofs(at.facet.cell)[0]); };
  for_robin_facets(problem, load, [&](operators::FacetEvaluator& facet, std::size_t k, const RobinPoints& points) {
    const double c = parts_[part_of(*points.at)].constant;
    const int exponent = parts_[part_of(*points.at)].exponent;
    const auto dofs = space.dofs(points.at->facet.cell);
    for (int q = 0; q < facet.points(); ++q) {
      double beyond = 0;  // G
      for (const int a : space.facet_nodes(points.at->facet.facet))
        if (const std::int32_t i = form.unknown_of_dof[dofs[a]]; i < 0)
          beyond += facet.values()(q, a) * std::ldexp(load.boundary_values()[-1 - i] - c, exponent);
      const double above = std::ldexp(c - points.ambient[q], exponent);
      of_facets[k] += points.transfer[q] * facet.measures()[q] * above * (above + 2 * beyond);
    }
  });
  for (std::size_t k = 0; k < of_facets.size(); ++k)
    energies[of_->of_dof(space.dofs(form.robin[k].cell)[0])] += of_facets[k];
  problem.shared().sum(energies);
  return energies;
}

std::vector<double> ConstantStart::energies(std::span<const double> w) const { return energies(w, works(w)); }

std::vector<double> ConstantStart::works(std::span<const double> w) const {
  return of_->sums([&](std::size_t i) { return values_[i] * w[i]; });
}

/// Energies, energy - 2 known'w + w'Aw, with w'Aw = w'r of the start, which holds for CG's w.
std::vector<double> ConstantStart::energies(std::span<const double> w, std::span<const double> works) const {
  std::vector<double> energies(parts_.size());
  const std::vector<double> known =
      of_->sums_of_rows(rows_, [&](const BoundaryRow& row) { return std::array{row.known * w[row.unknown]}; })[0];
  constexpr double rounding = 16 * epsilon;
  for (std::size_t k = 0; k < parts_.size(); ++k)
    energies[k] = std::max(
        {parts_[k].energy - 2 * known[k] + works[k], rounding * parts_[k].energy, std::numeric_limits<double>::min()});
  return energies;
}

/// 1'r, computed with (A1)'w to avoid the rounding errors of A w.
std::vector<double> ConstantStart::imbalances(std::span<const double> w) const {
  std::vector<double> sums =
      of_->sums_of_rows(rows_, [&](const BoundaryRow& row) { return std::array{-row.unit * w[row.unknown]}; })[0];
  for (std::size_t k = 0; k < parts_.size(); ++k) sums[k] += parts_[k].imbalance;
  return sums;
}

double ConstantStart::energy(std::span<const double> w) const { return least_of_loaded(energies(w)); }

double ConstantStart::least_of_loaded(std::span<const double> energies) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < parts_.size(); ++k)
    if (parts_[k].is_loaded) least = std::min(least, energies[k]);
  return least;
}

SolutionAccuracy ConstantStart::accuracy(std::span<const double> w, std::span<const double> r, double tolerance) const {
  constexpr double largest_eigenvalue = 4;  // of D^-1 A, approximate
  const std::vector<double> works = this->works(w), energy = energies(w, works), imbalance = imbalances(w);
  const auto [squares, along, roundings] = of_->several_sums([&](std::size_t i) {
    const double part = epsilon * (of_->diagonal(i) * w[i]) * (w[i] / energy[of_->of_unknown(i)]);
    return std::array{r[i] / of_->stiffness(i) * r[i], w[i] * r[i], of_->is_exact(i) ? 0.0 : part * part};
  });
  std::vector<double> of_conductors(parts_.size());
  const std::vector<double> heat = imbalances_of_conductors(w);
  for (std::size_t k = 0; k < heat.size(); ++k)
    if (const std::int32_t i = of_->conductors().unknown(k); i >= 0 && of_->conductors().unit(k) > 0) {
      double& most = of_conductors[of_->of_unknown(static_cast<std::size_t>(i))];
      most = std::max(most, std::abs(heat[k]) / std::sqrt(of_->conductors().unit(k)));
    }
  for (double& each : of_conductors) each = -of_->problem().shared().least(-each);
  double excess = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    if (!part.is_loaded) continue;
    const double residual = std::sqrt(squares[k]);
    const double of_heat = part.has_values ? (std::abs(imbalance[k]) - part.rounding) / std::sqrt(part.unit) : 0,
                 of_solution = works[k] > 0 ? std::abs(along[k]) / std::sqrt(works[k]) : 0,
                 of_energy = std::max({residual, of_heat, of_solution, of_conductors[k]}) /
                             std::sqrt(largest_eigenvalue * energy[k]);
    const double of_rounding = std::sqrt(roundings[k]) / 100;
    excess = std::max({excess, of_energy / tolerance, of_rounding / tolerance});
    if (!std::isfinite(residual)) excess = std::numeric_limits<double>::infinity();
  }
  return {least_of_loaded(energy), excess};
}

void ConstantStart::correct(std::span<const double> w, std::span<double> r) const {
  if (of_->conductors().count() > 0) of_->conductors().set_sums(imbalances_of_conductors(w), r);
}

std::vector<double> ConstantStart::imbalances_of_conductors(std::span<const double> w) const {
  std::vector<double> heat = of_->conductors().heat(w);
  for (std::size_t k = 0; k < heat.size(); ++k) heat[k] = of_conductors_[k] - heat[k];
  return heat;
}

double ConstantStart::heat_lost(std::span<const double> w, double tolerance) const {
  const std::vector<double> energy = energies(w);
  double heat = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k)
    heat += std::ldexp(2 * tolerance * std::sqrt(parts_[k].unit * energy[k]) + parts_[k].rounding, -parts_[k].exponent);
  return heat;
}

std::vector<double> ConstantStart::to_difference(std::vector<double> u) const {
  operators::for_each_row(std::ssize(u), [&](std::int64_t i) {
    const Part& part = parts_[of_->of_unknown(i)];
    u[i] = std::ldexp(u[i] - part.constant, part.exponent);
  });
  return u;
}

std::vector<double> ConstantStart::from_difference(std::vector<double> w) const {
  const std::vector<double> imbalance = imbalances(w);
  operators::for_each_row(std::ssize(w), [&](std::int64_t i) {
    const std::size_t k = of_->of_unknown(i);
    const Part& part = parts_[k];
    const double closing = part.has_values || !(part.unit > 0) ? 0.0 : imbalance[k] / part.unit;
    w[i] = part.constant + (part.is_loaded ? std::ldexp(w[i] + closing, -part.exponent) : 0.0);
  });
  return w;
}

}  // namespace femcg::solver
