#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace femcg::operators {

/// An option of an operator: its name, what it may be, its default and its meaning. All of it is checked before
/// anything is built.
struct OptionDescription {
  std::string_view name;
  std::string_view values;  ///< "1 to 64", "auto|16|32", ... as a person reads it
  std::string_view default_value;
  std::string_view meaning;
  bool (*accepts)(std::string_view text);
};

using Options = std::map<std::string, std::string>;

/// A whole number >= 1, or nothing.
std::optional<std::int64_t> parse_positive(std::string_view text);

/// A finite number, or nothing.
std::optional<double> parse_number(std::string_view text);

/// True if the text is a power of two from `least` to `most`.
bool is_power_of_two(std::string_view text, std::int64_t least, std::int64_t most);

/// The given value of an option, or its default. Throws std::invalid_argument where it is not accepted.
std::string_view value_of(const OptionDescription& option, std::string_view operator_name, const Options& given);

/// Throws std::invalid_argument where an option that only a GPU has is given something else than its default. `on_host`
/// ends the sentence: what the CPU has instead.
void require_default(const OptionDescription& option, std::string_view operator_name, const Options& given,
                     std::string_view on_host);

}  // namespace femcg::operators
