#include "operators/vendor/index.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace femcg::operators {

int index_bits(std::int64_t entries, std::string_view operator_name, std::string_view index) {
  const bool fits = entries <= std::numeric_limits<std::int32_t>::max();
  if (index == "32" && !fits)
    throw std::invalid_argument(
        fmt::format("operator '{}' stores {} entries, which indices of 32 bits cannot count; use index: auto",
                    operator_name, entries));
  return index == "64" || !fits ? 64 : 32;
}

}  // namespace femcg::operators
