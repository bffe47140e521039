#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "solver/case/case.hpp"

namespace femcg::solver {

/// A value of a case file and everything below it, each with its place; repeated keys are kept.
struct CaseNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Place place;
  std::string text;                ///< of a scalar, as written, quotes removed
  std::vector<CaseNode> children;  ///< items of a list, entries of a map in the order of the file
  std::string key;                 ///< of an entry of a map
  Place key_place;

  /// The first entry of that key; nullptr where there is none.
  const CaseNode* find(const std::string& wanted) const;
  CaseNode* find(const std::string& wanted);
};

/// Reads a file of one YAML document, a map. Throws InputError where there is no such file, it is a directory, empty,
/// no YAML (with line and column), several documents or no map.
CaseNode read_tree(const std::filesystem::path& file);

/// A value as YAML on one line.
std::string flow_text(const CaseNode& node);

/// Puts the override's value into the tree, making the maps on its way; an empty one of the command line (--set key=)
/// takes the key out of it. Throws InputError, placed at the option.
void apply_override(CaseNode& tree, const Override& override);

}  // namespace femcg::solver
