#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// A whole number >= 1, or nothing.
std::optional<std::int64_t> parse_positive(std::string_view text);

/// Whether the text is a power of two from `least` to `most`.
bool is_power_of_two(std::string_view text, std::int64_t least, std::int64_t most);

/// What was given for an option, or its default. Throws std::invalid_argument where it is not accepted.
std::string_view value_of(const OptionDescription& option, std::string_view operator_name, const Options& given);

/// Throws std::invalid_argument where an option that only a GPU has is given something else than its default. `on_host`
/// ends the sentence: what the CPU has instead.
void require_default(const OptionDescription& option, std::string_view operator_name, const Options& given,
                     std::string_view on_host);

}  // namespace femcg::operators
