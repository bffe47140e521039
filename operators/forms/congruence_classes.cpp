#include "operators/forms/congruence_classes.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <unordered_map>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/cell_diffusion.hpp"

namespace femcg::operators {

namespace {

/// Shapes of cells in whole quanta of length.
class CellShapes {
 public:
  /// Coordinates that were meant to be one differ by a rounding or two.
  explicit CellShapes(const mesh::Mesh& mesh)
      : mesh_(mesh),
        quantum_(16 * std::numeric_limits<double>::epsilon() * mesh::extent_of(mesh).largest_coordinate()),
        quanta_(1 / quantum_) {}

  std::uint64_t hash(std::int32_t cell, double diffusion) const {
    std::uint64_t mixed = std::bit_cast<std::uint64_t>(diffusion);
    const int d = mesh_.dimension();
    mesh::CellPoints points;
    mesh_.write_points(cell, points.data());
    const double* const origin = points.data();
    for (int node = 1; node < mesh_.nodes_per_cell(); ++node) {
      const double* const at = origin + node * d;
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
    mesh::CellPoints of_a, of_b;
    mesh_.write_points(a, of_a.data());
    mesh_.write_points(b, of_b.data());
    for (int i = d; i < mesh_.nodes_per_cell() * d; ++i)
      if (std::abs((of_a[i] - of_a[i % d]) - (of_b[i] - of_b[i % d])) > quantum_) return false;
    return true;
  }

 private:
  /// The nearest whole number, for what is far below 2^52: faster than the C library's.
  static std::int64_t whole(double number) { return static_cast<std::int64_t>(std::nearbyint(number)); }

  const mesh::Mesh& mesh_;
  double quantum_, quanta_;
};

/// Numbers congruence classes of cells as they are met, a representative of each at the end of a list.
class ClassesOfCells {
 public:
  ClassesOfCells(std::span<const std::uint64_t> hashes, std::vector<std::int32_t>& representatives)
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
bool surely_more_classes(const CellShapes& shapes, const DiffusionOf& diffusion_of, std::int32_t cells,
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

/// With one diffusion: as many kinds as cells make up a rectangle or cuboid.
std::optional<CongruenceClasses> classes_of_box(const mesh::Mesh& mesh, std::int64_t most_classes) {
  const std::int32_t classes = mesh::cells_per_cuboid(mesh.shape);
  if (classes > most_classes) return std::nullopt;
  CongruenceClasses found;
  found.class_of_cell = mesh::filled<std::int32_t>(static_cast<std::size_t>(mesh.cell_count()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) found.class_of_cell[cell] = cell % classes;
  for (std::int32_t kind = 0; kind < std::min(classes, mesh.cell_count()); ++kind)
    found.representatives.push_back(kind);
  return found;
}

}  // namespace

std::optional<CongruenceClasses> find_congruence_classes(const BilinearForm& form, std::span<const double> diffusion,
                                                         std::int64_t most_classes) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (mesh.is_uniform_box() && all_equal(diffusion)) return classes_of_box(mesh, most_classes);
  const CellShapes shapes(mesh);
  const auto diffusion_of = [&](std::int32_t cell) { return diffusion[diffusion.size() > 1 ? cell : 0]; };
  if (surely_more_classes(shapes, diffusion_of, form.cells(), most_classes)) return std::nullopt;
  mesh::Array<std::uint64_t> hashes = mesh::unset<std::uint64_t>(static_cast<std::size_t>(form.cells()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) hashes[cell] = shapes.hash(cell, diffusion_of(cell));

  const auto identical = [&](std::int32_t a, std::int32_t b) {
    return diffusion_of(a) == diffusion_of(b) && shapes.same(a, b);
  };
  // Each thread finds the kinds of some cells in succession, and then these are compared.
  const int parts = omp_get_max_threads();
  const auto first_of = [&](int part) { return static_cast<std::int32_t>(std::int64_t{form.cells()} * part / parts); };
  CongruenceClasses found;
  found.class_of_cell = mesh::filled<std::int32_t>(static_cast<std::size_t>(form.cells()));
  std::vector<std::vector<std::int32_t>> of_part(static_cast<std::size_t>(parts));
  mesh::parallel_for(parts, [&](int part) {
    ClassesOfCells classes(hashes, of_part[static_cast<std::size_t>(part)]);
    for (std::int32_t cell = first_of(part); cell < first_of(part + 1); ++cell) {
      found.class_of_cell[cell] = classes.number(cell, identical);
      if (classes.count() > most_classes) return;
    }
  });
  ClassesOfCells classes(hashes, found.representatives);
  std::vector<std::vector<std::int32_t>> number_of_kind(static_cast<std::size_t>(parts));
  for (std::size_t part = 0; part < of_part.size(); ++part) {
    if (static_cast<std::int64_t>(of_part[part].size()) > most_classes) return std::nullopt;
    for (const std::int32_t cell : of_part[part]) number_of_kind[part].push_back(classes.number(cell, identical));
    if (classes.count() > most_classes) return std::nullopt;
  }
#pragma omp parallel for schedule(static)
  for (int part = 0; part < parts; ++part)
    for (std::int32_t cell = first_of(part); cell < first_of(part + 1); ++cell)
      found.class_of_cell[cell] = number_of_kind[static_cast<std::size_t>(part)][found.class_of_cell[cell]];
  return found;
}

}  // namespace femcg::operators
