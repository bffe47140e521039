#include "operators/cellwise/cell_loops/patch_option.hpp"

namespace femcg::operators {

bool is_patch(std::string_view text) {
  constexpr std::int64_t least = CellPatches::group, most = PatchOptions::most_cells;
  if (text == "auto") return true;
  const auto cells = parse_positive(text);
  return cells && *cells <= most && *cells % least == 0;
}

int asked_patch(std::string_view operator_name, const Options& given, Device device) {
  const std::string_view text = value_of(patch_option, operator_name, given);
  if (device == Device::host) require_default(patch_option, operator_name, given, "threads share out blocks of cells");
  if (text == "auto") return 0;
  return static_cast<int>(*parse_positive(text));
}

}  // namespace femcg::operators
