#include "solver/measures/measure.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "mesh/base/first_failure.hpp"
#include "operators/backend/memory.hpp"
#include "operators/forms/cells_at_points.hpp"

namespace femcg::solver {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

GroupQuantities nothing_of_group() {
  GroupQuantities none_yet;
  none_yet.minimum = std::numeric_limits<double>::infinity();
  none_yet.maximum = -none_yet.minimum;
  return none_yet;
}

/// Quantities of some facets; `mean` is still an integral.
GroupQuantities measure_facets(std::span<const mesh::BoundaryFacet> facets, const Problem& problem,
                               const BoundaryFlux& flux, std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto& boundary = problem.boundary();
  GroupQuantities sum = nothing_of_group();
  for (const mesh::BoundaryFacet wanted : facets) {
    const auto entry = std::lower_bound(boundary.begin(), boundary.end(), wanted,
                                        [](const ConditionedFacet& a, mesh::BoundaryFacet b) {
                                          return std::pair{a.facet.cell, a.facet.facet} < std::pair{b.cell, b.facet};
                                        });
    const std::size_t facet = entry - boundary.begin();
    sum.area += flux.area(facet);
    sum.mean += flux.integral(facet);
    sum.flux += flux.inflow(facet);
    sum.gradient_flux += flux.of_gradient(facet);
    const auto of_cell = space.dofs(wanted.cell);
    for (const int a : space.facet_nodes(wanted.facet)) {
      const double u = dofs[of_cell[a]];
      sum.minimum = std::min(sum.minimum, u);
      sum.maximum = std::max(sum.maximum, u);
    }
  }
  return sum;
}

/// Quantities of the group's facets on this process, summed in blocks: the same for any number of threads.
GroupQuantities measure_group(std::span<const mesh::BoundaryFacet> group, const Problem& problem,
                              const BoundaryFlux& flux, std::span<const double> dofs) {
  constexpr std::size_t block = 1024;
  std::vector<GroupQuantities> parts((group.size() + block - 1) / block);
  mesh::parallel_for(parts.size(), [&](std::size_t b) {
    const std::size_t first = b * block;
    parts[b] = measure_facets(group.subspan(first, std::min(block, group.size() - first)), problem, flux, dofs);
  });
  GroupQuantities sum = nothing_of_group();
  for (const GroupQuantities& part : parts) {
    sum.area += part.area;
    sum.mean += part.mean;
    sum.flux += part.flux;
    sum.gradient_flux += part.gradient_flux;
    sum.minimum = std::min(sum.minimum, part.minimum);
    sum.maximum = std::max(sum.maximum, part.maximum);
  }
  return sum;
}

/// Quantities of a group over all processes.
GroupQuantities whole_group(const GroupQuantities& here, const operators::SharedDofs& shared) {
  std::array sums{here.area, here.mean, here.flux, here.gradient_flux};
  shared.sum(sums);
  GroupQuantities all{sums[0], sums[1] / sums[0], shared.least(here.minimum), -shared.least(-here.maximum), sums[2],
                      sums[3]};
  if (all.minimum > all.maximum) all.mean = all.minimum = all.maximum = none;  // no facet
  return all;
}

/// Facets of this process with the condition on "all".
std::vector<mesh::BoundaryFacet> rest_of_boundary(const Problem& problem) {
  std::vector<mesh::BoundaryFacet> rest;
  for (const ConditionedFacet& at : problem.boundary())
    if (!at.insulated() && problem.data().boundary[at.condition].group == every_group) rest.push_back(at.facet);
  return rest;
}

void measure_boundary(const Problem& problem, std::span<const double> dofs, const BoundaryFlux& flux, Quantities& to) {
  const auto add = [&](const std::string& name, std::span<const mesh::BoundaryFacet> facets) {
    if (!problem.shared().any(!facets.empty())) return;  // it lies between cells
    const GroupQuantities measured = whole_group(measure_group(facets, problem, flux, dofs), problem.shared());
    to.groups[name] = measured;
    to.flux[name] = measured.flux;
  };
  for (const mesh::BoundaryGroup& group : problem.form().space->mesh().boundaries) add(group.name, group.facets);
  add(every_group, rest_of_boundary(problem));
  std::array<double, 2> moves{};
  for (std::size_t facet = 0; facet < problem.boundary().size(); ++facet) {
    const double inflow = flux.inflow(facet);
    moves[inflow > 0 ? 0 : 1] += std::abs(inflow);
  }
  problem.shared().sum(moves);
  to.balance.in = moves[0];
  to.balance.out = moves[1];
}

operators::Extremes extremes_of(std::span<const double> dofs) {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : greatest)
  for (std::size_t i = 0; i < dofs.size(); ++i) {
    least = std::min(least, dofs[i]);
    greatest = std::max(greatest, dofs[i]);
  }
  return {least, greatest};
}

/// Integrals of 1 and of u over some cells.
struct CellIntegrals {
  double volume = 0, u = 0;
};

Eigen::VectorXd cell_values(const mesh::FunctionSpace& space, std::int32_t cell, std::span<const double> dofs) {
  Eigen::VectorXd values(space.dofs_per_cell());
  const auto of_cell = space.dofs(cell);
  for (int a = 0; a < space.dofs_per_cell(); ++a) values[a] = dofs[of_cell[a]];
  return values;
}

/// Integrals of a few cells at a time. Has scratch memory: one per thread.
class CellMeasures {
 public:
  CellMeasures(const mesh::FunctionSpace& space, int quadrature, std::span<const double> dofs)
      : space_(&space),
        dofs_(dofs),
        basis_(space.basis(), quadrature),
        cells_(space.mesh(), quadrature),
        scratch_(static_cast<std::size_t>(basis_.scratch_size())),
        coefficients_(static_cast<std::size_t>(basis_.functions())),
        at_points_(static_cast<std::size_t>(cells_.points())),
        masses_(coefficients_.size()) {
    for (std::size_t q = 0; q < at_points_.size(); ++q)
      at_points_[q] = operators::CellLanes{} + cells_.weights()[static_cast<Eigen::Index>(q)];
    basis_.test_values(at_points_.data(), masses_.data(), scratch_.data());
  }

  /// Adds the integrals of the cells [first, last) to their regions.
  void add(std::int32_t first, std::int32_t last, std::span<CellIntegrals> regions) {
    for (std::int32_t cell = first; cell < last; cell += operators::cell_lanes)
      add_lanes(cell, std::min<std::int32_t>(operators::cell_lanes, last - cell), regions);
  }

 private:
  void add_lanes(std::int32_t first, int count, std::span<CellIntegrals> regions) {
    cells_.move_to(first, count, false);
    for (int lane = 0; lane < operators::cell_lanes; ++lane) {
      const auto of_cell = space_->dofs(cells_.cell(lane));
      for (std::size_t a = 0; a < coefficients_.size(); ++a) coefficients_[a][lane] = dofs_[of_cell[a]];
    }
    const std::span<const operators::CellLanes> measures = cells_.measures();
    operators::CellLanes volume{}, u{};
    for (const operators::CellLanes& measure : measures) volume += measure;
    if (cells_.affine()) {
      const double of_reference = cells_.weights().sum();
      for (std::size_t a = 0; a < masses_.size(); ++a) u += masses_[a] * coefficients_[a];
      u *= volume / of_reference;
    } else {
      basis_.values(coefficients_.data(), at_points_.data(), scratch_.data());
      for (std::size_t q = 0; q < measures.size(); ++q) u += measures[q] * at_points_[q];
    }
    for (int lane = 0; lane < count; ++lane) {
      CellIntegrals& sum = regions[space_->mesh().cell_regions[first + lane]];
      sum.volume += volume[lane];
      sum.u += u[lane];
    }
  }

  const mesh::FunctionSpace* space_;
  std::span<const double> dofs_;
  operators::PointTables basis_;
  operators::CellsAtPoints cells_;
  std::vector<operators::CellLanes> scratch_, coefficients_, at_points_;
  std::vector<operators::CellLanes> masses_;  ///< integrals of the basis functions over the reference cell
};

constexpr std::int32_t block_cells = 4096;

/// Integrals over blocks of cells, [blocks][regions]: their sums are the same for any number of threads. Each thread
/// uses its own object from make(), with add(first, last, regions).
template <class Make>
std::vector<CellIntegrals> integrals_of_blocks(const mesh::Mesh& mesh, const Make& make) {
  const std::size_t names = mesh.region_names.size();
  const std::int32_t cells = mesh.cell_count(), blocks = cells / block_cells + (cells % block_cells > 0 ? 1 : 0);
  std::vector<CellIntegrals> parts(static_cast<std::size_t>(blocks) * names);
  mesh::parallel_for(blocks, make, [&](auto& adder, std::int32_t block) {
    const std::int32_t first = block * block_cells;
    adder.add(first, first + std::min(block_cells, cells - first),
              std::span(parts).subspan(static_cast<std::size_t>(block) * names, names));
  });
  return parts;
}

/// Integrals that a GPU has computed, [cells][2].
struct FoundIntegrals {
  const mesh::Mesh* mesh;
  std::span<const double> of_cells;

  void add(std::int32_t first, std::int32_t last, std::span<CellIntegrals> regions) const {
    for (std::int32_t cell = first; cell < last; ++cell) {
      CellIntegrals& sum = regions[mesh->cell_regions[cell]];
      sum.volume += of_cells[2 * static_cast<std::size_t>(cell)];
      sum.u += of_cells[2 * static_cast<std::size_t>(cell) + 1];
    }
  }
};

std::vector<CellIntegrals> integrals_of_blocks(const Problem& problem, std::span<const double> dofs,
                                               const operators::FunctionOnGpu* on_gpu) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const int quadrature = problem.form().quadrature;
  if (on_gpu == nullptr)
    return integrals_of_blocks(space.mesh(), [&] { return CellMeasures(space, quadrature, dofs); });
  const std::vector<double> found = operators::cuda_integrals(*on_gpu);
  return integrals_of_blocks(space.mesh(), [&] { return FoundIntegrals{&space.mesh(), found}; });
}

/// Computes quantities of regions, the integral, and the sources.
void measure_cells(const Problem& problem, const Load& load, std::span<const CellIntegrals> parts, Quantities& to) {
  const mesh::Mesh& mesh = problem.form().space->mesh();
  const std::size_t names = mesh.region_names.size();
  std::vector<double> sums(2 * names + 2);  // volume and integral of each region, sources, sinks
  for (std::size_t k = 0; k < parts.size(); ++k) {
    sums[2 * (k % names)] += parts[k].volume;
    sums[2 * (k % names) + 1] += parts[k].u;
  }
  sums[2 * names] = load.sources();
  sums[2 * names + 1] = load.sinks();
  problem.shared().sum(sums);
  to.balance.sources = sums[2 * names];
  to.balance.sinks = sums[2 * names + 1];
  (load.added_source() > 0 ? to.balance.sources : to.balance.sinks) += std::abs(load.added_source());
  for (std::size_t r = 0; r < names; ++r) {
    const double volume = sums[2 * r], integral = sums[2 * r + 1];
    to.integral += integral;
    to.regions[mesh.region_names[r]] = {volume, volume > 0 ? integral / volume : none};
  }
}

}  // namespace

std::optional<operators::FunctionOnGpu> function_on_gpu(const Problem& problem, operators::Device device) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const int quadrature = problem.form().quadrature;
  const bool goes = device == operators::Device::cuda && operators::FunctionOnGpu::pays(space) &&
                    operators::FunctionOnGpu::bytes(space, quadrature) <= operators::available_bytes(device);
  return goes ? std::optional<operators::FunctionOnGpu>(std::in_place, space, quadrature) : std::nullopt;
}

Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs,
                   const BoundaryFlux& flux, const operators::FunctionOnGpu* on_gpu) {
  const mesh::FunctionSpace& space = *problem.form().space;
  Quantities quantities;
  const operators::Extremes extremes = on_gpu != nullptr ? operators::cuda_extremes(*on_gpu) : extremes_of(dofs);
  quantities.minimum = problem.shared().least(extremes.least);
  quantities.maximum = -problem.shared().least(-extremes.greatest);
  measure_cells(problem, load, integrals_of_blocks(problem, dofs, on_gpu), quantities);
  measure_boundary(problem, dofs, flux, quantities);
  for (const auto& [name, location] : probes) {
    double value = 0;
    if (location)
      value = (space.basis().values(
                   Eigen::Map<const Eigen::VectorXd>(location->coordinates.data(), space.mesh().dimension())) *
               cell_values(space, location->cell, dofs))(0);
    quantities.probes.emplace_back(name, problem.shared().sum(value));
  }
  if (problem.data().symmetry > 1) quantities.multiply_sums(problem.data().symmetry);
  return quantities;
}

void Quantities::multiply_sums(double factor) {
  integral *= factor;
  for (auto& [name, inflow] : flux) inflow *= factor;
  for (auto& [name, group] : groups)
    for (double* each : {&group.area, &group.flux, &group.gradient_flux}) *each *= factor;
  for (auto& [name, region] : regions) region.volume *= factor;
  for (double* each : {&balance.in, &balance.out, &balance.sources, &balance.sinks}) *each *= factor;
}

}  // namespace femcg::solver
