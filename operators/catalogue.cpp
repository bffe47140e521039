#include "operators/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace femcg::operators {

const OperatorDescription* find_operator(std::string_view name) {
  const auto rows = catalogue();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const OperatorDescription& candidate) { return candidate.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

void check_options(const OperatorDescription& row, const Options& given) {
  for (const auto& [name, value] : given) {
    const auto known = std::find_if(row.options.begin(), row.options.end(),
                                    [&](const OptionDescription& option) { return option.name == name; });
    if (known == row.options.end()) {
      std::string names;
      for (const OptionDescription& option : row.options)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
      throw std::invalid_argument(fmt::format("operator '{}' has no option '{}' ({})", row.name, name,
                                              names.empty() ? "it has none" : "it has " + names));
    }
    if (!known->accepts(value))
      throw std::invalid_argument(
          fmt::format("option '{}' of operator '{}' must be {}, not '{}'", name, row.name, known->values, value));
  }
}

}  // namespace femcg::operators
