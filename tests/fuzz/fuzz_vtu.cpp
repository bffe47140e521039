// A .vtu file of arbitrary bytes gives coefficients of its fields on a mesh of two cells, or is refused with a
// sentence.
// Seeds: tests/fuzz/seeds/vtu/*
#include <array>
#include <cmath>
#include <stdexcept>

#include "mesh/box/box.hpp"
#include "mesh/vtu/vtu_reader.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const mesh::Mesh box = mesh::make_box({mesh::CellShape::quadrilateral, {2, 1, 1}});
  static const mesh::FunctionSpace space(box, 2);
  try {
    const mesh::VtuFile file(tests::file_of(tests::text_of(data, size), ".vtu"));
    for (const std::string& field : file.point_fields())
      for (const std::vector<double>& coefficients : file.coefficients(std::array{field}, space)) {
        tests::require(coefficients.size() == static_cast<std::size_t>(space.dof_count()), "a number for each dof");
        for (const double value : coefficients) tests::require(std::isfinite(value), "finite numbers");
      }
  } catch (const std::runtime_error& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}
