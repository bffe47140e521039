#pragma once

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// Mesh of a case: generated or read, refined, checked, with cells in the requested order. Throws InputError.
mesh::Mesh make_mesh(const MeshChoice& choice);

/// A box and the number of refinements of its mesh still to be made: 0 if the refined mesh is a box again
/// (mesh::refined_box).
struct UnrefinedBox {
  mesh::BoxOptions box;
  int refinements;
};
UnrefinedBox unrefined_box(const MeshChoice& choice);

/// Mesh before `refinements_left` refinements: all of them for a mesh file, none for a geometry, whose mesh Gmsh
/// refines. Throws InputError if the refined mesh would have too many cells.
mesh::Mesh make_unrefined_mesh(const MeshChoice& choice);
int refinements_left(const MeshChoice& choice);
/// Validates the mesh of a box or of a part of it; meshes from files are validated when they are read. Throws
/// InputError.
void validate_box(const MeshChoice& choice, mesh::Mesh& mesh);

/// One process's part of a box's mesh, in blocks. Throws InputError.
mesh::MeshPart make_box_part(const MeshChoice& choice, int rank, int processes);

/// Lagrange space on a mesh, which must outlive it. Throws InputError, with the place of the case's mesh, if there are
/// too many dofs.
mesh::FunctionSpace make_space(const mesh::Mesh& mesh, int degree, const Place& place);

}  // namespace femcg::solver
