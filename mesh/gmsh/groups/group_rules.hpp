#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Names of each entity of one dimension, by tag.
using EntityNames = std::map<int, std::vector<std::string>>;

/// Names of entities by the physical groups.
EntityNames physical_names(const RawMesh& raw, int dimension);

/// Entities of the rule's dimension that it selects. Throws std::runtime_error if that dimension is neither that of the
/// cells nor of facets, if a tag or name does not exist, if two entities are equally near to a point, or if nothing
/// matches. Warns if a condition holds for all of several entities.
std::set<int> entities_of(const RawMesh& raw, const std::string& name, const GroupRule& rule,
                          std::vector<std::string>* warnings = nullptr);

/// Names that the rules in `options.groups` give to entities of one dimension. Throws and warns like entities_of.
EntityNames rule_names(const RawMesh& raw, const GmshOptions& options, int dimension,
                       std::vector<std::string>& warnings);

/// Adds a name unless the entity has it already.
void add_name(EntityNames& names, int entity, const std::string& name);

}  // namespace femcg::mesh
