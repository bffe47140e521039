// An expression of arbitrary bytes has a finite value at a point, or is refused with a sentence.
// Seeds: tests/fuzz/seeds/expression/*
#include <cmath>

#include "solver/coefficients/expression.hpp"
#include "solver/messages/error.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const solver::Expression expression(tests::text_of(data, size), "here", "equation.source");
    tests::require(std::isfinite(expression(0.25, -2, 1e3)), "a finite value of " + expression.text());
    if (const auto value = expression.constant())
      tests::require(expression(1, 2, 3) == *value, "one value of " + expression.text());
  } catch (const solver::InputError& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}
