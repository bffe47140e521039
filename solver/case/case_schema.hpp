#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators/options.hpp"

namespace femcg::solver {

/// Accepted values of an option, found by trying the words and numbers of its description, and neighbouring numbers,
/// with its own check.
struct AcceptedValues {
  std::vector<std::string> words;
  std::vector<std::int64_t> numbers;           ///< where these are all
  std::optional<std::int64_t> least, largest;  ///< else of whole numbers, or of any, in between
  std::int64_t step = 1;                       ///< of which whole numbers are multiples
  bool fractions = false;                      ///< it takes numbers that are not whole, above `least`
};
AcceptedValues accepted_values(const operators::OptionDescription& option);

/// The JSON Schema (draft 2020-12) of case files, from the table of keys and the catalogues: what an editor completes
/// keys and values with. Whatever it refuses, read_case refuses; what depends on more than one key, on files or on the
/// machine is left to read_case.
std::string case_schema();

}  // namespace femcg::solver
