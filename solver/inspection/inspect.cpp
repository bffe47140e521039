#include "solver/inspection/inspect.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

#include "mesh/base/atomic_file.hpp"
#include "solver/inspection/drafted_groups.hpp"
#include "solver/inspection/inspection.hpp"
#include "solver/inspection/inspection_files.hpp"
#include "solver/inspection/inspection_text.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/results_folder.hpp"

namespace femcg::solver {

namespace {

mesh::EntityMesh read_entities(const Case& resolved) {
  const auto* file = std::get_if<mesh::GmshOptions>(&resolved.mesh.source);
  if (file == nullptr) return entities_of_groups(make_mesh(resolved.mesh));
  try {
    return mesh::read_gmsh_entities(*file);
  } catch (const std::runtime_error& error) {
    throw InputError(at_place(resolved.mesh.place, error.what()));
  }
}

std::string headline(const Case& resolved, const mesh::Mesh& mesh) {
  return fmt::format("{}: {} {}{} of order {}, {} nodes\n", resolved.name, grouped(mesh.cell_count()),
                     mesh::name(mesh.shape) == "tetrahedron"  ? "tetrahedra"
                     : mesh::name(mesh.shape) == "hexahedron" ? "hexahedra"
                                                              : mesh::name(mesh.shape),
                     mesh.dimension() == 2 ? "s" : "", mesh.order, grouped(mesh.node_count()));
}

}  // namespace

ExitStatus inspect_mesh(const Case& resolved, const Console& console) {
  prepare_directory(resolved.output.directory, {"cells.vtu", "faces.vtu"});
  Progress progress(console.progress);
  progress.step("meshing");
  const mesh::EntityMesh by_entity = read_entities(resolved);
  progress.step("measuring");
  const Inspection inspection = inspect(by_entity);
  progress.step("writing");
  mesh::FileGroup files(resolved.output.directory);
  files.add("cells.vtu", [&](std::ostream& stream) { write_cells(stream, by_entity, inspection); });
  files.add("faces.vtu", [&](std::ostream& stream) { write_faces(stream, by_entity); });
  files.put_in_place();
  progress.clear();
  for (const std::string& warning : by_entity.mesh.warnings) print_note(warning);
  if (console.quiet) return ExitStatus::done;
  std::string text = headline(resolved, by_entity.mesh) + to_text(inspection);
  text += fmt::format("\nto look at: {} and faces.vtu\n", (resolved.output.directory / "cells.vtu").string());
  if (inspection.dimension == 3)
    text += fmt::format("every face with its tag: femcg-plot {}\n", (resolved.output.directory / "faces.vtu").string());
  if (const auto* file = std::get_if<mesh::GmshOptions>(&resolved.mesh.source))
    if (const std::string draft = draft_of_groups(
            inspection,
            suggests_groups(file->file) ? drafted_groups(by_entity, inspection) : std::vector<DraftedGroup>(), *file);
        !draft.empty())
      text += "\n" + draft;
  print(text);
  return ExitStatus::done;
}

}  // namespace femcg::solver
