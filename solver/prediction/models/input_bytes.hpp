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

/// Traffic of x from memory: entries of x stay in a cache while half its size of the product's `passing_bytes` goes by.
/// All of x is read once, and more where neighbouring rows reach far (the alpha of Kreutzer et al. 2012, eq. 1). For a
/// form by its cells, in their order; rows are near their cells.
Locality locality(const operators::BilinearForm& form, int word_bytes, double passing_bytes, double cache_bytes);
/// The same for a matrix, row by row.
Locality locality(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns, int word_bytes,
                  double passing_bytes, double cache_bytes);

/// Assumed size of a device's last cache: 60 MB for an H200; 32 MB for a processor, which may share it.
double cache_bytes(operators::Device device);

}  // namespace femcg::solver
