#include "operators/options.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace femcg::operators {

std::optional<std::int64_t> parse_positive(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool is_power_of_two(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto number = parse_positive(text);
  return number && *number >= least && *number <= most && std::has_single_bit(static_cast<std::uint64_t>(*number));
}

std::string_view value_of(const OptionDescription& option, std::string_view operator_name, const Options& given) {
  const auto found = given.find(std::string(option.name));
  if (found == given.end()) return option.default_value;
  if (!option.accepts(found->second))
    throw std::invalid_argument(fmt::format("option '{}' of operator '{}' must be {}, not '{}'", option.name,
                                            operator_name, option.values, found->second));
  return found->second;
}

void require_default(const OptionDescription& option, std::string_view operator_name, const Options& given,
                     std::string_view on_host) {
  if (value_of(option, operator_name, given) == option.default_value) return;
  throw std::invalid_argument(
      fmt::format("option '{}' of operator '{}' is for the GPU; on the CPU {}", option.name, operator_name, on_host));
}

}  // namespace femcg::operators
