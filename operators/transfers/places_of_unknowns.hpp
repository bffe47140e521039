#pragma once

#include <cstdint>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// For each unknown the places [cells][nodes] that hold it, ascending.
struct PlacesOfUnknowns {
  Vector<std::int64_t> begin;   ///< [unknowns + 1]
  Vector<std::int32_t> places;  ///< [begin.back()]
};

/// `unknowns`: one for each place, -1 for none. Throws std::length_error where there are 2^31 places or more.
PlacesOfUnknowns places_of_unknowns(const Vector<std::int32_t>& unknowns, std::int32_t count);

}  // namespace femcg::operators
