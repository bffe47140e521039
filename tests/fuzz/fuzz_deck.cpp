// An Abaqus, Nastran or universal file of arbitrary bytes gives a mesh with valid indices, or is refused with a
// sentence.
// Seeds: tests/fuzz/seeds/deck/*
#include <stdexcept>

#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/imported_mesh.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tests::text_of(data, size);
  for (const auto read : {mesh::read_inp, mesh::read_bdf, mesh::read_unv}) try {
      const mesh::RawMesh raw = read(text, 0.5);
      for (const auto* blocks : {&raw.cells, &raw.facets})
        for (const mesh::ElementBlock& block : *blocks)
          for (const std::uint64_t node : block.nodes) tests::require(node - 1 < raw.node_count(), "nodes of elements");
      mesh::Mesh made = mesh::to_mesh(raw, {});
      mesh::validate(made);
      for (const std::int32_t node : made.cell_nodes)
        tests::require(node >= 0 && node < made.node_count(), "nodes within the mesh");
    } catch (const std::runtime_error& error) {
      tests::require_sentence(error.what());
    }
  return 0;
}
