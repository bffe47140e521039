#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace femcg::mesh {

/// Throws std::runtime_error if refining that often makes more cells than a mesh can number.
inline void check_refinement(std::int64_t cells, int dimension, int refinements) {
  const double refined = static_cast<double>(cells) * std::pow(2.0, dimension * refinements);
  if (refined > std::numeric_limits<std::int32_t>::max())
    throw std::runtime_error(fmt::format("{} refinements of {} cells make {:.3g}, but a mesh has at most 2^31 - 1",
                                         refinements, cells, refined));
}

}  // namespace femcg::mesh
