#include "solver/system/conductors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh/base/joined_sets.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/problem/shared_components.hpp"

namespace femcg::solver {

namespace {

/// A jump of the diffusion: more than so many powers of two.
constexpr int jump = 7;

/// The values in a cell.
std::span<const double> values_in(const operators::CellDiffusion& diffusion, std::size_t cell, std::size_t cells) {
  const std::size_t each = diffusion.values.size() / cells;
  return {diffusion.values.data() + cell * each, each};
}

/// For each cell that is wanted the number, from 0, of those it is joined to by dofs; -1 for the others.
std::vector<std::int32_t> joined_cells(const mesh::FunctionSpace& space, const std::vector<char>& wanted) {
  mesh::JoinedSets joined(space.dof_count());
  const auto count = static_cast<std::int32_t>(wanted.size());
  for (std::int32_t cell = 0; cell < count; ++cell)
    if (wanted[cell] != 0)
      for (const std::int32_t dof : space.dofs(cell)) joined.join(dof, space.dofs(cell)[0]);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(space.dof_count()), -1), of_cells(wanted.size(), -1);
  std::int32_t next = 0;
  for (std::int32_t cell = 0; cell < count; ++cell) {
    if (wanted[cell] == 0) continue;
    std::int32_t& number = numbers[joined.least(space.dofs(cell)[0])];
    if (number < 0) number = next++;
    of_cells[cell] = number;
  }
  return of_cells;
}

}  // namespace

Conductors::Conductors(const Problem& problem) : problem_(&problem) {
  const operators::CellDiffusion diffusion = operators::diffusion_of_cells(problem.form());
  std::vector<double> of_cells(static_cast<std::size_t>(problem.form().cells()));
  for (std::size_t cell = 0; cell < of_cells.size(); ++cell)
    of_cells[cell] = std::ranges::max(values_in(diffusion, cell, of_cells.size()));
  if (!diffusion.constant_in_cells || !problem.shared().is_alone()) find_jumps_within(diffusion);
  for (const double least : jumps(of_cells)) add_level(least, of_cells);
  if (count() == 0) return;
  counts_.resize(count());
  unknowns_.assign(count(), -1);
  units_.assign(count(), 0);
  for (std::int32_t dof = 0; dof < std::ssize(problem.form().unknown_of_dof); ++dof)
    for (const Level& level : levels_)
      if (const std::int32_t part = level.of_dof[dof]; part >= 0) {
        unknowns_[part] = problem.form().unknown_of_dof[dof];
        counts_[part] += problem.shared().owns(dof) ? 1 : 0;
        break;
      }
  for (const Level& level : levels_) add_rows(level);
  problem.shared().sum(counts_);
  problem.shared().sum(units_);
}

void Conductors::find_jumps_within(const operators::CellDiffusion& diffusion) {
  const operators::BilinearForm& form = problem_->form();
  mesh::Array<double> factors(static_cast<std::size_t>(form.space->dof_count()));
  std::vector<double> found(1);
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const auto [least, most] = std::ranges::minmax(values_in(diffusion, cell, form.cells()));
    if (std::ldexp(least, jump) >= most) continue;
    found[0] = 1;
    for (const std::int32_t dof : form.space->dofs(cell)) factors[dof] += most / least;
  }
  problem_->shared().sum(found);
  if (found[0] == 0) return;
  problem_->shared().add_up(factors);
  within_cells_.assign(static_cast<std::size_t>(form.unknowns), 1);
  for (std::size_t dof = 0; dof < factors.size(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0 && factors[dof] > 0)
      within_cells_[i] = 1 / factors[dof];
}

/// The least diffusion above each jump, descending.
std::vector<double> Conductors::jumps(std::span<const double> of_cells) const {
  constexpr int least = -1075, bins = 2100;  // powers of two
  std::vector<double> cells(bins);
  for (const double diffusion : of_cells) ++cells[static_cast<std::size_t>(std::ilogb(diffusion) - least)];
  problem_->shared().sum(cells);
  std::vector<double> found;
  int last = -1;
  for (int bin = 0; bin < bins; ++bin) {
    if (cells[static_cast<std::size_t>(bin)] == 0) continue;
    if (last >= 0 && bin - last > jump) found.push_back(std::ldexp(1.0, bin + least));
    last = bin;
  }
  std::ranges::reverse(found);
  return found;
}

void Conductors::add_level(double least, std::span<const double> of_cells) {
  const operators::BilinearForm& form = problem_->form();
  const mesh::FunctionSpace& space = *form.space;
  std::vector<char> wanted(of_cells.size());
  std::ranges::transform(of_cells, wanted.begin(), [&](double diffusion) { return diffusion >= least ? 1 : 0; });
  const std::vector<std::int32_t> parts = joined_cells(space, wanted);
  std::vector<char> held(parts.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(parts) + 1));
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    if (parts[cell] >= 0) form.for_nodes(cell, [&](int, std::int32_t unknown) { held[parts[cell]] |= unknown < 0; });
  const SharedComponents all(problem_->shared(), space, parts, held);
  std::vector<std::int32_t> number;
  auto next = static_cast<std::int32_t>(count());
  for (const char is_held : all.held()) number.push_back(is_held != 0 ? -1 : next++);
  units_.resize(static_cast<std::size_t>(next));
  Level level{least, std::vector<std::int32_t>(static_cast<std::size_t>(space.dof_count()), -1)};
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    if (parts[cell] >= 0)
      for (const std::int32_t dof : space.dofs(cell)) level.of_dof[dof] = number[all.place(parts[cell])];
  levels_.push_back(std::move(level));
}

/// A1_R of the parts of a level: nothing where 1_R is constant in a cell.
void Conductors::add_rows(const Level& level) {
  operators::BilinearForm form = problem_->form();
  const mesh::FunctionSpace& space = *form.space;
  const auto add = [&](std::int32_t dof, std::int32_t part, double value) {
    const std::int32_t unknown = form.unknown_of_dof[dof];
    if (unknown < 0 || value == 0) return;
    rows_.push_back({unknown, part, value});
    if (level.of_dof[dof] == part) units_[part] += value;
  };
  operators::FacetEvaluator facet(space, form.quadrature);
  for (const operators::RobinFacet& robin : form.robin) {
    const auto dofs = space.dofs(robin.cell);
    const std::vector<int>& nodes = space.facet_nodes(robin.facet);
    if (std::ranges::none_of(nodes, [&](int a) { return level.of_dof[dofs[a]] >= 0; })) continue;
    facet.move_to({robin.cell, robin.facet});
    for (const int a : nodes)
      for (const int b : nodes)
        if (const std::int32_t part = level.of_dof[dofs[b]]; part >= 0)
          for (int q = 0; q < facet.points(); ++q)
            add(dofs[a], part, robin.transfer[q] * facet.measures()[q] * facet.values()(q, a) * facet.values()(q, b));
  }
  form.robin.clear();
  operators::CellEvaluator evaluator(form);
  std::vector<double> ones(static_cast<std::size_t>(evaluator.dofs())), product(ones.size());
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const auto dofs = space.dofs(cell);
    std::vector<std::int32_t> parts;
    for (const std::int32_t dof : dofs) parts.push_back(level.of_dof[dof]);
    const std::vector<std::int32_t> of_dofs = parts;
    std::ranges::sort(parts);
    parts.erase(std::ranges::unique(parts).begin(), parts.end());
    if (parts.size() < 2) continue;
    evaluator.move_to(cell);
    for (const std::int32_t part : parts) {
      if (part < 0) continue;
      std::ranges::transform(of_dofs, ones.begin(), [&](std::int32_t of) { return of == part ? 1.0 : 0.0; });
      evaluator.apply(ones, product);
      for (std::size_t a = 0; a < ones.size(); ++a) add(dofs[a], part, product[a]);
    }
  }
}

std::vector<double> Conductors::sums(std::span<const double> v) const {
  std::vector<double> sums(count());
  const operators::BilinearForm& form = problem_->form();
  for (const Level& level : levels_)
    for (std::size_t dof = 0; dof < level.of_dof.size(); ++dof)
      if (level.of_dof[dof] >= 0 && problem_->shared().owns(static_cast<std::int32_t>(dof)))
        sums[level.of_dof[dof]] += v[form.unknown_of_dof[dof]];
  problem_->shared().sum(sums);
  return sums;
}

void Conductors::mark(std::vector<char>& unknowns) const {
  for (const Level& level : levels_)
    for (std::size_t dof = 0; dof < level.of_dof.size(); ++dof)
      if (level.of_dof[dof] >= 0) unknowns[problem_->form().unknown_of_dof[dof]] = 1;
}

std::vector<double> Conductors::heat(std::span<const double> w) const {
  std::vector<double> heat(count());
  for (const Row& row : rows_) heat[row.part] += row.value * w[row.unknown];
  problem_->shared().sum(heat);
  return heat;
}

void Conductors::set_sums(const std::vector<double>& sums, std::span<double> v) const {
  const operators::BilinearForm& form = problem_->form();
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const std::vector<double> now = this->sums(v);
    for (std::size_t dof = 0; dof < levels_[k].of_dof.size(); ++dof) {
      const std::int32_t part = levels_[k].of_dof[dof];
      const auto is_better = [&](const Level& level) { return level.of_dof[dof] >= 0; };
      if (part >= 0 && std::none_of(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(k), is_better))
        v[form.unknown_of_dof[dof]] += (sums[part] - now[part]) / counts_[part];
    }
  }
}

}  // namespace femcg::solver
