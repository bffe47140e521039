#include "operators/distributed/maps/subdomain_sizes.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace femcg::operators {

std::vector<SubdomainSize> subdomain_sizes(const BilinearForm& form, std::span<const std::int32_t> process_of,
                                           int processes) {
  constexpr std::int32_t of_none = -1, of_several = -2;
  std::vector<std::int32_t> holder(form.unknowns, of_none);
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    form.for_unknowns(cell, [&](std::int32_t i) {
      if (holder[i] == of_none) holder[i] = process_of[cell];
      if (holder[i] != process_of[cell]) holder[i] = of_several;
    });
  std::vector<SubdomainSize> surfaces(processes);
  for (const std::int32_t process : holder)
    if (process >= 0) ++surfaces[process].unknowns;

  std::vector<std::pair<std::int32_t, std::int32_t>> holders;  // unknown of several processes, process
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    SubdomainSize& surface = surfaces[process_of[cell]];
    const std::size_t before = holders.size();
    form.for_unknowns(cell, [&](std::int32_t i) {
      if (holder[i] == of_several) holders.emplace_back(i, process_of[cell]);
    });
    ++surface.cells;
    if (holders.size() > before) ++surface.interface_cells;
  }
  std::ranges::sort(holders);
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  std::set<std::pair<std::int32_t, std::int32_t>> neighbours;
  for (auto first = holders.begin(); first != holders.end();) {
    const auto last = std::find_if(first, holders.end(), [&](const auto& each) { return each.first != first->first; });
    for (auto one = first; one != last; ++one) {
      SubdomainSize& surface = surfaces[one->second];
      ++surface.unknowns;
      surface.sent += last - first - 1;
      for (auto other = first; other != last; ++other)
        if (other != one) neighbours.emplace(one->second, other->second);
    }
    first = last;
  }
  for (const auto& pair : neighbours) ++surfaces[pair.first].neighbours;
  return surfaces;
}

}  // namespace femcg::operators
