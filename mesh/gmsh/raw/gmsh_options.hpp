#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// A name for parts of a geometry or mesh: entities selected by tag, by a condition on their points, by the point they
/// are nearest to, or by the name that the file gives.
struct GroupRule {
  int dimension = 0;      ///< of the entities: the mesh's own (a region) or one less (a boundary)
  std::vector<int> tags;  ///< entity tags
  /// Condition that must hold at all nodes of an entity (its closure); the entity must have at least one node.
  std::function<bool(double x, double y, double z)> where;
  std::vector<double> near =
      {};                 ///< 2 or 3 coordinates: selects the entity with the nearest elements; a tie is an error
  std::string name = {};  ///< selects every entity with this Entity::name
};

struct GmshOptions {
  std::filesystem::path
      file;  ///< .msh, .inp, .bdf, .nas, .unv, .med | .geo, .geo_unrolled, .step, .stp, .brep, .iges, .igs
  std::optional<double> size;  ///< target cell size, for geometry files; without one the file's own sizes hold
  int order = 1;               ///< geometric order, for geometry files
  bool tensor_cells = false;   ///< quadrilaterals or hexahedra, for geometry files
  bool simplices = false;      ///< simplices only; neither: simplices unless the geometry asks for other cells
  int refine = 0;              ///< uniform refinements
  std::string unit = "auto";   ///< of the file's coordinates (length_unit.hpp); auto: as stated in the file, else m
  double scale = 1;            ///< factor for coordinates in metres; size and rules refer to the result
  std::map<std::string, GroupRule> groups;
  /// Target cell size at a group, for geometry files: a physical group of any dimension, or one of `groups`. Between
  /// groups Gmsh interpolates sizes as between the points of a geometry.
  std::map<std::string, double> sizes;
};

/// An elementary entity of a geometry or mesh: one solid, one surface or, in 2D, one curve.
struct Entity {
  int tag = 0;                      ///< Gmsh's number of the entity, which rules select it by
  std::string name;                 ///< from the file, as in STEP files; empty if there is none
  std::vector<std::string> groups;  ///< physical groups that contain it, and rules that match it
};

/// A mesh by its entities instead of its groups.
struct EntityMesh {
  Mesh mesh;                    ///< region r is regions[r]; boundary group b is faces[b], also if it lies inside
  std::vector<Entity> regions;  ///< by tag
  std::vector<Entity> faces;    ///< of one dimension less, by tag; only those with elements that are facets of cells
};

}  // namespace femcg::mesh
