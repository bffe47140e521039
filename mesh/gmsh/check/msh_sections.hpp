#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/check/msh_element_types.hpp"

// Shared by the readers of the sections of a .msh file.

namespace femcg::mesh {

/// Set of the node tags of a file.
class NodeTags {
 public:
  void add(std::int64_t tag) { tags_.push_back(tag); }
  std::size_t size() const { return tags_.size(); }
  /// Builds the set; to be called before contains(). Returns a tag that was added twice, or -1.
  std::int64_t sort();
  bool contains(std::int64_t tag) const {
    if (tag < 0 || tag > largest_) return false;
    return tags_.empty() ? (present_[tag / 64] >> (tag % 64) & 1) != 0 : found(tag);
  }

 private:
  bool found(std::int64_t tag) const;

  std::vector<std::int64_t> tags_;      ///< sorted, if the tags are sparse in their range; otherwise empty
  std::vector<std::uint64_t> present_;  ///< one bit per tag, if the tags are dense
  std::int64_t largest_ = -1;
};

/// State of a .msh file that is being read.
struct MshReading {
  MshCursor cursor;
  double version = 0;  ///< 1, 2.x, 4.0 or 4.1
  NodeTags nodes;
  std::size_t node_count = 0, periodic_links = 0;
  std::int64_t partition = 0;  ///< of the cells in format 2: 0 if there is none, -1 if there are several
};

/// A count in the file, its position, and the counted items.
struct MshCount {
  std::size_t place;
  std::int64_t said;
  std::string owner, noun;  ///< "$Nodes", "nodes"
};

/// Reads a count: 8 bytes in binary format 4; text in format 2, or if always_text.
MshCount read_count(MshReading& file, std::string_view noun, bool always_text = false);
/// Reads a dimension, 0 to 3.
int read_dimension(MshReading& file);
/// Reads a tag, 0 to 2^31 - 1.
std::int64_t read_tag(MshReading& file, int bytes, std::string_view noun);
/// Skips the nodes of an element; throws if $Nodes lacks one of them.
void read_nodes_of_element(MshReading& file, std::int64_t element, int nodes, int bytes);
/// Reads an element type. Throws if its number of nodes is not fixed.
MshElementType read_element_type(MshReading& file);

/// Calls read() for each of `count.said` records; throws if the section ends earlier.
template <class Read>
void read_records(MshReading& file, const MshCount& count, Read&& read) {
  for (std::int64_t i = 0; i < count.said; ++i) {
    if (file.cursor.at_mark())
      file.cursor.fail(count.place,
                       fmt::format("{} says {} {}, but {} follow", count.owner, count.said, count.noun, i));
    read();
  }
}

/// The same, and throws if more records follow before the section ends.
template <class Read>
void read_all_records(MshReading& file, const MshCount& count, Read&& read) {
  read_records(file, count, read);
  if (file.cursor.at_mark()) return;
  const std::size_t place = file.cursor.place();
  std::int64_t follow = count.said;
  try {
    for (; !file.cursor.at_mark() && !file.cursor.at_end(); ++follow) read();
  } catch (const std::runtime_error&) {
    follow = count.said;
  }
  if (follow == count.said)
    file.cursor.fail(place, fmt::format("$End{} is missing after the {} {} that {} says", file.cursor.section(),
                                        count.said, count.noun, file.cursor.name_of(count.place)));
  file.cursor.fail(count.place,
                   fmt::format("{} says {} {}, but {} follow", count.owner, count.said, count.noun, follow));
}

/// Readers of the sections of formats 1 and 2.
void read_nodes_2(MshReading& file, bool parametric);
void read_elements_1(MshReading& file);
void read_elements_2(MshReading& file);

/// Readers of the sections of format 4.
void read_entities_4(MshReading& file);
void read_nodes_4(MshReading& file);
void read_elements_4(MshReading& file);

/// Readers of the sections that formats 2 and 4 share.
void read_physical_names(MshReading& file);
void read_periodic(MshReading& file);

/// Checks that each node tag occurs once; to be called after $Nodes.
void finish_nodes(MshReading& file, std::size_t place);

}  // namespace femcg::mesh
