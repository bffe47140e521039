#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// Contents of a .msh file.
struct MshContents {
  std::size_t nodes = 0;
  std::size_t partitions = 0;         ///< number that $PartitionedEntities declares
  std::vector<std::string> warnings;  ///< on skipped sections
};

/// Checks a .msh file of format 1, 2, 4.0 or 4.1, text or binary, before Gmsh reads it, because Gmsh trusts every count
/// and tag. Throws std::runtime_error, "line 5: $Nodes says 3 nodes, but 4 follow", if a count differs from the records
/// that follow, a node is defined twice, an element uses an undefined node, a type, dimension or word is invalid, or a
/// section is missing, repeated or truncated. Memory use is proportional to the size of the file.
MshContents check_msh(std::string_view bytes);
MshContents check_msh_file(const std::filesystem::path& file);

}  // namespace femcg::mesh
