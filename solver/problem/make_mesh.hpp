#pragma once

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The mesh of a case: generated or read, refined, checked, its cells in the order that is asked for. Throws
/// InputError.
mesh::Mesh make_mesh(const MeshChoice& choice);

/// A box, and how often its mesh is still to be refined: 0 where that gives a box again (mesh::refined_box).
struct UnrefinedBox {
  mesh::BoxOptions box;
  int refinements;
};
UnrefinedBox unrefined_box(const MeshChoice& choice);

/// The mesh before `refinements_left` refinements: all of them for a mesh from a file, none for a geometry, whose mesh
/// Gmsh refines. Throws InputError where they would make too many cells.
mesh::Mesh make_unrefined_mesh(const MeshChoice& choice);
int refinements_left(const MeshChoice& choice);
/// Validates the mesh of a box, or a part of it: meshes from files are validated where they are read. Throws
/// InputError.
void validate_box(const MeshChoice& choice, mesh::Mesh& mesh);

/// The part of one of `processes` processes of a box's mesh, in blocks. Throws InputError.
mesh::MeshPart make_box_part(const MeshChoice& choice, int rank, int processes);

/// The Lagrange space of a degree on a mesh, which must outlive it. Throws InputError, with the place of the case's
/// mesh, where there are too many dofs.
mesh::FunctionSpace make_space(const mesh::Mesh& mesh, int degree, const Place& place);

}  // namespace femcg::solver
