#include "solver/preconditioners/gathered_box.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mesh/box_nodes.hpp"
#include "mesh/element/cell_shape.hpp"

namespace femcg::solver {

using mesh::GridIndex;
using operators::BilinearForm;
using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// Calls work(index) for all indices of a grid, x fastest.
template <class Work>
void for_grid(const GridIndex& count, const Work& work) {
  GridIndex at{};
  for (at[2] = 0; at[2] < count[2]; ++at[2])
    for (at[1] = 0; at[1] < count[1]; ++at[1])
      for (at[0] = 0; at[0] < count[0]; ++at[0]) work(std::as_const(at));
}
std::int64_t number(const GridIndex& at, const GridIndex& count) {
  return at[0] + std::int64_t{count[0]} * (at[1] + std::int64_t{count[1]} * at[2]);
}
GridIndex node_counts(const GatheredBox& box) {
  return {box.cells[0] + 1, box.cells[1] + 1, box.dimension == 3 ? box.cells[2] + 1 : 1};
}

/// Nodes along an axis that remain.
std::vector<std::int32_t> remaining(const std::vector<double>& positions, int ratio) {
  const auto last = static_cast<std::int32_t>(std::ssize(positions)) - 1;
  const MergedAxis axis = merged_axis(ratio, last, positions[1] - positions[0], positions[last] - positions[last - 1]);
  std::vector<std::int32_t> nodes;
  for (std::int32_t group = 0; group <= axis.groups(); ++group) nodes.push_back(axis.begin(group));
  return nodes;
}

/// The nodes between which a node lies along an axis, by their place among those that remain; equal if it remains.
struct Between {
  std::int32_t low, high;
};
std::vector<Between> places_between(const std::vector<std::int32_t>& remaining) {
  std::vector<Between> places;
  for (std::int32_t node = 0, next = 0; node <= remaining.back(); ++node) {
    if (remaining[next] < node) ++next;
    places.push_back({remaining[next] == node ? next : next - 1, next});
  }
  return places;
}

/// By axis, for each node.
using Places = std::array<std::vector<Between>, 3>;

/// Mean diffusion of merged cells, along each axis; empty if it differs too much among them.
std::optional<std::vector<double>> merged_diffusion(const GatheredBox& fine, const GridIndex& cells,
                                                    const Places& places) {
  const auto axes = static_cast<std::size_t>(fine.diffusion_axes),
             count = static_cast<std::size_t>(cells[0]) * cells[1] * cells[2] * axes;
  std::vector<double> least(count, std::numeric_limits<double>::infinity()), greatest(count, 0.0), sum(count, 0.0),
      members(count, 0.0);
  std::size_t next = 0;
  for_grid(fine.cells, [&](const GridIndex& at) {
    GridIndex in{};
    for (int axis = 0; axis < fine.dimension; ++axis) in[axis] = places[axis][at[axis] + 1].high - 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::size_t to = static_cast<std::size_t>(number(in, cells)) * axes + axis;
      const double value = fine.diffusion[next++];
      least[to] = std::min(least[to], value);
      greatest[to] = std::max(greatest[to], value);
      sum[to] += value;
      members[to] += 1;
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (greatest[i] > most_diffusion_ratio * least[i]) return std::nullopt;
    sum[i] /= members[i];
  }
  return sum;
}

/// Linear interpolation from the nodes that remain, [fine unknowns][coarse unknowns].
RectangularMatrix prolongation(const GatheredBox& fine, const GatheredBox& coarse, const Places& places) {
  const GridIndex of_fine = node_counts(fine), of_coarse = node_counts(coarse);
  std::vector<GridIndex> place_of_unknown;
  for_grid(of_fine, [&](const GridIndex& at) {
    const std::int32_t unknown = fine.unknown_of_node[number(at, of_fine)];
    if (unknown < 0) return;
    place_of_unknown.resize(std::max(place_of_unknown.size(), static_cast<std::size_t>(unknown) + 1));
    place_of_unknown[unknown] = at;
  });
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  RectangularMatrix p;
  p.rows = static_cast<std::int32_t>(std::ssize(place_of_unknown));
  p.columns = std::ranges::max(coarse.unknown_of_node) + 1;
  p.row_offsets = Vector<std::int64_t>(p.rows + std::int64_t{1});
  p.row_offsets[0] = 0;
  for (std::int32_t row = 0; row < p.rows; ++row) {
    std::array<Between, 3> between;
    GridIndex count{1, 1, 1};
    double weight = 1;
    for (int axis = 0; axis < 3; ++axis) {
      between[axis] = places[axis][place_of_unknown[row][axis]];
      count[axis] += between[axis].low < between[axis].high ? 1 : 0;
      weight /= count[axis];
    }
    for_grid(count, [&](const GridIndex& at) {
      const GridIndex corner{between[0].low + at[0], between[1].low + at[1], between[2].low + at[2]};
      const std::int32_t column = coarse.unknown_of_node[number(corner, of_coarse)];
      if (column < 0) return;
      columns.push_back(column);
      values.push_back(weight);
    });
    p.row_offsets[row + 1] = std::ssize(columns);
  }
  p.column = Vector<std::int32_t>(std::ssize(columns));
  p.value = Vector<double>(std::ssize(values));
  std::ranges::copy(columns, p.column.data());
  std::ranges::copy(values, p.value.data());
  return p;
}

}  // namespace

std::optional<GatheredBox> gathered_box(const BilinearForm& form, const PartOfForm& of) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (!mesh.box || !mesh::is_tensor(mesh.shape) || form.space->degree() != 1) return std::nullopt;
  const mesh::BoxNodes& part = *mesh.box;
  GatheredBox box;
  box.dimension = mesh.dimension();
  box.cells = part.of_box();
  const GridIndex nodes = node_counts(box);

  // Each process adds its own part of these numbers.
  std::vector<double> positions(static_cast<std::size_t>(nodes[0] + nodes[1] + nodes[2])), counts(positions.size());
  std::vector<double> unknowns(static_cast<std::size_t>(nodes[0]) * nodes[1] * nodes[2]);
  box.diffusion_axes = form.diffusion.is_tensor() ? box.dimension : 1;
  box.diffusion.resize(static_cast<std::size_t>(box.cell_count()) * box.diffusion_axes);
  const auto in_box = [&](GridIndex at) {
    for (int axis = 0; axis < box.dimension; ++axis) at[axis] += part.begin()[axis];
    return at;
  };
  if (!part.empty()) {
    for (int axis = 0, offset = 0; axis < box.dimension; offset += nodes[axis++])
      for (GridIndex at{}; at[axis] <= part.cells()[axis]; ++at[axis]) {
        positions[offset + in_box(at)[axis]] += mesh.point(part.node(at))[axis];
        counts[offset + in_box(at)[axis]] += 1;
      }
    const operators::IndexMap& map = of.subdomain->map;
    std::vector<std::int32_t> local(static_cast<std::size_t>(form.unknowns));
    for (std::int32_t i = 0; i < map.size(); ++i) local[map.unknowns[i]] = i;
    std::int32_t cell = 0;
    for_grid(part.cells(), [&](const GridIndex& at) {
      const operators::DiffusionValue value = diffusion_at_centre(form, cell);
      for (int axis = 0; axis < box.diffusion_axes; ++axis)
        box.diffusion[std::size_t(number(in_box(at), box.cells)) * box.diffusion_axes + axis] =
            operators::along_axis(value.entries.data(), form.diffusion.entries, axis);
      form.for_nodes(cell, [&](int corner, std::int32_t unknown) {
        if (unknown < 0 || local[unknown] >= map.owned) return;
        GridIndex node = in_box(at);
        for (int axis = 0; axis < 3; ++axis) node[axis] += corner >> axis & 1;
        unknowns[number(node, nodes)] = static_cast<double>(map.numbers[local[unknown]] + 1);
      });
      ++cell;
    });
  }
  for (std::vector<double>* each : {&positions, &counts, &unknowns, &box.diffusion}) of.processes->sum(*each);

  for (int axis = 0, offset = 0; axis < box.dimension; offset += nodes[axis++])
    for (int i = offset; i < offset + nodes[axis]; ++i) box.positions[axis].push_back(positions[i] / counts[i]);
  box.unknown_of_node.reserve(unknowns.size());
  for (const double each : unknowns) box.unknown_of_node.push_back(static_cast<std::int32_t>(each) - 1);
  return box;
}

std::optional<MergedBox> merged(const GatheredBox& fine) {
  std::array<double, 3> step{};
  for (int axis = 0; axis < fine.dimension; ++axis) {
    step[axis] = (fine.positions[axis].back() - fine.positions[axis].front()) / fine.cells[axis];
    if (fine.diffusion_axes == 1) continue;
    double along = 0;
    for (std::size_t i = axis; i < fine.diffusion.size(); i += fine.diffusion_axes) along += fine.diffusion[i];
    step[axis] /= std::sqrt(along);
  }
  const std::array<int, 3> ratio = merging_ratios(step, fine.cells, fine.dimension);
  if (ratio == std::array{1, 1, 1}) return std::nullopt;

  MergedBox result;
  GatheredBox& coarse = result.box;
  coarse.dimension = fine.dimension;
  coarse.diffusion_axes = fine.diffusion_axes;
  std::array<std::vector<std::int32_t>, 3> remain{{{0}, {0}, {0}}};
  Places places{{{{0, 0}}, {{0, 0}}, {{0, 0}}}};
  for (int axis = 0; axis < fine.dimension; ++axis) {
    remain[axis] = remaining(fine.positions[axis], ratio[axis]);
    places[axis] = places_between(remain[axis]);
    coarse.cells[axis] = static_cast<std::int32_t>(std::ssize(remain[axis])) - 1;
    for (const std::int32_t node : remain[axis]) coarse.positions[axis].push_back(fine.positions[axis][node]);
  }

  std::optional<std::vector<double>> diffusion = merged_diffusion(fine, coarse.cells, places);
  if (!diffusion) return std::nullopt;
  coarse.diffusion = std::move(*diffusion);

  const GridIndex of_fine = node_counts(fine), of_coarse = node_counts(coarse);
  std::int32_t unknowns = 0;
  for_grid(of_coarse, [&](const GridIndex& at) {
    const GridIndex on_fine{remain[0][at[0]], remain[1][at[1]], remain[2][at[2]]};
    const bool is_unknown = fine.unknown_of_node[number(on_fine, of_fine)] >= 0;
    coarse.unknown_of_node.push_back(is_unknown ? unknowns++ : -1);
  });
  if (unknowns == 0) return std::nullopt;

  result.prolongation = prolongation(fine, coarse, places);
  return result;
}

}  // namespace femcg::solver
