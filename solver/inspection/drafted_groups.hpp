#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "solver/inspection/inspection.hpp"

namespace femcg::solver {

/// A suggested group: parts of a geometry that a user is likely to refer to.
struct DraftedGroup {
  std::string name;
  int dimension = 0;
  std::vector<int> tags;
  std::string about;  ///< description of the parts, for a comment
};

/// Suggested groups of a 3D geometry: solids, if there are several; planes at the ends of the part along each axis;
/// cylinders by radius, holes and outer ones separately; and the largest of the other outer faces, planes across an
/// axis by their position.
std::vector<DraftedGroup> drafted_groups(const mesh::EntityMesh& by_entity, const Inspection& inspection);

/// Line of a case file: "bore: {dimension: 2, tags: [3, 4]}   # hollow cylinder of radius 0.004".
std::string line_of(const DraftedGroup& group);
/// True for a file whose geometry suggests groups: CAD, which has no group names.
bool suggests_groups(const std::filesystem::path& file);

/// Unique name of letters, digits and _ for a part, from its name in the file or else its kind and tag.
std::string name_of_part(const mesh::Entity& part, const std::string& kind, std::set<std::string>& taken);

}  // namespace femcg::solver
