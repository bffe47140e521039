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
  std::size_t partitions = 0;         ///< that $PartitionedEntities announces
  std::vector<std::string> warnings;  ///< on sections that are left out
};

/// Walks through a .msh file of format 1, 2, 4.0 or 4.1, as text or binary, before Gmsh sees it, which believes every
/// count and tag. Throws std::runtime_error, "line 5: $Nodes says 3 nodes, but 4 follow", where a count is not that of
/// what follows, a node is defined twice or an element uses one that is not, a type, dimension or word makes no sense,
/// and where sections are missing, repeated or cut short. What it allocates is in proportion to the bytes there are.
MshContents check_msh(std::string_view bytes);
MshContents check_msh_file(const std::filesystem::path& file);

}  // namespace femcg::mesh
