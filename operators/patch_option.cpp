#include "operators/patch_option.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace femcg::operators {

bool is_patch(std::string_view text) {
  constexpr std::int64_t least = CellPatches::group, most = PatchOptions::most_cells;
  if (text == "auto") return true;
  const auto cells = parse_positive(text);
  return cells && *cells <= most && *cells % least == 0;
}

int asked_patch(std::string_view operator_name, const Options& given, Device device) {
  const std::string_view text = value_of(patch_option, operator_name, given);
  if (text == "auto") return 0;
  if (device == Device::host)
    throw std::invalid_argument(fmt::format(
        "option 'patch' of operator '{}' is for the GPU; on the CPU threads share out blocks of cells", operator_name));
  return static_cast<int>(*parse_positive(text));
}

}  // namespace femcg::operators
