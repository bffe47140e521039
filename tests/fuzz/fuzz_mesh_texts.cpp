// What is looked up in a STEP, Nastran or universal file of any bytes is found or not, or ends in a sentence.
// Seeds: tests/fuzz/seeds/mesh_texts/*
#include <stdexcept>
#include <string>

#include "mesh/gmsh/check/bdf_unv_check.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tests::text_of(data, size);
  for (const auto check : {mesh::check_bdf, mesh::check_unv}) try {
      check(text);
    } catch (const std::runtime_error& error) {
      tests::require_sentence(error.what());
    }
  if (const auto metres = mesh::stated_metres(text)) tests::require(*metres > 0, "a length");
  return 0;
}
