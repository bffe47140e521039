#include "operators/forms/congruence_classes.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/cell_diffusion.hpp"

namespace femcg::operators {

namespace {

/// Shapes of cells, with coordinates in multiples of a quantum of length.
class CellShapes {
 public:
  /// The quantum exceeds the rounding of coordinates that should be equal.
  explicit CellShapes(const mesh::Mesh& mesh)
      : mesh_(mesh),
        quantum_(16 * std::numeric_limits<double>::epsilon() * mesh::extent_of(mesh).largest_coordinate()),
        quanta_(1 / quantum_) {}

  std::uint64_t hash(std::int32_t cell, std::span<const double> diffusion) const {
    std::uint64_t mixed = std::bit_cast<std::uint64_t>(diffusion[0]);
    for (const double entry : diffusion.subspan(1))
      mixed = mixed * 0x9e3779b97f4a7c15U ^ std::bit_cast<std::uint64_t>(entry);
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
  /// The nearest integer, for numbers far below 2^52: faster than the C library's functions.
  static std::int64_t whole(double number) { return static_cast<std::int64_t>(std::nearbyint(number)); }

  const mesh::Mesh& mesh_;
  double quantum_, quanta_;
};

/// Numbers congruence classes in the order of their first cells, which are appended to `representatives`.
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
    // A new class; or a hash collision, where each cell of the second shape is a class of its own.
    representatives_.push_back(cell);
    return fresh;
  }

 private:
  std::span<const std::uint64_t> hashes_;
  std::vector<std::int32_t>& representatives_;
  std::unordered_map<std::uint64_t, std::int32_t> numbers_;
  std::int32_t last_ = -1;  ///< class found by the last cell's hash
  std::uint64_t last_hash_ = 0;
};

/// Estimate of the number of classes, by the distinct hashes in a fraction of all hash values: a class is in it with
/// all of its cells, or with none. The fraction has some 2,000 of `most` classes, so that the error is 2%.
template <class DiffusionOf>
double expected_classes(const CellShapes& shapes, const DiffusionOf& diffusion_of, std::int32_t cells,
                        std::int64_t most) {
  const std::uint64_t parts = std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(most / 2000, 1)));
  std::vector<std::uint64_t> hashes = mesh::collect<std::uint64_t>(cells, [&](std::int64_t i, auto& found) {
    const auto cell = static_cast<std::int32_t>(i);
    const std::uint64_t hash = shapes.hash(cell, diffusion_of(cell));
    if (hash % parts == 0) found.push_back(hash);
  });
  std::ranges::sort(hashes);
  const auto distinct = std::ranges::unique(hashes).begin() - hashes.begin();
  return static_cast<double>(parts) * static_cast<double>(distinct);
}

/// The diffusion of cells, one for all or [cells][entries].
class DiffusionOfCells {
 public:
  DiffusionOfCells(std::span<const double> values, int entries)
      : values_(values), entries_(static_cast<std::size_t>(entries)) {}

  std::span<const double> operator()(std::int32_t cell) const {
    return values_.subspan(values_.size() > entries_ ? static_cast<std::size_t>(cell) * entries_ : 0, entries_);
  }
  bool all_equal() const { return operators::all_equal(values_, static_cast<int>(entries_)); }

 private:
  std::span<const double> values_;
  std::size_t entries_;
};

/// Classes of a box mesh with one diffusion: one per cell of the rectangle or cuboid that repeats.
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

bool has_congruent_cells(const BilinearForm& form, std::int64_t most_classes) {
  if (!is_constant_in_cells(form)) return false;
  const mesh::Mesh& mesh = form.space->mesh();
  const std::vector<double> diffusion = diffusion_of_cells(form).values;
  const DiffusionOfCells diffusion_of(diffusion, form.diffusion.entries);
  if (mesh.is_uniform_box() && diffusion_of.all_equal()) return mesh::cells_per_cuboid(mesh.shape) <= most_classes;
  return expected_classes(CellShapes(mesh), diffusion_of, form.cells(), most_classes) <=
         static_cast<double>(most_classes);
}

std::optional<CongruenceClasses> find_congruence_classes(const BilinearForm& form, std::span<const double> diffusion,
                                                         std::int64_t most_classes) {
  const mesh::Mesh& mesh = form.space->mesh();
  const DiffusionOfCells diffusion_of(diffusion, form.diffusion.entries);
  if (mesh.is_uniform_box() && diffusion_of.all_equal()) return classes_of_box(mesh, most_classes);
  const CellShapes shapes(mesh);
  constexpr double surely = 1.25;  // far beyond the error of the estimate
  if (expected_classes(shapes, diffusion_of, form.cells(), most_classes) > surely * static_cast<double>(most_classes))
    return std::nullopt;
  mesh::Array<std::uint64_t> hashes = mesh::unset<std::uint64_t>(static_cast<std::size_t>(form.cells()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) hashes[cell] = shapes.hash(cell, diffusion_of(cell));

  const auto identical = [&](std::int32_t a, std::int32_t b) {
    return std::ranges::equal(diffusion_of(a), diffusion_of(b)) && shapes.same(a, b);
  };
  // Each thread numbers the classes of a contiguous range of cells; then these are matched.
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
