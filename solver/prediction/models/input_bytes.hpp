#pragma once

#include <span>

#include "operators/backend/device.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// How far a product reaches in x, as the numbering of rows and columns has it.
struct Locality {
  double input_bytes = 0;  ///< of x, from memory
  bool narrow = false;     ///< whether rows next to each other lie within 65536 columns
};

/// What of x comes from memory, where what is read of it stays in a cache while as many bytes as half the cache holds
/// go by, of the `passing_bytes` of a product: all of it once, and more where neighbouring rows reach far (the alpha of
/// Kreutzer et al. 2012, eq. 1). Of a form by its cells, in their order; rows are near the cells that they belong to.
Locality locality(const operators::BilinearForm& form, int word_bytes, double passing_bytes, double cache_bytes);
/// Of a matrix, row by row.
Locality locality(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns, int word_bytes,
                  double passing_bytes, double cache_bytes);

/// What a device's last cache is taken to hold: 60 MB of an H200; 32 MB of a processor's, which it may share.
double cache_bytes(operators::Device device);

}  // namespace femcg::solver
