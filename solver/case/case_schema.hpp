#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators/options.hpp"

namespace femcg::solver {

/// Accepted values of an option, found by applying its own check to the words and numbers in its description, and to
/// neighbouring numbers.
struct AcceptedValues {
  std::vector<std::string> words;
  std::vector<std::int64_t> numbers;           ///< nonempty: all accepted numbers
  std::optional<std::int64_t> least, largest;  ///< otherwise the range of accepted numbers
  std::int64_t step = 1;                       ///< accepted integers are multiples of it
  bool fractions = false;                      ///< non-integers above `least` are accepted
};
AcceptedValues accepted_values(const operators::OptionDescription& option);

/// JSON Schema (draft 2020-12) of case files, from the table of keys and the catalogues, for completion in editors.
/// read_case refuses everything that the schema refuses, and also checks what depends on several keys, on files or on
/// the host.
std::string case_schema();

}  // namespace femcg::solver
