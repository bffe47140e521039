#include "solver/problem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "mesh/counting.hpp"
#include "mesh/first_failure.hpp"
#include "mesh/geometry.hpp"
#include "mesh/ordering.hpp"
#include "mesh/pages.hpp"
#include "operators/forms/form_product.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

constexpr const char* every_group = "all";

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
  int for_the_rest = -1;
  for (int number = 0; number < static_cast<int>(data.boundary.size()); ++number) {
    const BoundaryCondition& condition = data.boundary[number];
    if (condition.group == every_group) {
      for_the_rest = number;
      continue;
    }
    const auto group =
        std::find_if(mesh.boundaries.begin(), mesh.boundaries.end(),
                     [&](const mesh::BoundaryGroup& candidate) { return candidate.name == condition.group; });
    if (group == mesh.boundaries.end()) {
      problems.push_back(
          at_place(condition.place, fmt::format("the mesh has no boundary group {}{}", in_quotes(condition.group),
                                                did_you_mean_part(condition.group, names))));
      continue;
    }
    if (group->facets.empty())
      remarks.push_back(fmt::format("boundary group '{}' has no facet: its condition has no effect", condition.group));
    for (const mesh::BoundaryFacet facet : group->facets) {
      const auto entry = find(facet);
      if (!entry->insulated() && entry->condition != number) {
        problems.push_back(
            at_place(condition.place,
                     fmt::format("groups {} and {} share boundary facets, so their conditions contradict each other",
                                 in_quotes(data.boundary[entry->condition].group), in_quotes(condition.group))));
        break;
      }
      entry->condition = number;
    }
  }
  if (!problems.empty()) throw InputError(problems);
  for (ConditionedFacet& facet : facets) {
    if (facet.insulated()) facet.condition = for_the_rest;
    if (!facet.insulated()) facet.kind = data.boundary[facet.condition].kind;
  }
  return facets;
}

}  // namespace

Problem::Problem(const ProblemData& data, const mesh::FunctionSpace& space) : data_(&data), space_(&space) {
  form_.space = &space;
  form_.quadrature = data.quadrature;
  conditions_ = find_conditions(data, space.mesh(), remarks_);
  set_diffusion();
  constrain();
  number_unknowns();
  collect_robin();
  check_diffusion();
  find_floating();
  if (data.loads.empty()) loads_.emplace_back(*this, LoadData{"", data.source, data.boundary});
  for (const LoadData& load : data.loads) loads_.emplace_back(*this, load);
  for (const Load& load : loads_) remarks_.insert(remarks_.end(), load.remarks().begin(), load.remarks().end());
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
  operators::for_each_cell(form_, [](operators::CellEvaluator& evaluator, std::int32_t) { evaluator.factors(); });
}

void Problem::constrain() {
  // The number of a constrained dof is -1 - unknown_of_dof, until unknowns are numbered.
  form_.unknown_of_dof = mesh::filled<std::int32_t>(space_->dof_count());
  std::vector<std::pair<std::size_t, int>> nodes;  // of each Dirichlet dof: its facet and the cell's node
  for (std::size_t f = 0; f < conditions_.size(); ++f) {
    const ConditionedFacet& at = conditions_[f];
    if (at.insulated() || at.kind != BoundaryKind::value) continue;
    for (const int a : space_->facet_nodes(at.facet.facet)) {
      const std::int32_t dof = space_->dofs(at.facet.cell)[a];
      std::int32_t& number = form_.unknown_of_dof[dof];
      if (number >= 0) {
        dirichlet_dofs_.push_back({dof, at.condition, {}});
        nodes.emplace_back(f, a);
        number = -static_cast<std::int32_t>(dirichlet_dofs_.size());
      }
      int& holds = dirichlet_dofs_[-1 - number].condition;
      if (holds == at.condition) continue;
      earlier_conditions_.emplace_back(-1 - number, std::min(holds, at.condition));
      holds = std::max(holds, at.condition);
    }
  }
  std::ranges::sort(earlier_conditions_);
  const auto twice = std::ranges::unique(earlier_conditions_);
  earlier_conditions_.erase(twice.begin(), twice.end());
  locate(nodes);
}

/// Cells agree on a point only to rounding: the first facet of a Dirichlet dof says where it is.
void Problem::locate(const std::vector<std::pair<std::size_t, int>>& nodes) {
  const mesh::GeometryTables tables(space_->mesh(), space_->basis().nodes());
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::optional<mesh::CellGeometry> geometry;
    failure.guard(mesh::FirstFailure::preparation, [&] { geometry.emplace(tables); });
    std::int32_t cell = -1;
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < nodes.size(); ++i)
      failure.guard(static_cast<std::int64_t>(i), [&] {
        const auto& [facet, node] = nodes[i];
        if (const std::int32_t of_facet = conditions_[facet].facet.cell; of_facet != cell)
          geometry->move_to(space_->mesh(), cell = of_facet);
        std::copy_n(geometry->point(node), 3, dirichlet_dofs_[i].point.begin());
      });
  }
  failure.rethrow();
}

void Problem::number_unknowns() {
  std::vector<std::int32_t>& unknown_of_dof = form_.unknown_of_dof;
  std::vector<std::int32_t> free_before = mesh::filled<std::int32_t>(unknown_of_dof.size());
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < unknown_of_dof.size(); ++dof) free_before[dof] = unknown_of_dof[dof] >= 0 ? 1 : 0;
  form_.unknowns = mesh::sum_before(std::span(free_before));
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < unknown_of_dof.size(); ++dof)
    unknown_of_dof[dof] = unknown_of_dof[dof] >= 0 ? free_before[dof] : -1;
  if (data_->unknown_order != UnknownOrder::reverse_cuthill_mckee || form_.unknowns == 0) return;
  const operators::CsrMatrix<double> pattern = operators::sparsity_pattern(form_);
  const std::vector<std::int32_t> order =
      mesh::reverse_cuthill_mckee(pattern.row_offsets.span(), pattern.columns.span());
  for (std::int32_t& unknown : form_.unknown_of_dof)
    if (unknown >= 0) unknown = order[unknown];
}

void Problem::collect_robin() {
  std::vector<const BoundaryCondition*> conditions;
  for (const ConditionedFacet& at : conditions_) {
    if (at.insulated() || at.kind != BoundaryKind::transfer) continue;
    form_.robin.push_back({at.facet.cell, at.facet.facet, {}});
    conditions.push_back(&data_->boundary[at.condition]);
  }
  const auto evaluate = [&](operators::FacetEvaluator& evaluator, std::size_t k) {
    operators::RobinFacet& robin = form_.robin[k];
    evaluator.move_to({robin.cell, robin.facet});
    robin.transfer.resize(evaluator.points());
    conditions[k]->transfer.evaluate(evaluator.points_in_space(), robin.transfer);
    require_at_least(conditions[k]->transfer, 0, true, evaluator.points_in_space(), robin.transfer,
                     "boundary." + conditions[k]->group + ".transfer");
  };
  operators::for_each_facet(*space_, form_.quadrature, form_.robin.size(), evaluate);
}

void Problem::find_floating() {
  const std::vector<std::int32_t> component = mesh::cell_components(space_->mesh());
  const std::int32_t count = *std::max_element(component.begin(), component.end()) + 1;
  std::vector<char> held(count, 0);
  for (const ConditionedFacet& at : conditions_)
    if (!at.insulated() && at.kind == BoundaryKind::value) held[component[at.facet.cell]] = 1;
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
    remarks_.push_back(fmt::format("no boundary value or transfer holds the solution{}: its mean is fixed there",
                                   floating.cells.size() == static_cast<std::size_t>(form_.cells())
                                       ? fmt::format(" on {} cells", floating.cells.size())
                                       : part_text(floating.cells)));
    floating_.push_back(std::move(floating));
  }
  masses_ =
      operators::sum_over_cells(form_, [](operators::CellEvaluator& evaluator, std::int32_t, std::span<double> sum) {
        Eigen::Map<Eigen::VectorXd>(sum.data(), evaluator.dofs()).noalias() =
            evaluator.values().transpose() *
            Eigen::Map<const Eigen::VectorXd>(evaluator.measures().data(), evaluator.points());
      });
}

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

std::vector<double> Problem::to_unknowns(std::span<const double> dofs) const {
  std::vector<double> x = mesh::filled<double>(static_cast<std::size_t>(form_.unknowns));
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < dofs.size(); ++dof)
    if (const std::int32_t i = form_.unknown_of_dof[dof]; i >= 0) x[i] = dofs[dof];
  return x;
}

std::vector<double> Problem::to_dofs(std::span<const double> x, const Load& load) const {
  std::vector<double> dofs = mesh::filled<double>(load.boundary_values().size());
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < dofs.size(); ++dof) {
    const std::int32_t i = form_.unknown_of_dof[dof];
    dofs[dof] = i >= 0 ? x[i] : load.boundary_values()[dof];
  }
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
  return operators::FormProduct(form_).residual(x, b);
}

}  // namespace femcg::solver
