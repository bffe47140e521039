#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "solver/inspection/inspection.hpp"

namespace femcg::solver {

/// A group to begin with: parts of a geometry that a user is likely to speak of.
struct DraftedGroup {
  std::string name;
  int dimension = 0;
  std::vector<int> tags;
  std::string about;  ///< what they are, for a comment
};

/// Solids, where there are several; the planes at the ends of the part along each axis; cylinders, by radius, holes and
/// others apart; and the largest of the other outer faces, planes across an axis by where they lie. In space alone.
std::vector<DraftedGroup> drafted_groups(const mesh::EntityMesh& by_entity, const Inspection& inspection);

/// "bore: {dimension: 2, tags: [3, 4]}   # hollow cylinder of radius 0.004"
std::string line_of(const DraftedGroup& group);
/// True for a file whose geometry suggests groups: CAD, which names nothing.
bool suggests_groups(const std::filesystem::path& file);

/// A name of letters, digits and _ for a part, by what the file calls it or its kind and tag, that no other has.
std::string name_of_part(const mesh::Entity& part, const std::string& kind, std::set<std::string>& taken);

}  // namespace femcg::solver
