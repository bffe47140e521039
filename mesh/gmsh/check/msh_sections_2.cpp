#include <algorithm>

#include "mesh/gmsh/check/msh_sections.hpp"

// Formats 1 and 2 of .msh files: a list of nodes and a list of elements.

namespace femcg::mesh {

namespace {

/// Reads the tags of an element: physical group, entity and, in a partitioned mesh, a number of partitions and these.
void read_tags_of_element(MshReading& file, std::int64_t tags, int dimension) {
  for (std::int64_t i = 0; i < tags; ++i) {
    const std::int64_t tag = file.cursor.integer(4);
    constexpr std::int64_t first_partition = 3;
    if (i != first_partition || dimension < 2) continue;
    const std::int64_t partition = std::max<std::int64_t>(tag, 1);
    file.partition = file.partition == 0 || file.partition == partition ? partition : -1;
  }
}

std::int64_t read_count_of_tags(MshReading& file) {
  const std::size_t place = file.cursor.place();
  const std::int64_t tags = file.cursor.integer(4);
  if (tags < 0) file.cursor.fail(place, fmt::format("an element cannot have {} tags", tags));
  return tags;
}

}  // namespace

void read_nodes_2(MshReading& file, bool parametric) {
  const MshCount count = read_count(file, "nodes", true);
  if (file.cursor.binary()) file.cursor.rest_of_line();
  read_all_records(file, count, [&] {
    file.nodes.add(read_tag(file, 4, "node"));
    file.cursor.reals(3);
    if (!parametric) return;
    const int dimension = read_dimension(file);
    file.cursor.integer(4);  // entity
    if (dimension < 3) file.cursor.reals(static_cast<std::size_t>(dimension));
  });
  finish_nodes(file, count.place);
}

void read_elements_1(MshReading& file) {
  const MshCount count = read_count(file, "elements", true);
  read_all_records(file, count, [&] {
    const std::int64_t element = read_tag(file, 4, "element");
    const MshElementType type = read_element_type(file);
    for (int i = 0; i < 2; ++i) file.cursor.integer(4);  // physical group and entity
    const std::size_t place = file.cursor.place();
    const std::int64_t nodes = file.cursor.integer(4);
    if (nodes != type.nodes)
      file.cursor.fail(place, fmt::format("element {} says {} nodes, but its type has {}", element, nodes, type.nodes));
    read_nodes_of_element(file, element, type.nodes, 4);
  });
}

void read_elements_2(MshReading& file) {
  const MshCount count = read_count(file, "elements", true);
  if (!file.cursor.binary()) {
    read_all_records(file, count, [&] {
      const std::int64_t element = read_tag(file, 4, "element");
      const MshElementType type = read_element_type(file);
      read_tags_of_element(file, read_count_of_tags(file), type.dimension);
      read_nodes_of_element(file, element, type.nodes, 4);
    });
    return;
  }
  file.cursor.rest_of_line();
  std::int64_t follow = 0;
  while (!file.cursor.at_mark()) {
    const MshElementType type = read_element_type(file);
    const std::size_t place = file.cursor.place();
    const MshCount block{place, file.cursor.integer(4), "a block", "elements"};
    if (block.said < 1) file.cursor.fail(place, fmt::format("a block cannot have {} elements", block.said));
    const std::int64_t tags = read_count_of_tags(file);
    read_records(file, block, [&] {
      const std::int64_t element = read_tag(file, 4, "element");
      read_tags_of_element(file, tags, type.dimension);
      read_nodes_of_element(file, element, type.nodes, 4);
    });
    follow += block.said;
  }
  if (follow != count.said)
    file.cursor.fail(count.place, fmt::format("$Elements says {} elements, but {} follow", count.said, follow));
}

}  // namespace femcg::mesh
