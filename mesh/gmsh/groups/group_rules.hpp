#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Names of each entity of one dimension.
using EntityNames = std::map<int, std::vector<std::string>>;

/// Names of entities by the physical groups.
EntityNames physical_names(const RawMesh& raw, int dimension);

/// The entities of a rule's dimension that it names. Throws std::runtime_error where that dimension is neither that of
/// the cells nor of facets, where a tag or name is not there, where two are as near to a point, and where nothing
/// matches. Warns where a condition holds for all of several.
std::set<int> entities_of(const RawMesh& raw, const std::string& name, const GroupRule& rule,
                          std::vector<std::string>* warnings = nullptr);

/// The names that the rules in `options.groups` give to entities of one dimension. Throws and warns as entities_of
/// does.
EntityNames rule_names(const RawMesh& raw, const GmshOptions& options, int dimension,
                       std::vector<std::string>& warnings);

/// A name once.
void add_name(EntityNames& names, int entity, const std::string& name);

}  // namespace femcg::mesh
