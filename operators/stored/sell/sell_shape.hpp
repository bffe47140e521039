#pragma once

#include <string_view>

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Shape of a sell matrix, from options or a device's defaults.
struct SellShape {
  std::int64_t chunk_rows = 32, sigma = 1;
  std::string_view index = "32";  ///< bits of a stored column: auto, 16 or 32
};

/// Throws std::invalid_argument if the options contradict each other or the device.
template <std::floating_point T>
SellShape chosen_sell_shape(const CsrMatrix<T>& matrix, Device device, const Options& given);

/// Chunks of 32, all rows sorted together (Kreutzer et al. 2012).
SellShape chosen_pjds_shape(std::int64_t rows, Device device, const Options& given);

}  // namespace femcg::operators
