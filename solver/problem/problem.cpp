#include "solver/problem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>

#include "mesh/geometry.hpp"
#include "mesh/ordering.hpp"
#include "mesh/pages.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

constexpr const char* every_group = "all";

bool is_given(double value) { return value != 0; }

/// Beyond this fraction an unbalanced load means that the case is wrong, not that a curved boundary is approximated.
constexpr double most_imbalance = 1e-3;
constexpr double notable_imbalance = 1e-10;

/// Where it is said what flows in and out: at its first flux, or else at the source.
const Place& place_of_load(const ProblemData& data) {
  for (const BoundaryCondition& condition : data.boundary)
    if (condition.kind == BoundaryKind::flux) return condition.place;
  return data.source.place;
}

/// Every boundary facet with its condition. "all" holds where no other entry does.
std::vector<ConditionedFacet> find_conditions(const ProblemData& data, const mesh::Mesh& mesh,
                                              std::vector<std::string>& remarks) {
  std::vector<ConditionedFacet> facets;
  for (const mesh::BoundaryFacet facet : mesh::boundary_facets(mesh)) facets.push_back({facet});
  const auto find = [&](mesh::BoundaryFacet wanted) {
    const auto before = [](const ConditionedFacet& a, mesh::BoundaryFacet b) {
      return std::pair{a.facet.cell, a.facet.facet} < std::pair{b.cell, b.facet};
    };
    return std::lower_bound(facets.begin(), facets.end(), wanted, before);
  };
  std::vector<std::string> problems, names{every_group};
  for (const mesh::BoundaryGroup& group : mesh.boundaries) names.push_back(group.name);
  const BoundaryCondition* for_the_rest = nullptr;
  for (const BoundaryCondition& condition : data.boundary) {
    if (condition.group == every_group) {
      for_the_rest = &condition;
      continue;
    }
    const auto group =
        std::find_if(mesh.boundaries.begin(), mesh.boundaries.end(),
                     [&](const mesh::BoundaryGroup& candidate) { return candidate.name == condition.group; });
    if (group == mesh.boundaries.end()) {
      problems.push_back(
          at_place(condition.place, fmt::format("the mesh has no boundary group {}{}", in_quotes(condition.group),
                                                did_you_mean(condition.group, names))));
      continue;
    }
    if (group->facets.empty())
      remarks.push_back(fmt::format("boundary group '{}' has no facet: its condition has no effect", condition.group));
    for (const mesh::BoundaryFacet facet : group->facets) {
      const auto entry = find(facet);
      if (entry->condition != nullptr && entry->condition != &condition) {
        problems.push_back(
            at_place(condition.place,
                     fmt::format("groups {} and {} share boundary facets, so their conditions contradict each other",
                                 in_quotes(entry->condition->group), in_quotes(condition.group))));
        break;
      }
      entry->condition = &condition;
    }
  }
  if (!problems.empty()) throw InputError(problems);
  for (ConditionedFacet& facet : facets)
    if (facet.condition == nullptr) facet.condition = for_the_rest;
  return facets;
}

}  // namespace

void prescribed_flux(const BoundaryCondition& condition, std::span<const double> points, std::span<double> values) {
  if (condition.kind == BoundaryKind::flux) return condition.value.evaluate(points, values);
  std::vector<double> ambient(values.size());
  condition.transfer.evaluate(points, values);
  condition.ambient.evaluate(points, ambient);
  for (std::size_t q = 0; q < values.size(); ++q) values[q] *= ambient[q];
}

Problem::Problem(const ProblemData& data, const mesh::FunctionSpace& space) : data_(&data), space_(&space) {
  form_.space = &space;
  form_.quadrature = data.quadrature;
  conditions_ = find_conditions(data, space.mesh(), remarks_);
  set_diffusion();
  constrain();
  number_unknowns();
  collect_robin();
  check_diffusion();
  add_source();
  add_boundary_terms();
  check_underflow();
  find_floating();
  balance();
  move_boundary_values();
}

void Problem::set_diffusion() {
  const FieldOnRegions field(data_->diffusion, "equation.diffusion", space_->mesh(), std::nullopt);
  for (const Expression& expression : field.by_region())
    if (const auto value = expression.constant(); value && !(*value > 0))
      throw InputError(at_place(expression.place(), fmt::format("equation.diffusion must be above 0, not {}", *value)));
  form_.diffusion = [field](std::int32_t cell, std::span<const double> points, std::span<double> values) {
    const Expression& expression = field.of_cell(cell);
    expression.evaluate(points, values);
    if (!expression.constant()) require_at_least(expression, 0, false, points, values, "equation.diffusion");
  };
  form_.constant_diffusion = [field](std::int32_t cell) { return field.of_cell(cell).constant(); };
}

/// Visits every quadrature point once, so that a wrong value is found before anything is assembled.
void Problem::check_diffusion() {
  const FieldOnRegions field(data_->diffusion, "equation.diffusion", space_->mesh(), std::nullopt);
  const auto& regions = field.by_region();
  if (std::all_of(regions.begin(), regions.end(), [](const Expression& e) { return e.constant().has_value(); })) return;
  operators::for_each_cell(form_, [](operators::CellEvaluator&, std::int32_t) {});
}

void Problem::constrain() {
  struct Constraint {
    std::array<double, 3> point;
    const BoundaryCondition* set_by;
    double value;
    bool contradicted;
  };
  std::vector<Constraint> constraints;  // the number of a dof's is -1 - unknown_of_dof, until unknowns are numbered
  form_.unknown_of_dof = mesh::filled<std::int32_t>(space_->dof_count());
  const mesh::GeometryTables tables(space_->mesh(), space_->basis().nodes());
  mesh::CellGeometry geometry(tables);
  for (const auto& [facet, condition] : conditions_) {
    if (condition == nullptr || condition->kind != BoundaryKind::value) continue;
    geometry.move_to(space_->mesh(), facet.cell);
    for (const int a : space_->facet_nodes(facet.facet)) {
      std::int32_t& number = form_.unknown_of_dof[space_->dofs(facet.cell)[a]];
      if (number >= 0) {
        // Cells agree on a point only to rounding: the first one says where it is.
        const double* x = geometry.point(a);
        constraints.push_back({{x[0], x[1], x[2]}, nullptr, 0.0, false});
        number = -static_cast<std::int32_t>(constraints.size());
      }
      Constraint& constraint = constraints[-1 - number];
      if (constraint.set_by == condition) continue;
      const double value = condition->value(constraint.point[0], constraint.point[1], constraint.point[2]);
      const bool differs = std::abs(value - constraint.value) > 1e-12 * (std::abs(value) + std::abs(constraint.value));
      if (constraint.set_by != nullptr && differs) constraint.contradicted = true;
      // Where two conditions meet, the later entry holds.
      if (constraint.set_by == nullptr || condition > constraint.set_by) {
        constraint.value = value;
        constraint.set_by = condition;
      }
    }
  }
  boundary_values_ = mesh::filled<double>(space_->dof_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t dof = 0; dof < space_->dof_count(); ++dof)
    if (const std::int32_t number = form_.unknown_of_dof[dof]; number < 0)
      boundary_values_[dof] = constraints[-1 - number].value;
  const auto contradictions = std::ranges::count_if(constraints, &Constraint::contradicted);
  if (contradictions > 0)
    remarks_.push_back(
        fmt::format("boundary values of different groups disagree at {} shared nodes; the later entry holds there",
                    contradictions));
}

void Problem::number_unknowns() {
  form_.unknowns = 0;
  for (std::int32_t& unknown : form_.unknown_of_dof) unknown = unknown >= 0 ? form_.unknowns++ : -1;
  if (data_->unknown_order != UnknownOrder::reverse_cuthill_mckee || form_.unknowns == 0) return;
  const operators::CsrMatrix<double> pattern = operators::sparsity_pattern(form_);
  const std::vector<std::int32_t> order =
      mesh::reverse_cuthill_mckee(pattern.row_offsets.span(), pattern.columns.span());
  for (std::int32_t& unknown : form_.unknown_of_dof)
    if (unknown >= 0) unknown = order[unknown];
}

void Problem::collect_robin() {
  operators::FacetEvaluator evaluator(*space_, form_.quadrature);
  for (const auto& [facet, condition] : conditions_) {
    if (condition == nullptr || condition->kind != BoundaryKind::transfer) continue;
    evaluator.move_to(facet);
    operators::RobinFacet robin{facet.cell, facet.facet, std::vector<double>(evaluator.points())};
    condition->transfer.evaluate(evaluator.points_in_space(), robin.transfer);
    require_at_least(condition->transfer, 0, true, evaluator.points_in_space(), robin.transfer,
                     "boundary." + condition->group + ".transfer");
    form_.robin.push_back(std::move(robin));
  }
}

void Problem::add_source() {
  const FieldOnRegions field(data_->source, "equation.source", space_->mesh(), 0.0);
  const auto& regions = field.by_region();
  if (std::all_of(regions.begin(), regions.end(), [](const Expression& e) { return e.constant() == 0.0; })) {
    load_of_dofs_ = mesh::filled<double>(space_->dof_count());
    return;
  }
  std::atomic<bool> given = false;
  load_of_dofs_ = operators::sum_over_cells(
      form_, [&](operators::CellEvaluator& evaluator, std::int32_t cell, std::span<double> load) {
        thread_local std::vector<double> values;
        values.resize(evaluator.points());
        field.of_cell(cell).evaluate(evaluator.points_in_space(), values);
        if (std::ranges::any_of(values, is_given)) given = true;
        Eigen::Map<Eigen::VectorXd> sum(load.data(), evaluator.dofs());
        for (int q = 0; q < evaluator.points(); ++q) values[q] *= evaluator.measures()[q];
        sum.noalias() =
            evaluator.values().transpose() * Eigen::Map<const Eigen::VectorXd>(values.data(), evaluator.points());
      });
  given_ = given;
}

void Problem::add_boundary_terms() {
  operators::FacetEvaluator evaluator(*space_, form_.quadrature);
  std::vector<double> values;
  for (const auto& [facet, condition] : conditions_) {
    if (condition == nullptr || condition->kind == BoundaryKind::value) continue;
    evaluator.move_to(facet);
    values.resize(evaluator.points());
    prescribed_flux(*condition, evaluator.points_in_space(), values);
    given_ = given_ || std::ranges::any_of(values, is_given);
    for (const int a : space_->facet_nodes(facet.facet))
      for (int q = 0; q < evaluator.points(); ++q)
        load_of_dofs_[space_->dofs(facet.cell)[a]] += values[q] * evaluator.measures()[q] * evaluator.values()(q, a);
  }
}

/// A source that is not 0 must not become a load that is.
void Problem::check_underflow() const {
  if (given_ && std::ranges::none_of(load_of_dofs_, is_given))
    throw InputError(at_place(place_of_load(*data_), "the load underflows: scale the units of equation and boundary"));
}

void Problem::find_floating() {
  const std::vector<std::int32_t> component = mesh::cell_components(space_->mesh());
  const std::int32_t count = *std::max_element(component.begin(), component.end()) + 1;
  std::vector<char> held(count, 0);
  for (const auto& [facet, condition] : conditions_)
    if (condition != nullptr && condition->kind == BoundaryKind::value) held[component[facet.cell]] = 1;
  for (const operators::RobinFacet& facet : form_.robin)
    if (*std::max_element(facet.transfer.begin(), facet.transfer.end()) > 0) held[component[facet.cell]] = 1;
  if (std::ranges::all_of(held, [](char is_held) { return is_held != 0; })) return;

  std::map<std::int32_t, Floating> by_component;
  for (std::int32_t cell = 0; cell < form_.cells(); ++cell)
    if (!held[component[cell]]) by_component[component[cell]].cells.push_back(cell);
  for (auto& [number, floating] : by_component) {
    for (const std::int32_t cell : floating.cells)
      floating.dofs.insert(floating.dofs.end(), space_->dofs(cell).begin(), space_->dofs(cell).end());
    std::sort(floating.dofs.begin(), floating.dofs.end());
    floating.dofs.erase(std::unique(floating.dofs.begin(), floating.dofs.end()), floating.dofs.end());
    floating_.push_back(std::move(floating));
  }
}

/// On a floating part the load must have no mean: sum_i l(phi_i) = integral of f + integral of the fluxes = 0.
void Problem::balance() {
  if (floating_.empty()) return;
  const std::vector<double> masses =
      operators::sum_over_cells(form_, [](operators::CellEvaluator& evaluator, std::int32_t, std::span<double> sum) {
        Eigen::Map<Eigen::VectorXd>(sum.data(), evaluator.dofs()).noalias() =
            evaluator.values().transpose() *
            Eigen::Map<const Eigen::VectorXd>(evaluator.measures().data(), evaluator.points());
      });
  std::vector<std::string> unbalanced;
  for (const Floating& floating : floating_) {
    double total = 0, magnitude = 0, volume = 0;
    for (const std::int32_t dof : floating.dofs) {
      total += load_of_dofs_[dof];
      magnitude += std::abs(load_of_dofs_[dof]);
      volume += masses[dof];
    }
    if (std::abs(total) > most_imbalance * magnitude) {
      unbalanced.push_back(
          at_place(place_of_load(*data_),
                   fmt::format("no boundary value or transfer holds the solution{}, and the load does not balance: "
                               "source and fluxes add up to {:.6g}, which must be 0; give some boundary a value, or "
                               "balance source and flux",
                               part_text(floating.cells), total)));
      continue;
    }
    remarks_.push_back(fmt::format("no boundary value or transfer holds the solution{}: its mean is fixed there",
                                   floating.cells.size() == static_cast<std::size_t>(form_.cells())
                                       ? fmt::format(" on {} cells", floating.cells.size())
                                       : part_text(floating.cells)));
    if (std::abs(total) > notable_imbalance * magnitude)
      remarks_.push_back(
          fmt::format("the load was out of balance by {:.3g} of its size; a constant source of {:.6g} was added",
                      std::abs(total) / magnitude, -total / volume));
    for (const std::int32_t dof : floating.dofs) load_of_dofs_[dof] -= total / volume * masses[dof];
  }
  if (!unbalanced.empty()) throw InputError(unbalanced);
}

/// Which part of the mesh some cells are; empty where they are all of it.
std::string Problem::part_text(const std::vector<std::int32_t>& cells) const {
  const mesh::Mesh& mesh = space_->mesh();
  if (cells.size() == static_cast<std::size_t>(mesh.cell_count())) return "";
  std::array<double, 3> centre{};
  const auto nodes = mesh.nodes(cells.front());
  for (const std::int32_t node : nodes)
    for (int axis = 0; axis < mesh.dimension(); ++axis)
      centre[axis] += mesh.point(node)[axis] / static_cast<double>(nodes.size());
  return fmt::format(" on the {} connected cells around {} (region {})", cells.size(), point_text(centre.data()),
                     in_quotes(mesh.region_names[mesh.cell_regions[cells.front()]]));
}

void Problem::move_boundary_values() {
  load_ = mesh::filled<double>(form_.unknowns);
  const bool zero =
      std::all_of(boundary_values_.begin(), boundary_values_.end(), [](double value) { return value == 0; });
  std::vector<double> lift;
  if (!zero) lift = operators::ReferenceOperator(form_).apply_to_dofs(boundary_values_);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < load_of_dofs_.size(); ++dof)
    if (const std::int32_t i = form_.unknown_of_dof[dof]; i >= 0)
      load_[i] = load_of_dofs_[dof] - (zero ? 0.0 : lift[dof]);
}

std::vector<double> Problem::to_dofs(std::span<const double> x) const {
  std::vector<double> dofs = boundary_values_;
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < dofs.size(); ++dof)
    if (const std::int32_t i = form_.unknown_of_dof[dof]; i >= 0) dofs[dof] = x[i];
  if (floating_.empty()) return dofs;
  std::optional<FieldOnRegions> exact;
  if (data_->exact) exact.emplace(*data_->exact, "exact", space_->mesh(), std::nullopt);
  operators::CellEvaluator evaluator(form_);
  for (const Floating& floating : floating_) {
    double difference = 0, volume = 0;
    std::vector<double> values(evaluator.points(), 0.0);
    for (const std::int32_t cell : floating.cells) {
      evaluator.move_to(cell);
      if (exact) exact->of_cell(cell).evaluate(evaluator.points_in_space(), values);
      for (int q = 0; q < evaluator.points(); ++q) {
        double u = 0;
        for (int a = 0; a < evaluator.dofs(); ++a) u += evaluator.values()(q, a) * dofs[space_->dofs(cell)[a]];
        difference += evaluator.measures()[q] * (values[q] - u);
        volume += evaluator.measures()[q];
      }
    }
    for (const std::int32_t dof : floating.dofs) dofs[dof] += difference / volume;
  }
  return dofs;
}

std::vector<double> Problem::residual(std::span<const double> x, std::span<const double> b) const {
  std::vector<double> r = operators::ReferenceOperator(form_).apply(x);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return r;
}

}  // namespace femcg::solver
