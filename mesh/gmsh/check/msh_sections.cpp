#include "mesh/gmsh/check/msh_sections.hpp"

#include <algorithm>
#include <limits>

namespace femcg::mesh {

namespace {

constexpr std::int64_t largest_tag = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::int64_t NodeTags::sort() {
  if (tags_.empty()) return -1;
  largest_ = *std::max_element(tags_.begin(), tags_.end());
  constexpr std::int64_t most_bits_a_tag = 64;
  if (largest_ / most_bits_a_tag > static_cast<std::int64_t>(tags_.size())) {
    std::sort(tags_.begin(), tags_.end());
    const auto twice = std::adjacent_find(tags_.begin(), tags_.end());
    return twice == tags_.end() ? -1 : *twice;
  }
  present_.assign(static_cast<std::size_t>(largest_ / 64 + 1), 0);
  for (const std::int64_t tag : tags_) {
    const std::uint64_t bit = std::uint64_t{1} << (tag % 64);
    if ((present_[tag / 64] & bit) != 0) return tag;
    present_[tag / 64] |= bit;
  }
  tags_ = {};
  return -1;
}

bool NodeTags::found(std::int64_t tag) const { return std::binary_search(tags_.begin(), tags_.end(), tag); }

MshCount read_count(MshReading& file, std::string_view noun, bool always_text) {
  const std::size_t place = file.cursor.place();
  const std::int64_t said = always_text ? file.cursor.text_integer() : file.cursor.integer(8);
  const std::string owner = fmt::format("${}", file.cursor.section());
  if (said < 0) file.cursor.fail(place, fmt::format("{} says {} {}", owner, said, noun));
  return {place, said, owner, std::string(noun)};
}

int read_dimension(MshReading& file) {
  const std::size_t place = file.cursor.place();
  const std::int64_t dimension = file.cursor.integer(4);
  if (dimension < 0 || dimension > 3)
    file.cursor.fail(place, fmt::format("{} is no dimension of an entity, which is 0 to 3", dimension));
  return static_cast<int>(dimension);
}

std::int64_t read_tag(MshReading& file, int bytes, std::string_view noun) {
  const std::size_t place = file.cursor.place();
  const std::int64_t tag = file.cursor.integer(bytes);
  if (tag < 0 || tag > largest_tag)
    file.cursor.fail(place, fmt::format("{} {} has no tag from 0 to 2^31 - 1", noun, tag));
  return tag;
}

MshElementType read_element_type(MshReading& file) {
  const std::size_t place = file.cursor.place();
  const std::int64_t number = file.cursor.integer(4);
  const MshElementType type = msh_element_type(number);
  if (type.nodes == 0)
    file.cursor.fail(place, fmt::format("{} is no type of elements with a fixed number of nodes", number));
  return type;
}

void read_nodes_of_element(MshReading& file, std::int64_t element, int nodes, int bytes) {
  for (int a = 0; a < nodes; ++a) {
    const std::size_t place = file.cursor.place();
    const std::int64_t node = file.cursor.integer(bytes);
    if (!file.nodes.contains(node))
      file.cursor.fail(place, fmt::format("element {} uses node {}, which $Nodes does not have", element, node));
  }
}

void finish_nodes(MshReading& file, std::size_t place) {
  file.node_count = file.nodes.size();
  const std::int64_t twice = file.nodes.sort();
  if (twice >= 0) file.cursor.fail(place, fmt::format("$Nodes has two nodes with the tag {}", twice));
}

void read_physical_names(MshReading& file) {
  const MshCount count = read_count(file, "names", true);
  const bool has_dimension = file.version > 2;
  read_all_records(file, count, [&] {
    const std::size_t place = file.cursor.place();
    if (has_dimension) {
      const std::int64_t dimension = file.cursor.text_integer();
      if (dimension < 0 || dimension > 3)
        file.cursor.fail(place, fmt::format("a physical group has a dimension from 0 to 3, not {}", dimension));
    }
    const std::int64_t tag = file.cursor.text_integer();
    if (tag < 0 || tag > largest_tag)
      file.cursor.fail(place, fmt::format("a physical group has a tag from 1 to 2^31 - 1, not {}", tag));
    const std::string_view name = file.cursor.rest_of_line();
    if (name.size() < 2 || !name.starts_with('"') || !name.ends_with('"'))
      file.cursor.fail(place, fmt::format("the name of the physical group {} must stand in double quotes at the end of "
                                          "its line",
                                          tag));
  });
}

void read_periodic(MshReading& file) {
  const bool text = file.version < 4;  // in these formats the section is text even in a binary file
  const auto integer = [&](int bytes) { return text ? file.cursor.text_integer() : file.cursor.integer(bytes); };
  const MshCount links = read_count(file, "links", text);
  file.periodic_links = static_cast<std::size_t>(links.said);
  read_all_records(file, links, [&] {
    for (int i = 0; i < 3; ++i) integer(4);  // dimension, entity and its master
    if (file.version > 4) {
      MshCount map = read_count(file, "numbers");
      map.owner = "the map of a link";
      read_records(file, map, [&] { file.cursor.reals(1); });
    } else {
      file.cursor.rest_of_line();
      if (file.cursor.next_is("Affine")) file.cursor.rest_of_line();
    }
    MshCount pairs = read_count(file, "pairs of nodes", text);
    pairs.owner = "a link";
    read_records(file, pairs, [&] { integer(8), integer(8); });
  });
}

}  // namespace femcg::mesh
