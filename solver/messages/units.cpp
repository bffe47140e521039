#include "solver/messages/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace femcg::solver {

std::string grouped(std::int64_t number) {
  if (number < 1000) return std::to_string(number);
  return fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string scaled(double value, std::string_view unit) {
  constexpr std::array prefixes{"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}

std::string duration(double seconds) {
  if (seconds < 0.9995e-6) return fmt::format("{:.3g} ns", 1e9 * seconds);
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", 1e6 * seconds);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", 1e3 * seconds);
  if (seconds < 120) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::lround(seconds));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace femcg::solver
