#include "mesh/gmsh/check/msh_sections.hpp"

// Formats 4.0 and 4.1 of .msh files: blocks of nodes or elements, one per entity.

namespace femcg::mesh {

namespace {

/// Header of the nodes or elements of one entity.
struct BlockHeader {
  int dimension = 0;
  std::int64_t kind = 0;  ///< of nodes: nonzero if parameters follow
  MshElementType type{};  ///< of elements
  MshCount count;
};

BlockHeader read_header(MshReading& file, bool of_elements) {
  BlockHeader header;
  if (file.version > 4) {
    header.dimension = read_dimension(file);
    file.cursor.integer(4);  // entity
  } else {
    file.cursor.integer(4);
    header.dimension = read_dimension(file);
  }
  const std::size_t place = file.cursor.place();
  if (of_elements) {
    header.type = read_element_type(file);
    if (header.type.dimension != header.dimension)
      file.cursor.fail(place, fmt::format("elements of dimension {} stand on an entity of dimension {}",
                                          header.type.dimension, header.dimension));
  } else {
    header.kind = file.cursor.integer(4);
    if (header.kind != 0 && header.kind != 1)
      file.cursor.fail(place, fmt::format("{} should be 1 where nodes have parameters, else 0", header.kind));
  }
  header.count = read_count(file, of_elements ? "elements" : "nodes");
  header.count.owner = "this block";
  return header;
}

/// Reads the header of $Nodes or $Elements and all blocks, each with read(header); `noun` names the blocks' items.
template <class Read>
MshCount read_blocks(MshReading& file, std::string_view noun, Read read) {
  MshCount blocks = read_count(file, "blocks");
  const MshCount all = read_count(file, noun);
  if (file.version > 4)
    for (int i = 0; i < 2; ++i) file.cursor.integer(8);  // least and largest tag
  std::int64_t follow = 0;
  std::size_t last = all.place;
  read_records(file, blocks, [&] {
    BlockHeader header;
    try {
      header = read_header(file, noun == "elements");
    } catch (const std::runtime_error& error) {
      // After a block with a wrong count, the next bytes are no header.
      if (last == all.place || file.cursor.at_end()) throw;
      throw std::runtime_error(
          fmt::format("{}; or the block of {} has another count", error.what(), file.cursor.name_of(last)));
    }
    last = header.count.place;
    read(header);
    follow += header.count.said;
  });
  if (!file.cursor.at_mark())
    file.cursor.fail(blocks.place,
                     fmt::format("{} says {} {}, which end before {}, but more follows: this count or that "
                                 "of a block is wrong",
                                 blocks.owner, blocks.said, blocks.noun, file.cursor.name_of(file.cursor.place())));
  if (follow != all.said)
    file.cursor.fail(all.place,
                     fmt::format("{} says {} {}, but its blocks have {}", all.owner, all.said, noun, follow));
  return all;
}

/// Reads a count of tags, then the tags.
void read_tag_list(MshReading& file, std::string_view noun) {
  MshCount count = read_count(file, noun);
  count.owner = "an entity";
  read_records(file, count, [&] { file.cursor.integer(4); });
}

}  // namespace

void read_entities_4(MshReading& file) {
  MshCount counts[4];
  constexpr std::string_view nouns[]{"points", "curves", "surfaces", "volumes"};
  for (int d = 0; d < 4; ++d) counts[d] = read_count(file, nouns[d]);
  const auto read = [&](int dimension) {
    file.cursor.integer(4);
    file.cursor.reals(dimension == 0 && file.version > 4 ? 3 : 6);  // a point, or a bounding box
    read_tag_list(file, "physical groups");
    if (dimension > 0) read_tag_list(file, "boundary entities");
  };
  for (int d = 0; d < 3; ++d) read_records(file, counts[d], [&] { read(d); });
  read_all_records(file, counts[3], [&] { read(3); });
}

void read_nodes_4(MshReading& file) {
  const MshCount all = read_blocks(file, "nodes", [&](const BlockHeader& block) {
    const auto reals = static_cast<std::size_t>(3 + (block.kind != 0 ? block.dimension : 0));
    if (file.version > 4) {
      read_records(file, block.count, [&] { file.nodes.add(read_tag(file, 8, "node")); });
      read_records(file, block.count, [&] { file.cursor.reals(reals); });
      return;
    }
    read_records(file, block.count, [&] {
      file.nodes.add(read_tag(file, 4, "node"));
      file.cursor.reals(reals);
    });
  });
  finish_nodes(file, all.place);
}

void read_elements_4(MshReading& file) {
  const int bytes = file.version > 4 ? 8 : 4;
  read_blocks(file, "elements", [&](const BlockHeader& block) {
    read_records(file, block.count, [&] {
      const std::int64_t element = read_tag(file, bytes, "element");
      read_nodes_of_element(file, element, block.type.nodes, bytes);
    });
  });
}

}  // namespace femcg::mesh
