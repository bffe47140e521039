// A compare.json of arbitrary bytes gives records that can be written again, or is refused with a sentence.
// Seeds: tests/fuzz/seeds/record/*
#include <nlohmann/json.hpp>

#include "solver/report/comparison_report.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string lines =
        solver::to_lines(solver::read_comparison(tests::file_of(tests::text_of(data, size), ".json")));
    tests::require(solver::to_lines(solver::read_comparison(tests::file_of(lines, ".again.json"))) == lines,
                   "the same records again");
  } catch (const solver::InputError& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}
