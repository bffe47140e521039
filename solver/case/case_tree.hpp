#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "solver/case/case.hpp"

namespace femcg::solver {

/// A value of a case file with all values below it, each with its place; repeated keys are retained.
struct CaseNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Place place;
  std::string text;                ///< of a scalar, as written, quotes removed
  std::vector<CaseNode> children;  ///< items of a list, entries of a map in the order of the file
  std::string key;                 ///< of an entry of a map
  Place key_place;

  /// First entry with this key; nullptr if there is none.
  const CaseNode* find(const std::string& wanted) const;
  CaseNode* find(const std::string& wanted);
};

/// Reads a file with one YAML document, a map. Throws InputError if the file does not exist, is a directory, is empty,
/// is not YAML (with line and column), has several documents, or is not a map.
CaseNode read_tree(const std::filesystem::path& file);

/// A value as YAML on one line.
std::string flow_text(const CaseNode& node);

/// Inserts an override's value into the tree, creating the maps on its path. An empty value from the command line
/// (--set key=) removes the key. Throws InputError, placed at the option.
void apply_override(CaseNode& tree, const Override& override);

}  // namespace femcg::solver
