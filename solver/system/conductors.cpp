#include "solver/system/conductors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/joined_sets.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/problem/shared_components.hpp"

namespace femcg::solver {

namespace {

/// A jump of the diffusion is more than this many powers of two.
constexpr int jump = 7;

/// Values of a cell.
std::span<const double> values_in(const operators::CellDiffusion& diffusion, std::size_t cell, std::size_t cells) {
  const std::size_t each = diffusion.values.size() / cells;
  return {diffusion.values.data() + cell * each, each};
}

/// Number, from 0, of the dof-connected component of each wanted cell; -1 for the others.
std::vector<std::int32_t> joined_cells(const mesh::FunctionSpace& space, const std::vector<char>& wanted) {
  mesh::JoinedSets joined(space.dof_count());
  const auto count = static_cast<std::int32_t>(wanted.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < count; ++cell)
    if (wanted[cell] != 0)
      for (const std::int32_t dof : space.dofs(cell)) joined.join(dof, space.dofs(cell)[0]);
  std::vector<std::int32_t> numbers = mesh::filled<std::int32_t>(static_cast<std::size_t>(space.dof_count()), -1),
                            of_cells(wanted.size(), -1);
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
  operators::CellDiffusion diffusion = operators::diffusion_of_cells(problem.form());
  if (const operators::Diffusion& of_form = problem.form().diffusion; of_form.is_tensor())
    diffusion.values = operators::least_eigenvalues(diffusion.values, of_form.entries);
  std::vector<double> of_cells(static_cast<std::size_t>(problem.form().cells()));
#pragma omp parallel for schedule(static)
  for (std::size_t cell = 0; cell < of_cells.size(); ++cell)
    of_cells[cell] = std::ranges::max(values_in(diffusion, cell, of_cells.size()));
  if (!diffusion.constant_in_cells || !problem.shared().is_alone()) find_jumps_within(diffusion);
  for (const double least : jumps(of_cells)) add_level(least, of_cells);
  if (count() == 0) return;
  unknowns_.assign(count(), -1);
  units_.assign(count(), 0);
  counts_ = sums_over_dofs([&](std::size_t dof, std::vector<double>& sums) {
    const std::int32_t part = best_part(dof);
    if (part < 0) return;
    mesh::raise(unknowns_[part], problem.form().unknown_of_dof[dof]);
    sums[part] += problem.shared().owns(static_cast<std::int32_t>(dof)) ? 1 : 0;
  });
  for (const Level& level : levels_) add_rows(level);
  problem.shared().sum(units_);
}

template <class Add>
std::vector<double> Conductors::sums_over_dofs(const Add& add) const {
  if (count() == 0) return {};
  constexpr std::size_t block = std::size_t{1} << 18;
  const std::size_t dofs = problem_->form().unknown_of_dof.size();
  std::vector<std::vector<double>> of_blocks((dofs + block - 1) / block);
  mesh::parallel_for(of_blocks.size(), [&](std::size_t b) {
    of_blocks[b].resize(count());
    for (std::size_t dof = b * block; dof < std::min(dofs, (b + 1) * block); ++dof) add(dof, of_blocks[b]);
  });
  std::vector<double> sums(count());
  for (const std::vector<double>& each : of_blocks)
    for (std::size_t part = 0; part < sums.size(); ++part) sums[part] += each[part];
  problem_->shared().sum(sums);
  return sums;
}

std::int32_t Conductors::best_part(std::size_t dof) const {
  for (const Level& level : levels_)
    if (level.of_dof[dof] >= 0) return level.of_dof[dof];
  return -1;
}

void Conductors::find_jumps_within(const operators::CellDiffusion& diffusion) {
  const operators::BilinearForm& form = problem_->form();
  struct Jump {
    std::int32_t cell;
    double factor;
  };
  const auto jumps = mesh::collect<Jump>(form.cells(), [&](std::int64_t number, std::vector<Jump>& found) {
    const auto cell = static_cast<std::int32_t>(number);
    const auto [least, most] = std::ranges::minmax(values_in(diffusion, cell, form.cells()));
    if (std::ldexp(least, jump) < most) found.push_back({cell, most / least});
  });
  if (!problem_->shared().any(!jumps.empty())) return;
  mesh::Array<double> factors = mesh::array_of<double>(form.space->dof_count());
  for (const Jump& at : jumps)
    for (const std::int32_t dof : form.space->dofs(at.cell)) factors[dof] += at.factor;
  problem_->shared().add_up(factors);
  within_cells_.assign(static_cast<std::size_t>(form.unknowns), 1);
  for (std::size_t dof = 0; dof < factors.size(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0 && factors[dof] > 0)
      within_cells_[i] = 1 / factors[dof];
}

/// Least diffusion above each jump, descending.
std::vector<double> Conductors::jumps(std::span<const double> of_cells) const {
  constexpr int least = -1075, bins = 2100;  // powers of two
  std::vector<double> cells(bins);
#pragma omp parallel for schedule(static)
  for (std::size_t cell = 0; cell < of_cells.size(); ++cell) {
    const std::atomic_ref has_cells(cells[static_cast<std::size_t>(std::ilogb(of_cells[cell]) - least)]);
    if (has_cells.load(std::memory_order_relaxed) == 0) has_cells.store(1, std::memory_order_relaxed);
  }
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
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    if (parts[cell] >= 0)
      form.for_nodes(cell, [&](int, std::int32_t unknown) {
        if (unknown < 0) std::atomic_ref(held[parts[cell]]).store(1, std::memory_order_relaxed);
      });
  const SharedComponents all(problem_->shared(), space, parts, held);
  std::vector<std::int32_t> number;
  auto next = static_cast<std::int32_t>(count());
  for (const char is_held : all.held()) number.push_back(is_held != 0 ? -1 : next++);
  units_.resize(static_cast<std::size_t>(next));
  Level level{least, mesh::filled<std::int32_t>(static_cast<std::size_t>(space.dof_count()), -1)};
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    if (parts[cell] >= 0)
      for (const std::int32_t dof : space.dofs(cell))
        std::atomic_ref(level.of_dof[dof]).store(number[all.place(parts[cell])], std::memory_order_relaxed);
  share(level);
  levels_.push_back(std::move(level));
}

/// Makes parts consistent over processes: a dof is in a part if it is in one on any process that shares it.
void Conductors::share(Level& level) const {
  if (problem_->shared().is_alone()) return;
  mesh::Array<double> sum = mesh::array_of<double>(level.of_dof.size()), count = sum;
  operators::for_each_row(std::ssize(level.of_dof), [&](std::int64_t dof) {
    if (level.of_dof[dof] < 0) return;
    sum[dof] = level.of_dof[dof];
    count[dof] = 1;
  });
  problem_->shared().add_up(sum);
  problem_->shared().add_up(count);
  operators::for_each_row(std::ssize(level.of_dof), [&](std::int64_t dof) {
    if (count[dof] > 0) level.of_dof[dof] = static_cast<std::int32_t>(std::lround(sum[dof] / count[dof]));
  });
}

/// Computes A1_R of the parts of a level; cells where 1_R is constant contribute nothing.
void Conductors::add_rows(const Level& level) {
  operators::BilinearForm form = problem_->form();
  const mesh::FunctionSpace& space = *form.space;
  mesh::Array<double> own = mesh::array_of<double>(space.dof_count());  // of the part that contains the dof
  std::vector<Row> others;
  // Contribution of a facet or a cell: values at its dofs, for each of some parts.
  struct Terms {
    std::vector<std::int32_t> parts;
    std::vector<double> values;  // [parts][dofs]
  };
  const auto add = [&](std::span<const std::int32_t> dofs, const Terms& terms) {
    for (std::size_t k = 0; k < terms.values.size(); ++k) {
      const std::int32_t dof = dofs[k % dofs.size()], part = terms.parts[k / dofs.size()],
                         unknown = form.unknown_of_dof[dof];
      if (unknown < 0 || terms.values[k] == 0) continue;
      if (level.of_dof[dof] == part)
        own[dof] += terms.values[k];
      else
        others.push_back({unknown, part, terms.values[k]});
    }
  };
  // Parts at some dofs, ascending; -1 for dofs in no part.
  const auto parts_of = [&](std::span<const std::int32_t> dofs) {
    std::vector<std::int32_t> parts;
    for (const std::int32_t dof : dofs) parts.push_back(level.of_dof[dof]);
    std::ranges::sort(parts);
    parts.erase(std::ranges::unique(parts).begin(), parts.end());
    return parts;
  };
  const auto dofs_of_facet = [&](const operators::RobinFacet& robin) {
    std::vector<std::int32_t> dofs;
    for (const int a : space.facet_nodes(robin.facet)) dofs.push_back(space.dofs(robin.cell)[a]);
    return dofs;
  };

  std::vector<Terms> of_facets(form.robin.size());
  operators::for_each_facet(space, form.quadrature, form.robin.size(), [&](auto& facet, std::size_t k) {
    const operators::RobinFacet& robin = form.robin[k];
    const std::vector<std::int32_t> dofs = dofs_of_facet(robin);
    const std::vector<int>& nodes = space.facet_nodes(robin.facet);
    Terms& terms = of_facets[k];
    terms.parts = parts_of(dofs);
    std::erase(terms.parts, -1);
    if (terms.parts.empty()) return;
    facet.move_to({robin.cell, robin.facet});
    for (const std::int32_t part : terms.parts) {
      const std::size_t first = terms.values.size();
      terms.values.resize(first + dofs.size());
      for (int q = 0; q < facet.points(); ++q) {
        double one = 0;  // 1_R
        for (std::size_t b = 0; b < dofs.size(); ++b)
          if (level.of_dof[dofs[b]] == part) one += facet.values()(q, nodes[b]);
        for (std::size_t a = 0; a < dofs.size(); ++a)
          terms.values[first + a] += robin.transfer[q] * facet.measures()[q] * facet.values()(q, nodes[a]) * one;
      }
    }
  });
  for (std::size_t k = 0; k < of_facets.size(); ++k) add(dofs_of_facet(form.robin[k]), of_facets[k]);
  of_facets = {};

  form.robin.clear();
  const auto cells = mesh::collect<std::int32_t>(form.cells(), [&](std::int64_t number, auto& found) {
    const auto cell = static_cast<std::int32_t>(number);
    const mesh::CellDofs dofs = space.dofs(cell);
    const std::int32_t part = level.of_dof[dofs[0]];
    if (std::ranges::any_of(dofs, [&](std::int32_t dof) { return level.of_dof[dof] != part; })) found.push_back(cell);
  });
  const auto dofs_of_cell = [&](std::int32_t cell) {
    const mesh::CellDofs dofs = space.dofs(cell);
    return std::vector<std::int32_t>(dofs.begin(), dofs.end());
  };
  std::vector<Terms> of_cells(cells.size());
  mesh::parallel_for(
      cells.size(), [&] { return operators::CellEvaluator(form); },
      [&](operators::CellEvaluator& evaluator, std::size_t k) {
        const std::vector<std::int32_t> dofs = dofs_of_cell(cells[k]);
        Terms& terms = of_cells[k];
        terms.parts = parts_of(dofs);
        std::erase(terms.parts, -1);
        terms.values.resize(terms.parts.size() * dofs.size());
        std::vector<double> ones(dofs.size());
        evaluator.move_to(cells[k]);
        for (std::size_t n = 0; n < terms.parts.size(); ++n) {
          std::ranges::transform(dofs, ones.begin(),
                                 [&](std::int32_t dof) { return level.of_dof[dof] == terms.parts[n] ? 1.0 : 0.0; });
          evaluator.apply(ones, std::span(terms.values).subspan(n * dofs.size(), dofs.size()));
        }
      });
  for (std::size_t k = 0; k < cells.size(); ++k) add(dofs_of_cell(cells[k]), of_cells[k]);

  for (std::size_t dof = 0; dof < own.size(); ++dof) {
    if (own[dof] == 0) continue;
    rows_.push_back({form.unknown_of_dof[dof], level.of_dof[dof], own[dof]});
    units_[level.of_dof[dof]] += own[dof];
  }
  rows_.insert(rows_.end(), others.begin(), others.end());
}

std::vector<double> Conductors::sums(std::span<const double> v) const {
  return sums_over_dofs([&](std::size_t dof, std::vector<double>& sums) {
    for (const Level& level : levels_)
      if (level.of_dof[dof] >= 0 && problem_->shared().owns(static_cast<std::int32_t>(dof)))
        sums[level.of_dof[dof]] += v[problem_->form().unknown_of_dof[dof]];
  });
}

void Conductors::mark(std::vector<char>& unknowns) const {
  for (const Level& level : levels_)
#pragma omp parallel for schedule(static)
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
#pragma omp parallel for schedule(static)
    for (std::size_t dof = 0; dof < levels_[k].of_dof.size(); ++dof)
      if (const std::int32_t part = levels_[k].of_dof[dof]; part >= 0 && part == best_part(dof))
        v[form.unknown_of_dof[dof]] += (sums[part] - now[part]) / counts_[part];
  }
}

}  // namespace femcg::solver
