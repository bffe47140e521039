#include "operators/forms/identical_cells.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <unordered_map>

#include "mesh/first_failure.hpp"
#include "mesh/pages.hpp"

namespace femcg::operators {

namespace {

/// Shapes of cells in whole quanta of length.
class CellShapes {
 public:
  explicit CellShapes(const mesh::Mesh& mesh) : mesh_(mesh) {
    double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (std::size_t i = 0; i < mesh.coordinates.size(); ++i)
      largest = std::max(largest, std::abs(mesh.coordinates[i]));
    // Coordinates that were meant to be one differ by a rounding or two.
    quantum_ = 16 * std::numeric_limits<double>::epsilon() * largest;
    quanta_ = 1 / quantum_;
  }

  std::uint64_t hash(std::int32_t cell, double diffusion) const {
    std::uint64_t mixed = std::bit_cast<std::uint64_t>(diffusion);
    const int d = mesh_.dimension();
    const auto nodes = mesh_.nodes(cell);
    const double* origin = mesh_.point(nodes[0]);
    for (std::size_t node = 1; node < nodes.size(); ++node) {
      const double* at = mesh_.point(nodes[node]);
      for (int axis = 0; axis < d; ++axis) {
        mixed ^= static_cast<std::uint64_t>(whole((at[axis] - origin[axis]) * quanta_));
        mixed *= 0x9e3779b97f4a7c15U;
        mixed ^= mixed >> 32;
      }
    }
    return mixed;
  }

  bool same(std::int32_t a, std::int32_t b) const {
    const int d = mesh_.dimension();
    const auto of_a = mesh_.nodes(a), of_b = mesh_.nodes(b);
    const double *origin_a = mesh_.point(of_a[0]), *origin_b = mesh_.point(of_b[0]);
    for (std::size_t node = 1; node < of_a.size(); ++node) {
      const double *at_a = mesh_.point(of_a[node]), *at_b = mesh_.point(of_b[node]);
      for (int axis = 0; axis < d; ++axis)
        if (std::abs((at_a[axis] - origin_a[axis]) - (at_b[axis] - origin_b[axis])) > quantum_) return false;
    }
    return true;
  }

 private:
  /// The nearest whole number, for what is far below 2^52: faster than the C library's.
  static std::int64_t whole(double number) { return static_cast<std::int64_t>(std::nearbyint(number)); }

  const mesh::Mesh& mesh_;
  double quantum_, quanta_;
};

/// Numbers kinds of cells as they are met, a representative of each at the end of a list.
class KindsOfCells {
 public:
  KindsOfCells(std::span<const std::uint64_t> hashes, std::vector<std::int32_t>& representatives)
      : hashes_(hashes), representatives_(representatives) {}

  std::int64_t count() const { return static_cast<std::int64_t>(representatives_.size()); }
  template <class Identical>
  std::int32_t number(std::int32_t cell, const Identical& identical) {
    const auto fresh = static_cast<std::int32_t>(representatives_.size());
    if (last_ < 0 || hashes_[cell] != last_hash_) {
      last_ = numbers_.try_emplace(hashes_[cell], fresh).first->second;
      last_hash_ = hashes_[cell];
    }
    if (last_ < fresh && identical(cell, representatives_[last_])) return last_;
    // New; or of two shapes with one hash the second, which is a kind of its own in each of its cells.
    representatives_.push_back(cell);
    return fresh;
  }

 private:
  std::span<const std::uint64_t> hashes_;
  std::vector<std::int32_t>& representatives_;
  std::unordered_map<std::uint64_t, std::int32_t> numbers_;
  std::int32_t last_ = -1;  ///< the kind that the last cell's hash led to
  std::uint64_t last_hash_ = 0;
};

/// Whether a few cells tell that there are more kinds than `most`. Of m distinct ones drawn from N cells of K kinds,
/// m^2 / 2 (1 / K - 1 / N) pairs are alike in the mean, or more, about; where 500 or more are expected and less than
/// three quarters of them are met, there are more kinds but for one draw in 10^7. So of a mesh refined uniformly, which
/// has some cells of each kind.
template <class DiffusionOf>
bool surely_more_kinds(const CellShapes& shapes, const DiffusionOf& diffusion_of, std::int32_t cells,
                       std::int64_t most) {
  constexpr double wanted = 1000, enough = 500;  // pairs
  const auto draws = static_cast<std::int64_t>(std::sqrt(2 * wanted * static_cast<double>(most))) + 1;
  if (draws > cells / 4) return false;  // hardly less than all
  std::vector<std::int32_t> drawn;
  std::minstd_rand random;  // the same cells in every run
  for (std::int64_t k = 0; k < draws; ++k) drawn.push_back(static_cast<std::int32_t>(random() % cells));
  std::ranges::sort(drawn);
  drawn.erase(std::ranges::unique(drawn).begin(), drawn.end());
  const auto m = static_cast<double>(drawn.size());
  const double expected = m * m / 2 * (1 / static_cast<double>(most) - 1 / static_cast<double>(cells));
  if (expected < enough) return false;
  std::vector<std::uint64_t> hashes;
  for (const std::int32_t cell : drawn) hashes.push_back(shapes.hash(cell, diffusion_of(cell)));
  std::ranges::sort(hashes);
  std::int64_t pairs = 0;
  for (std::size_t k = 1, alike = 0; k < hashes.size(); ++k) {
    alike = hashes[k] == hashes[k - 1] ? alike + 1 : 0;
    pairs += static_cast<std::int64_t>(alike);
  }
  return static_cast<double>(pairs) < 0.75 * expected;
}

}  // namespace

std::optional<IdenticalCells> find_identical_cells(const BilinearForm& form, std::span<const double> diffusion,
                                                   std::int64_t most_kinds) {
  const CellShapes shapes(form.space->mesh());
  const auto diffusion_of = [&](std::int32_t cell) { return diffusion[diffusion.size() > 1 ? cell : 0]; };
  if (surely_more_kinds(shapes, diffusion_of, form.cells(), most_kinds)) return std::nullopt;
  mesh::Array<std::uint64_t> hashes = mesh::unset<std::uint64_t>(static_cast<std::size_t>(form.cells()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) hashes[cell] = shapes.hash(cell, diffusion_of(cell));

  const auto identical = [&](std::int32_t a, std::int32_t b) {
    return diffusion_of(a) == diffusion_of(b) && shapes.same(a, b);
  };
  // Each thread finds the kinds of some cells in succession, and then these are compared.
  const int parts = omp_get_max_threads();
  const auto first_of = [&](int part) { return static_cast<std::int32_t>(std::int64_t{form.cells()} * part / parts); };
  IdenticalCells found;
  found.kind_of_cell = mesh::filled<std::int32_t>(static_cast<std::size_t>(form.cells()));
  std::vector<std::vector<std::int32_t>> of_part(static_cast<std::size_t>(parts));
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(static)
  for (int part = 0; part < parts; ++part)
    failure.guard(part, [&] {
      KindsOfCells kinds(hashes, of_part[static_cast<std::size_t>(part)]);
      for (std::int32_t cell = first_of(part); cell < first_of(part + 1); ++cell) {
        found.kind_of_cell[cell] = kinds.number(cell, identical);
        if (kinds.count() > most_kinds) return;
      }
    });
  failure.rethrow();
  KindsOfCells kinds(hashes, found.representatives);
  std::vector<std::vector<std::int32_t>> number_of_kind(static_cast<std::size_t>(parts));
  for (std::size_t part = 0; part < of_part.size(); ++part) {
    if (static_cast<std::int64_t>(of_part[part].size()) > most_kinds) return std::nullopt;
    for (const std::int32_t cell : of_part[part]) number_of_kind[part].push_back(kinds.number(cell, identical));
    if (kinds.count() > most_kinds) return std::nullopt;
  }
#pragma omp parallel for schedule(static)
  for (int part = 0; part < parts; ++part)
    for (std::int32_t cell = first_of(part); cell < first_of(part + 1); ++cell)
      found.kind_of_cell[cell] = number_of_kind[static_cast<std::size_t>(part)][found.kind_of_cell[cell]];
  return found;
}

}  // namespace femcg::operators
