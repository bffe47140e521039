// The unit stated in a STEP, IGES or universal file of arbitrary bytes is found or not, or the file is refused with a
// sentence.
// Seeds: tests/fuzz/seeds/mesh_texts/*
#include <stdexcept>
#include <string>

#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tests::text_of(data, size);
  for (const auto metres : {mesh::stated_metres, mesh::iges_metres, mesh::unv_metres}) try {
      if (const auto found = metres(text)) tests::require(*found > 0, "a length");
    } catch (const std::runtime_error& error) {
      tests::require_sentence(error.what());
    }
  return 0;
}
