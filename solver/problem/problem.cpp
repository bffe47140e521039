#include "solver/problem/problem.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/shared_components.hpp"

namespace femcg::solver {

namespace {

/// Every boundary facet with its condition. "all" applies where no other entry does.
std::vector<ConditionedFacet> find_conditions(const ProblemData& data, const mesh::Mesh& mesh,
                                              const operators::SharedDofs& shared) {
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
  std::vector<std::string> everywhere;  // groups that cover the whole boundary
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
    if (!shared.any(!group->facets.empty())) {
      problems.push_back(at_place(condition.place, fmt::format("group {} lies inside the mesh, between cells, where no "
                                                               "boundary condition can hold",
                                                               in_quotes(condition.group))));
      continue;
    }
    if (!shared.any(group->facets.size() < facets.size())) everywhere.push_back(group->name);
    for (const mesh::BoundaryFacet facet : group->facets) {
      const auto entry = find(facet);
      if (!entry->insulated() && entry->condition != number) {
        const std::string& other = data.boundary[entry->condition].group;
        std::string whole;
        for (const std::string& covering : everywhere)
          if (covering == other || covering == condition.group)
            whole += fmt::format("; {} covers the whole boundary (coordinates are in metres)", in_quotes(covering));
        problems.push_back(at_place(
            condition.place, fmt::format("groups {} and {} share boundary facets, so their conditions contradict each "
                                         "other{}",
                                         in_quotes(other), in_quotes(condition.group), whole)));
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

const operators::SharedDofs Problem::alone;

Problem::Problem(const ProblemData& data, const mesh::FunctionSpace& space, const operators::SharedDofs& shared)
    : data_(&data), space_(&space), shared_(&shared) {
  form_.space = &space;
  form_.quadrature = data.quadrature;
  conditions_ = find_conditions(data, space.mesh(), shared);
  set_diffusion();
  constrain();
  number_unknowns();
  collect_robin();
  check_diffusion();
  find_components();
  unit_boundary_ = make_unit_boundary(*this);
  std::vector<Probe> points;
  for (const PointSource& source : data.points) points.push_back(source.at);
  points_ = locate_points(points, "point", space.mesh(), shared, &warnings_);
  if (!points.empty())
    warnings_.push_back(
        "points: u grows beyond all bounds towards a point with power; its extremes depend on the mesh");
  if (data.loads.empty()) loads_.emplace_back(*this, LoadData{"", data.source, data.boundary, data.points});
  for (const LoadData& load : data.loads) loads_.emplace_back(*this, load);
  if (data.symmetry > 1)
    warnings_.push_back(
        fmt::format("symmetry: areas, volumes, integrals, fluxes and the balance are those of the whole, "
                    "{} times those of the mesh",
                    data.symmetry));
  for (const BoundaryCondition& condition : data.boundary) {
    if (condition.layers == 0) continue;
    const auto h = condition.transfer.constant();
    warnings_.push_back(fmt::format(
        "boundary.{}: its layers, of resistance {:.6g}, make it {{transfer: {}, ambient: {}}}", condition.group,
        condition.layers, h ? fmt::format("{:.6g}", *h) : condition.transfer.text(), condition.ambient.text()));
  }
  for (const Load& load : loads_) warnings_.insert(warnings_.end(), load.warnings().begin(), load.warnings().end());
}

void Problem::set_diffusion() {
  const DiffusionOnRegions field(data_->diffusion, space_->mesh());
  operators::Diffusion& diffusion = form_.diffusion;
  diffusion.entries = field.entries();
  if (!field.constant())
    diffusion.rounding =
        operators::CoordinateRounding(-shared_->least(-mesh::extent_of(space_->mesh()).largest_coordinate()));
  diffusion.evaluate = [field, rounding = diffusion.rounding](std::int32_t cell, std::span<const double> points,
                                                              std::span<double> values) {
    if (field.constant_in(cell)) return field.evaluate(cell, points, values);
    std::vector<double> rounded(points.size());
    std::ranges::transform(points, rounded.begin(), rounding);
    field.evaluate(cell, rounded, values);
    field.require_positive(cell, rounded, values);
  };
  diffusion.constant = [field](std::int32_t cell) { return field.constant_in(cell); };
  if (!field.constant()) diffusion.by_region = field.programs();
}

/// Visits every quadrature point once, so that a wrong value is found before assembly.
void Problem::check_diffusion() {
  if (DiffusionOnRegions(data_->diffusion, space_->mesh()).constant()) return;
  operators::for_each_cell_diffusion(form_, [](std::int32_t, std::span<const double>) {});
}

void Problem::constrain() {
  std::vector<CellNode> nodes;  // of each Dirichlet dof
  constrain_by_facets(nodes);
  constrain_by_others(nodes);
  std::ranges::sort(earlier_conditions_);
  const auto twice = std::ranges::unique(earlier_conditions_);
  earlier_conditions_.erase(twice.begin(), twice.end());
  locate(nodes);
}

/// Numbers the Dirichlet dofs in the order of the facets and their nodes.
void Problem::constrain_by_facets(std::vector<CellNode>& nodes) {
  constexpr std::int64_t nobody = std::numeric_limits<std::int32_t>::max(), block = std::int64_t{1} << 11;
  std::vector<const ConditionedFacet*> given;
  for (const ConditionedFacet& at : conditions_)
    if (!at.insulated() && at.kind == BoundaryKind::value) given.push_back(&at);
  const auto nodes_each = static_cast<std::int64_t>(space_->facet_nodes(0).size()), count = std::ssize(given);
  if (count * nodes_each >= nobody)
    throw std::length_error("the boundary has more than 2^31 - 1 nodes of facets with values; take fewer cells");
  // Least position among all nodes of facets at which a dof occurs, until it gets its number.
  mesh::Array<std::int32_t>& met_at = form_.unknown_of_dof;
  met_at = mesh::array_of(static_cast<std::size_t>(space_->dof_count()), static_cast<std::int32_t>(nobody));
  const auto for_nodes = [&](std::int64_t f, const auto& work) {
    const mesh::BoundaryFacet& facet = given[f]->facet;
    const auto dofs = space_->dofs(facet.cell);
    std::int64_t place = f * nodes_each;
    for (const int a : space_->facet_nodes(facet.facet)) work(CellNode{facet.cell, a}, dofs[a], place++);
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t f = 0; f < count; ++f)
    for_nodes(f, [&](CellNode, std::int32_t dof, std::int64_t place) {
      mesh::lower(met_at[dof], static_cast<std::int32_t>(place));
    });
  struct Met {
    CellNode at;
    std::int32_t dof;
    int condition;
  };
  const auto first = mesh::collect<Met>(
      count,
      [&](std::int64_t f, std::vector<Met>& some) {
        for_nodes(f, [&](CellNode at, std::int32_t dof, std::int64_t place) {
          if (met_at[dof] == place) some.push_back({at, dof, given[f]->condition});
        });
      },
      block);
  dirichlet_dofs_.resize(first.size());
  nodes.resize(first.size());
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < first.size(); ++k) {
    dirichlet_dofs_[k] = {first[k].dof, first[k].condition, {}};
    nodes[k] = first[k].at;
    form_.unknown_of_dof[first[k].dof] = -1 - static_cast<std::int32_t>(k);
  }
  const auto other = mesh::collect<std::pair<std::int32_t, int>>(
      count,
      [&](std::int64_t f, auto& some) {
        for_nodes(f, [&](CellNode, std::int32_t dof, std::int64_t) {
          const std::int32_t k = -1 - form_.unknown_of_dof[dof];
          if (dirichlet_dofs_[k].condition != given[f]->condition) some.emplace_back(k, given[f]->condition);
        });
      },
      block);
  for (const auto& [k, condition] : other) hold(k, condition);
}

/// Records a condition at a Dirichlet dof; the last one in ProblemData::boundary prevails.
void Problem::hold(std::int32_t number, int condition) {
  int& holds = dirichlet_dofs_[number].condition;
  if (holds == condition) return;
  earlier_conditions_.emplace_back(number, std::min(holds, condition));
  holds = std::max(holds, condition);
}

/// Adds dofs of this process that facets of other processes constrain.
void Problem::constrain_by_others(std::vector<CellNode>& nodes) {
  if (shared_->neighbours().empty()) return;
  std::multimap<std::int32_t, int> conditions;  // by number of the Dirichlet dof
  for (std::size_t i = 0; i < dirichlet_dofs_.size(); ++i)
    conditions.emplace(static_cast<std::int32_t>(i), dirichlet_dofs_[i].condition);
  conditions.insert(earlier_conditions_.begin(), earlier_conditions_.end());
  struct Constraint {
    std::int32_t place, condition;  ///< place: in the list of shared dofs
  };
  std::vector<std::vector<Constraint>> mine;
  for (const operators::SharedDofs::Neighbour& neighbour : shared_->neighbours()) {
    std::vector<Constraint>& constraints = mine.emplace_back();
    for (std::size_t place = 0; place < neighbour.dofs.size(); ++place) {
      const auto [first, last] = conditions.equal_range(-1 - form_.unknown_of_dof[neighbour.dofs[place]]);
      for (auto each = first; each != last; ++each)
        constraints.push_back({static_cast<std::int32_t>(place), each->second});
    }
  }
  const auto theirs = shared_->exchanged(mine);
  std::vector<char> by_others = mesh::filled<char>(form_.unknown_of_dof.size());
  for (std::size_t k = 0; k < theirs.size(); ++k)
    for (const Constraint& constraint : theirs[k]) by_others[shared_->neighbours()[k].dofs[constraint.place]] = 1;
  if (std::ranges::all_of(theirs, [](const auto& constraints) { return constraints.empty(); })) return;
  const auto at = mesh::collect<CellNode>(form_.cells(), [&](std::int64_t cell, auto& some) {
    const auto dofs = space_->dofs(static_cast<std::int32_t>(cell));
    for (std::size_t a = 0; a < dofs.size(); ++a)
      if (by_others[dofs[a]] != 0) some.push_back({static_cast<std::int32_t>(cell), static_cast<int>(a)});
  });
  std::map<std::int32_t, CellNode> node_of;  // of each dof that other processes constrain
  for (const CellNode& each : at) node_of[space_->dofs(each.cell)[each.node]] = each;
  for (std::size_t k = 0; k < theirs.size(); ++k)
    for (const Constraint& constraint : theirs[k]) {
      const std::int32_t dof = shared_->neighbours()[k].dofs[constraint.place];
      std::int32_t& number = form_.unknown_of_dof[dof];
      if (number >= 0) {
        dirichlet_dofs_.push_back({dof, constraint.condition, {}});
        nodes.push_back(node_of.at(dof));
        number = -static_cast<std::int32_t>(dirichlet_dofs_.size());
      }
      hold(-1 - number, constraint.condition);
    }
}

/// Sets the points of the Dirichlet dofs. Cells agree on a point only to rounding: the first cell determines it.
void Problem::locate(const std::vector<CellNode>& nodes) {
  const mesh::GeometryTables tables(space_->mesh(), space_->basis().nodes());
  struct Geometry {
    mesh::CellGeometry at;
    std::int32_t cell = -1;
  };
  mesh::parallel_for(
      nodes.size(), [&] { return Geometry{mesh::CellGeometry(tables)}; },
      [&](Geometry& geometry, std::size_t i) {
        if (nodes[i].cell != geometry.cell) geometry.at.move_to(space_->mesh(), geometry.cell = nodes[i].cell);
        std::copy_n(geometry.at.point(nodes[i].node), 3, dirichlet_dofs_[i].point.begin());
      });
}

void Problem::number_unknowns() {
  constexpr std::size_t block_dofs = std::size_t{1} << 16;
  const std::span<std::int32_t> unknown_of_dof(form_.unknown_of_dof);
  std::vector<std::int32_t> first((unknown_of_dof.size() + block_dofs - 1) / block_dofs);  // first unknown of a block
  const auto block = [&](std::size_t b) {
    return unknown_of_dof.subspan(b * block_dofs, std::min(block_dofs, unknown_of_dof.size() - b * block_dofs));
  };
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < first.size(); ++b)
    first[b] = static_cast<std::int32_t>(std::ranges::count_if(block(b), [](std::int32_t mark) { return mark >= 0; }));
  form_.unknowns = mesh::sum_before(std::span(first));
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < first.size(); ++b) {
    std::int32_t next = first[b];
    for (std::int32_t& mark : block(b))
      if (mark >= 0) mark = next++;
  }
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

/// Finds the connected components of the mesh, and those without Dirichlet or Robin condition.
void Problem::find_components() {
  const std::vector<std::int32_t> of_cells = mesh::cell_components(space_->mesh());
  const std::int32_t count = of_cells.empty() ? 0 : *std::ranges::max_element(of_cells) + 1;
  std::vector<char> held(count, 0);
  for (const ConditionedFacet& at : conditions_)
    if (!at.insulated() && at.kind == BoundaryKind::value) held[of_cells[at.facet.cell]] = 1;
  for (const operators::RobinFacet& facet : form_.robin)
    if (*std::ranges::max_element(facet.transfer) > 0) held[of_cells[facet.cell]] = 1;

  // Joins components of several processes; each has a global number.
  const SharedComponents all(*shared_, *space_, of_cells, held);
  components_ = static_cast<std::int32_t>(std::max<std::int64_t>(1, all.count()));
  if (components_ > 1)
    for (const std::int32_t component : of_cells) component_of_cell_.push_back(all.place(component));
  std::map<std::int32_t, Floating> by_number;
  for (const std::int32_t number : all.not_held()) by_number[number];
  if (by_number.empty()) return;
  for (std::int32_t cell = 0; cell < form_.cells(); ++cell)
    if (const auto floating = by_number.find(all.number(of_cells[cell])); floating != by_number.end())
      floating->second.cells.push_back(cell);
  for (auto& [number, floating] : by_number) {
    for (const std::int32_t cell : floating.cells) {
      const auto dofs = space_->dofs(cell);
      floating.dofs.insert(floating.dofs.end(), dofs.begin(), dofs.end());
    }
    std::ranges::sort(floating.dofs);
    const auto twice = std::ranges::unique(floating.dofs);
    floating.dofs.erase(twice.begin(), twice.end());
    const auto cells = static_cast<std::int64_t>(shared_->sum(static_cast<double>(floating.cells.size())));
    if (all.count() > 1) floating.text = text_of_part(floating.cells, cells);
    warnings_.push_back(fmt::format("no boundary value or transfer holds the solution{}: its mean is fixed there",
                                    floating.text.empty() ? fmt::format(" on {} cells", cells) : floating.text));
    floating_.push_back(std::move(floating));
  }
  masses_ =
      operators::sum_over_cells(form_, [](operators::CellEvaluator& evaluator, std::int32_t, std::span<double> sum) {
        Eigen::Map<Eigen::VectorXd>(sum.data(), evaluator.dofs()).noalias() =
            evaluator.values().transpose() *
            Eigen::Map<const Eigen::VectorXd>(evaluator.measures().data(), evaluator.points());
      });
  shared_->add_up(masses_);
}

/// Description of the part of the mesh formed by some cells, `count` on all processes: the first process with any gives
/// the place.
std::string Problem::text_of_part(const std::vector<std::int32_t>& cells, std::int64_t count) const {
  std::string text;
  if (!cells.empty()) {
    const mesh::Mesh& mesh = space_->mesh();
    std::array<double, 3> centre{};
    const auto nodes = mesh.nodes(cells.front());
    for (const std::int32_t node : nodes)
      for (int axis = 0; axis < mesh.dimension(); ++axis)
        centre[axis] += mesh.point(node)[axis] / static_cast<double>(nodes.size());
    text = fmt::format(" on the {} connected cells around {} (region {})", count, point_text(centre.data()),
                       in_quotes(mesh.region_names[mesh.cell_regions[cells.front()]]));
  }
  for (const std::string& of_process : shared_->gathered(text))
    if (!of_process.empty()) return of_process;
  return text;
}

std::vector<double> Problem::to_unknowns(std::span<const double> dofs) const {
  std::vector<double> x = mesh::filled<double>(static_cast<std::size_t>(form_.unknowns));
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < dofs.size(); ++dof)
    if (const std::int32_t i = form_.unknown_of_dof[dof]; i >= 0) x[i] = dofs[dof];
  return x;
}

std::vector<double> Problem::to_dofs(std::span<const double> x, const Load& load, std::vector<double> room) const {
  std::vector<double> dofs = std::move(room);
  if (dofs.size() != form_.unknown_of_dof.size()) dofs = mesh::filled<double>(form_.unknown_of_dof.size());
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < dofs.size(); ++dof) {
    const std::int32_t i = form_.unknown_of_dof[dof];
    dofs[dof] = i >= 0 ? x[i] : load.boundary_values()[-1 - i];
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
      const auto of_cell = space_->dofs(cell);
      if (exact) exact->of_cell(cell).evaluate(evaluator.points_in_space(), values);
      for (int q = 0; q < evaluator.points(); ++q) {
        double u = 0;
        for (int a = 0; a < evaluator.dofs(); ++a) u += evaluator.values()(q, a) * dofs[of_cell[a]];
        difference += evaluator.measures()[q] * (values[q] - u);
        volume += evaluator.measures()[q];
      }
    }
    std::array sums{difference, volume};
    shared_->sum(sums);
    for (const std::int32_t dof : floating.dofs) dofs[dof] += sums[0] / sums[1];
  }
  return dofs;
}

std::vector<double> Problem::residual(std::span<const double> x, std::span<const double> b) const {
  return operators::FormProduct(form_).residual(x, b);
}

}  // namespace femcg::solver
