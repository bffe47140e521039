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
  std::filesystem::path
      file;  ///< .msh, .inp, .bdf, .nas, .unv, .med | .geo, .geo_unrolled, .step, .stp, .brep, .iges, .igs
  std::optional<double> size;  ///< target cell size, for geometry files; without one the file's own sizes hold
  int order = 1;               ///< geometric order, for geometry files
  bool tensor_cells = false;   ///< quadrilaterals or hexahedra, for geometry files
  bool simplices = false;      ///< nothing else; neither: simplices, unless the geometry has commands for other cells
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

}  // namespace femcg::mesh
