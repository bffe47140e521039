#include "operators/distributed/surfaces.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace femcg::operators {

std::vector<Surface> surfaces_of(const BilinearForm& form, std::span<const std::int32_t> process_of, int processes) {
  std::vector<Surface> surfaces(processes);
  std::vector<std::pair<std::int32_t, std::int32_t>> holders;  // unknown, process
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    for (int a = 0; a < form.dofs_per_cell(); ++a)
      if (const std::int32_t i = form.unknown(cell, a); i >= 0) holders.emplace_back(i, process_of[cell]);
  std::ranges::sort(holders);
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  std::vector<char> is_shared(form.unknowns, 0);
  std::set<std::pair<std::int32_t, std::int32_t>> neighbours;
  for (auto first = holders.begin(); first != holders.end();) {
    const auto last =
        std::find_if(first, holders.end(), [&](const auto& holder) { return holder.first != first->first; });
    is_shared[first->first] = last - first > 1 ? 1 : 0;
    for (auto holder = first; holder != last; ++holder) {
      Surface& surface = surfaces[holder->second];
      ++surface.unknowns;
      surface.sent += last - first - 1;
      for (auto other = first; other != last; ++other)
        if (other != holder) neighbours.emplace(holder->second, other->second);
    }
    first = last;
  }
  for (const auto& pair : neighbours) ++surfaces[pair.first].neighbours;
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    bool at_interface = false;
    for (int a = 0; a < form.dofs_per_cell(); ++a)
      if (const std::int32_t i = form.unknown(cell, a); i >= 0) at_interface = at_interface || is_shared[i] != 0;
    ++surfaces[process_of[cell]].cells;
    if (at_interface) ++surfaces[process_of[cell]].interface_cells;
  }
  return surfaces;
}

}  // namespace femcg::operators
