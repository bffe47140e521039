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

// What the readers of the sections of a .msh file share.

namespace femcg::mesh {

/// The tags of the nodes of a file.
class NodeTags {
 public:
  void add(std::int64_t tag) { tags_.push_back(tag); }
  std::size_t size() const { return tags_.size(); }
  /// To be called before contains(). Returns a tag that was added twice, or -1.
  std::int64_t sort();
  bool contains(std::int64_t tag) const {
    if (tag < 0 || tag > largest_) return false;
    return tags_.empty() ? (present_[tag / 64] >> (tag % 64) & 1) != 0 : found(tag);
  }

 private:
  bool found(std::int64_t tag) const;

  std::vector<std::int64_t> tags_;      ///< sorted where they are few among their range, else none
  std::vector<std::uint64_t> present_;  ///< a bit each
  std::int64_t largest_ = -1;
};

/// A .msh file half read.
struct MshReading {
  MshCursor cursor;
  double version = 0;  ///< 1, 2.x, 4.0 or 4.1
  NodeTags nodes;
  std::size_t node_count = 0, periodic_links = 0;
  std::int64_t partition =
      0;  ///< of the cells of a file of format 2: 0 where there is none, -1 where there are several
};

/// A count in the file: where it stands, and of what.
struct MshCount {
  std::size_t place;
  std::int64_t said;
  std::string owner, noun;  ///< "$Nodes", "nodes"
};

/// Reads a count of 8 bytes, or in format 2 one in text.
MshCount read_count(MshReading& file, std::string_view noun, bool always_text = false);
/// A dimension, 0 to 3.
int read_dimension(MshReading& file);
/// A tag, 0 to 2^31 - 1.
std::int64_t read_tag(MshReading& file, int bytes, std::string_view noun);
/// Passes over the nodes of an element, which $Nodes must have.
void read_nodes_of_element(MshReading& file, std::int64_t element, int nodes, int bytes);
/// The type of elements. Throws where it has no fixed number of nodes.
MshElementType read_element_type(MshReading& file);

/// Passes over `count.said` records, each by read(), and throws where the section ends before.
template <class Read>
void read_records(MshReading& file, const MshCount& count, Read&& read) {
  for (std::int64_t i = 0; i < count.said; ++i) {
    if (file.cursor.at_mark())
      file.cursor.fail(count.place,
                       fmt::format("{} says {} {}, but {} follow", count.owner, count.said, count.noun, i));
    read();
  }
}

/// The same, and throws where more records follow before the section ends.
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

/// The sections of formats 1 and 2.
void read_nodes_2(MshReading& file, bool parametric);
void read_elements_1(MshReading& file);
void read_elements_2(MshReading& file);

/// Reader functions of sections in format 4.
void read_entities_4(MshReading& file);
void read_nodes_4(MshReading& file);
void read_elements_4(MshReading& file);

/// Reader functions of sections that formats 2 and 4 share.
void read_physical_names(MshReading& file);
void read_periodic(MshReading& file);

/// To be called after $Nodes: its tags, each once.
void finish_nodes(MshReading& file, std::size_t place);

}  // namespace femcg::mesh
