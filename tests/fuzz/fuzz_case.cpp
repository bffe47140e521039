// A case file of arbitrary bytes is read or refused with sentences; a case that was read and is written reads back
// equal.
// Seeds: cases/*.yaml tests/cases/*.yaml tests/fuzz/seeds/case/*
#include "solver/case/case.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/error.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = tests::file_of(tests::text_of(data, size), ".yaml");
  solver::Case made;
  try {
    made = solver::read_case(file);
  } catch (const solver::InputError& error) {
    for (const std::string& sentence : error.sentences()) tests::require_sentence(sentence);
    return 0;
  }
  const std::string text = solver::to_yaml(made);
  try {
    tests::require(solver::to_yaml(solver::read_case(tests::file_of(text, ".again.yaml"))) == text,
                   "the same case again: " + text);
  } catch (const solver::InputError& error) {
    tests::require(false, std::string(error.what()) + " in what was written: " + text);
  }
  std::size_t points = 1;
  for (const solver::SweepAxis& axis : made.compare.sweep) points *= axis.values.size();
  if (points > 20) return 0;
  try {
    for (const solver::SweepPoint& point : solver::expand_sweep(file, {}))
      solver::expand_operators(point.resolved.compare);
  } catch (const solver::InputError& error) {
    for (const std::string& sentence : error.sentences()) tests::require_sentence(sentence);
  }
  return 0;
}
