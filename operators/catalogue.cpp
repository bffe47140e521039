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

template <std::floating_point T>
OperatorBytes OperatorDescription::bytes(const Extent<T>& of, const Options& given) const {
  if constexpr (std::is_same_v<T, double>) {
    if (bytes_double != nullptr) return bytes_double(of, given);
  } else {
    if (bytes_single != nullptr) return bytes_single(of, given);
  }
  switch (needs) {
    case Needs::matrix:
      return bytes_of_compressed_rows(of);
    case Needs::element_matrices:
      return bytes_of_element_matrices(of);
    case Needs::form:
      break;
  }
  return bytes_of_factors(of);
}

template OperatorBytes OperatorDescription::bytes(const Extent<double>&, const Options&) const;
template OperatorBytes OperatorDescription::bytes(const Extent<float>&, const Options&) const;

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
