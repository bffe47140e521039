#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace femcg::operators {

/// A colouring of the parts of a sum: parts of one colour share no unknown.
struct Colouring {
  std::vector<std::int32_t> parts;       ///< colour by colour
  std::vector<std::int32_t> offsets{0};  ///< begin of each colour, and the end

  int colours() const { return static_cast<int>(offsets.size()) - 1; }
};

/// Greedy colouring in the order of the parts: each takes the least used of the colours that no part sharing an unknown
/// with it has. There are at most as many colours as a part has such neighbours, plus one. shared(part): the unknowns,
/// less than `unknowns`, that a part shares with others.
Colouring colour_parts(std::int32_t parts, std::int32_t unknowns,
                       const std::function<std::span<const std::int32_t>(std::int32_t part)>& shared);

}  // namespace femcg::operators
