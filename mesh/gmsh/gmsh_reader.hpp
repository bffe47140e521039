#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A name given to parts of a geometry or mesh that carries none: entities by tag, by a condition on their points, the
/// one nearest to a point, or by the name that the file gives.
struct GroupRule {
  int dimension = 0;      ///< of the entities: the mesh's own (a region) or one less (a boundary)
  std::vector<int> tags;  ///< entity tags
  /// True where an entity belongs: it must hold at all nodes of the entity (closure), and the entity has at least one.
  std::function<bool(double x, double y, double z)> where;
  std::vector<double> near =
      {};                 ///< 2 or 3 coordinates: the entity whose elements come nearest; two as near are an error
  std::string name = {};  ///< Entity::name of all that have it
};

struct GmshOptions {
  std::filesystem::path file;  ///< .msh | .geo, .geo_unrolled, .step, .stp, .brep, .iges, .igs
  std::optional<double> size;  ///< target cell size, for geometry files; without one the file's own sizes hold
  int order = 1;               ///< geometric order, for geometry files
  bool tensor_cells = false;   ///< quadrilaterals or hexahedra instead of simplices, for geometry files
  int refine = 0;              ///< uniform refinements
  std::string unit = "auto";   ///< of the file's coordinates (length_unit.hpp); auto: that which it states, else m
  double scale = 1;  ///< by which coordinates in metres are multiplied; size and rules are those of the result
  std::map<std::string, GroupRule> groups;
  /// Target cell size at a group, for geometry files: a physical group of any dimension, or one of `groups`. Between
  /// groups cells grow as Gmsh has them grow from the points of a geometry.
  std::map<std::string, double> sizes;
};

/// An elementary entity of a geometry or mesh: one solid, one surface or, in the plane, one curve.
struct Entity {
  int tag = 0;                      ///< Gmsh's number of it, which rules name it by
  std::string name;                 ///< that the file gives, as STEP files do; empty where there is none
  std::vector<std::string> groups;  ///< that it belongs to: physical groups, and rules that match it
};

/// A mesh by its entities instead of its groups.
struct EntityMesh {
  Mesh mesh;                    ///< region r is regions[r]; boundary group b is faces[b], also where it lies inside
  std::vector<Entity> regions;  ///< by tag
  std::vector<Entity> faces;    ///< of one dimension less, by tag; those with elements that are facets of cells
};

/// Whether this build can read and make meshes with Gmsh.
bool gmsh_available();
/// Of the library, which is loaded for it. Throws std::runtime_error where it cannot be.
std::string gmsh_version();
/// That this build was compiled for: libraries of the same interface differ in their patches at most.
std::string gmsh_interface_version();

/// Reads a mesh, or meshes a geometry, with the Gmsh SDK, and validates it. The cells of highest dimension form the
/// mesh; physical groups of that dimension become regions, those of one less boundaries, without the facets that lie
/// between two cells. Rules in `groups` add boundaries, and name the regions of the entities that they match instead of
/// the file.
///
/// Coordinates come out in metres, times options.scale. STEP and IGES files state their unit of length, others are
/// taken to be in metres, which a remark says, unless options.unit names another. Solids that touch are joined. Throws
/// std::runtime_error with one sentence naming the file, what is wrong and what would be right.
///
/// Gmsh works in a process of its own, with the memory that is free and no more, and without means to run programs: a
/// .geo file is a program, but ends that process at worst. It may still write files (Save, Print).
Mesh read_gmsh(const GmshOptions& options);

/// The same by entities. Rules in `options.groups` that match nothing are remarked on instead.
EntityMesh read_gmsh_entities(const GmshOptions& options);

}  // namespace femcg::mesh
