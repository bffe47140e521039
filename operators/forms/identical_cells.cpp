#include "operators/forms/identical_cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace femcg::operators {

namespace {

/// Shapes of cells in whole quanta of length.
class CellShapes {
 public:
  explicit CellShapes(const mesh::Mesh& mesh) : mesh_(mesh) {
    double largest = 0;
    for (const double coordinate : mesh.coordinates) largest = std::max(largest, std::abs(coordinate));
    // Coordinates that were meant to be one differ by a rounding or two.
    quantum_ = 16 * std::numeric_limits<double>::epsilon() * largest;
  }

  /// The difference between a node and the first, along one axis.
  double difference(std::int32_t cell, int node, int axis) const {
    const auto nodes = mesh_.nodes(cell);
    return mesh_.point(nodes[node])[axis] - mesh_.point(nodes[0])[axis];
  }

  std::uint64_t hash(std::int32_t cell, double diffusion) const {
    std::uint64_t mixed = std::bit_cast<std::uint64_t>(diffusion);
    for (int node = 1; node < mesh_.nodes_per_cell(); ++node)
      for (int axis = 0; axis < mesh_.dimension(); ++axis) {
        mixed ^= static_cast<std::uint64_t>(std::llround(difference(cell, node, axis) / quantum_));
        mixed *= 0x9e3779b97f4a7c15U;
        mixed ^= mixed >> 32;
      }
    return mixed;
  }

  bool same(std::int32_t a, std::int32_t b) const {
    for (int node = 1; node < mesh_.nodes_per_cell(); ++node)
      for (int axis = 0; axis < mesh_.dimension(); ++axis)
        if (std::abs(difference(a, node, axis) - difference(b, node, axis)) > quantum_) return false;
    return true;
  }

 private:
  const mesh::Mesh& mesh_;
  double quantum_;
};

}  // namespace

std::optional<IdenticalCells> find_identical_cells(const BilinearForm& form, std::span<const double> diffusion,
                                                   std::int64_t most_kinds) {
  const CellShapes shapes(form.space->mesh());
  const auto diffusion_of = [&](std::int32_t cell) { return diffusion[diffusion.size() > 1 ? cell : 0]; };
  std::vector<std::uint64_t> hashes(form.cells());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) hashes[cell] = shapes.hash(cell, diffusion_of(cell));

  IdenticalCells found;
  found.kind_of_cell.resize(form.cells());
  std::unordered_map<std::uint64_t, std::int32_t> kinds;
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const auto fresh = static_cast<std::int32_t>(found.representatives.size());
    std::int32_t kind = kinds.try_emplace(hashes[cell], fresh).first->second;
    // Two shapes with one hash: the second is a kind of its own, in each of its cells.
    if (kind < fresh && (!shapes.same(cell, found.representatives[kind]) ||
                         diffusion_of(cell) != diffusion_of(found.representatives[kind])))
      kind = fresh;
    if (kind == fresh) found.representatives.push_back(cell);
    if (static_cast<std::int64_t>(found.representatives.size()) > most_kinds) return std::nullopt;
    found.kind_of_cell[cell] = kind;
  }
  return found;
}

}  // namespace femcg::operators
