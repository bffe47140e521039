// The check of a .msh file of arbitrary bytes passes, or fails with a sentence.
// Seeds: tests/meshes/*.msh tests/fuzz/seeds/msh/*
#include <stdexcept>

#include "mesh/gmsh/check/msh_check.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tests::text_of(data, size);
  try {
    const mesh::MshContents contents = mesh::check_msh(text);
    tests::require(contents.nodes <= size, "nodes that the bytes can hold");
    for (const std::string& warning : contents.warnings) tests::require_sentence(warning);
  } catch (const std::runtime_error& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}
