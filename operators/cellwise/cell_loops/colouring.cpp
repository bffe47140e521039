#include "operators/cellwise/cell_loops/colouring.hpp"

#include <cstddef>
#include <numeric>

namespace femcg::operators {

Colouring colour_parts(std::int32_t parts, std::int32_t unknowns,
                       const std::function<std::span<const std::int32_t>(std::int32_t part)>& shared) {
  // Colours of the parts at each unknown: one entry per part, filled as parts are coloured.
  std::vector<std::int64_t> next(unknowns + std::size_t{1}, 0);
  for (std::int32_t part = 0; part < parts; ++part)
    for (const std::int32_t i : shared(part)) ++next[i + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<std::int64_t> first(next.begin(), next.end());
  std::vector<std::int32_t> taken(first.back());

  std::vector<std::int32_t> colour_of(parts), sizes;
  std::vector<std::int32_t> forbidden_to;  // the last part for which each colour was forbidden
  for (std::int32_t part = 0; part < parts; ++part) {
    for (const std::int32_t i : shared(part))
      for (std::int64_t k = first[i]; k < next[i]; ++k) forbidden_to[taken[k]] = part;
    std::int32_t best = -1;
    for (std::int32_t colour = 0; colour < static_cast<std::int32_t>(sizes.size()); ++colour)
      if (forbidden_to[colour] != part && (best < 0 || sizes[colour] < sizes[best])) best = colour;
    if (best < 0) {
      best = static_cast<std::int32_t>(sizes.size());
      sizes.push_back(0);
      forbidden_to.push_back(-1);
    }
    colour_of[part] = best;
    ++sizes[best];
    for (const std::int32_t i : shared(part)) taken[next[i]++] = best;
  }

  Colouring colouring{std::vector<std::int32_t>(parts), std::vector<std::int32_t>(sizes.size() + 1, 0)};
  std::partial_sum(sizes.begin(), sizes.end(), colouring.offsets.begin() + 1);
  std::vector<std::int32_t> end(colouring.offsets.begin(), colouring.offsets.end() - 1);
  for (std::int32_t part = 0; part < parts; ++part) colouring.parts[end[colour_of[part]]++] = part;
  return colouring;
}

}  // namespace femcg::operators
