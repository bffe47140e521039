#include "solver/problem/make_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "mesh/box/box.hpp"
#include "mesh/box/box_part.hpp"
#include "mesh/cell_quality.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/refinement_limit.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/cache_folder.hpp"
#include "solver/problem/cached_mesh.hpp"

namespace femcg::solver {

namespace {

/// Warns about flat cells; all cells of a box are alike, so one of them decides.
void note_flat_cells(mesh::BoxOptions box, mesh::Mesh& mesh) {
  if (mesh::is_tensor(box.shape)) return;
  for (std::size_t axis = 0; axis < 3; ++axis) box.size[axis] /= box.cells[axis];
  box.cells = {1, 1, 1};
  box.distort = 0;
  constexpr double flat = 5;
  double smallest = 180;
  for (const mesh::CellQuality& quality : mesh::cell_qualities(mesh::make_box(box)))
    smallest = std::min(smallest, quality.smallest_angle);
  if (smallest < flat)
    mesh.warnings.push_back(fmt::format(
        "the cells of the box are flat, with angles of {:.2g} degrees: CG takes many times the iterations that "
        "it takes with cells as high as they are wide",
        smallest));
}

/// Mesh before the remaining refinements.
mesh::Mesh generate(const MeshChoice& choice) {
  if (std::holds_alternative<mesh::BoxOptions>(choice.source)) {
    const mesh::BoxOptions box = unrefined_box(choice).box;
    mesh::Mesh mesh = mesh::implicit_box(box);
    note_flat_cells(box, mesh);
    return mesh;
  }
  mesh::GmshOptions file = std::get<mesh::GmshOptions>(choice.source);
  file.refine -= refinements_left(choice);
  return mesh::read_gmsh(file);
}

/// Throws if the remaining refinements make too many cells.
void check_refinements_left(const MeshChoice& choice, const mesh::Mesh& mesh) {
  try {
    mesh::check_refinement(mesh.cell_count(), mesh.dimension(), refinements_left(choice));
  } catch (const std::runtime_error& error) {
    const auto* file = std::get_if<mesh::GmshOptions>(&choice.source);
    throw std::runtime_error((file != nullptr ? file->file.string() + ": " : "") + error.what());
  }
}

bool follows_curve(const MeshChoice& choice) {
  const bool from_file = std::holds_alternative<mesh::GmshOptions>(choice.source);
  return choice.cell_order == CellOrder::curve || (choice.cell_order == CellOrder::automatic && from_file);
}

/// Makes a mesh, or a part of one, that of a body of revolution if the case asks for it. Throws InputError if it is not
/// in the half plane x >= 0.
void set_axisymmetric(const MeshChoice& choice, mesh::Mesh& mesh) {
  mesh.axisymmetric = choice.axisymmetric;
  if (!mesh.axisymmetric) return;
  if (mesh.dimension() != 2)
    throw InputError(at_place(choice.place,
                              "geometry: axisymmetric needs a plane mesh, of x, the distance from the "
                              "axis, and y along it; this one is in space"));
  constexpr double rounding = 1e-9;
  const mesh::Extent extent = mesh::extent_of(mesh);
  if (const double x = extent.low[0]; x < -rounding * (extent.high[0] - x))
    throw InputError(at_place(
        choice.place,
        fmt::format("geometry: axisymmetric needs x >= 0, the distance from the axis; the mesh begins at x = {:.6g}",
                    x)));
}

/// The same with cells in the order that the case asks for.
mesh::Mesh generate_in_order(const MeshChoice& choice) {
  mesh::Mesh mesh = generate(choice);
  if (follows_curve(choice)) mesh::order_cells_along_curve(mesh);
  return mesh;
}

/// Mesh of a geometry file, from the cache if possible.
mesh::Mesh keep(const MeshChoice& choice, const mesh::GmshOptions& options) {
  const std::filesystem::path folder = cache_folder();
  std::error_code ignored;
  std::ifstream stream;
  if (std::filesystem::is_regular_file(options.file, ignored)) stream.open(options.file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  if (folder.empty() || !stream.is_open() || stream.bad() || mesh::has_options_beside(options.file))
    return generate_in_order(choice);  // reports what is wrong with the file, or that its options are not read
  if (std::string why = why_not_cached(options.file, content); !why.empty()) {
    mesh::Mesh mesh = generate_in_order(choice);
    mesh.warnings.push_back(std::move(why));
    return mesh;
  }
  const std::string made_by = fmt::format("femcg {}, Gmsh {}, improved and split, order of cells {}\n", FEMCG_VERSION,
                                          mesh::gmsh_interface_version(), static_cast<int>(choice.cell_order));
  return cached_or_made(folder / "meshes", {made_by + mesh_options_text(choice), content},
                        [&] { return generate_in_order(choice); });
}

/// Calls make(), which makes a mesh; adds the case's place to its errors.
template <class Make>
auto placed_mesh(const MeshChoice& choice, const Make& make) {
  try {
    return make();
  } catch (const InputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(at_place(choice.place, error.what()));
  }
}

}  // namespace

UnrefinedBox unrefined_box(const MeshChoice& choice) {
  const auto& box = std::get<mesh::BoxOptions>(choice.source);
  if (const auto fine = mesh::refined_box(box, choice.refine)) return {*fine, 0};
  return {box, choice.refine};
}

int refinements_left(const MeshChoice& choice) {
  if (std::holds_alternative<mesh::BoxOptions>(choice.source)) return unrefined_box(choice).refinements;
  const auto* file = std::get_if<mesh::GmshOptions>(&choice.source);
  return mesh::has_mesh_ending(file->file) ? choice.refine : 0;
}

void validate_box(const MeshChoice& choice, mesh::Mesh& mesh) {
  const auto* box = std::get_if<mesh::BoxOptions>(&choice.source);
  if (box != nullptr && mesh.cell_count() > 0 && !mesh::is_valid_box(*box, choice.refine))
    placed_mesh(choice, [&] { mesh::validate(mesh); });
}

mesh::Mesh make_mesh(const MeshChoice& choice) {
  mesh::Mesh mesh = make_unrefined_mesh(choice);
  const int refinements = refinements_left(choice);
  for (int r = 0; r < refinements; ++r) mesh = mesh::refine(mesh);
  validate_box(choice, mesh);
  return mesh;
}

mesh::Mesh make_unrefined_mesh(const MeshChoice& choice) {
  return placed_mesh(choice, [&] {
    const auto* file = std::get_if<mesh::GmshOptions>(&choice.source);
    const bool kept = file != nullptr && choice.cache && !mesh::has_mesh_ending(file->file) &&
                      std::ranges::all_of(file->groups, [&](const auto& group) {  // its condition is known as text
                        return !group.second.where || choice.conditions.contains(group.first);
                      });
    mesh::Mesh mesh = kept ? keep(choice, *file) : generate_in_order(choice);
    mesh.follows_curve = follows_curve(choice);
    set_axisymmetric(choice, mesh);
    check_refinements_left(choice, mesh);
    return mesh;
  });
}

mesh::MeshPart make_box_part(const MeshChoice& choice, int rank, int processes) {
  return placed_mesh(choice, [&] {
    const auto [box, refinements] = unrefined_box(choice);
    mesh::MeshPart part = mesh::part_of_box(box, refinements, rank, processes);
    set_axisymmetric(choice, part.mesh);
    return part;
  });
}

mesh::FunctionSpace make_space(const mesh::Mesh& mesh, int degree, const Place& place) {
  try {
    return mesh::FunctionSpace(mesh, degree);
  } catch (const std::length_error& error) {
    throw InputError(at_place(place, error.what()));
  }
}

}  // namespace femcg::solver
