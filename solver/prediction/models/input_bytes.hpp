#pragma once

#include <span>

#include "operators/backend/device.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// Locality of a product's accesses to x, which depends on the numbering of rows and columns.
struct Locality {
  double input_bytes = 0;  ///< bytes of x read from memory
  bool narrow = false;     ///< true if neighbouring rows lie within 65536 columns
};

/// Traffic of x from memory: an entry of x stays in a cache until the product's other data, `passing_bytes` in total,
/// fill half of it. x is read at least once, and more if neighbouring rows reach far (the alpha of Kreutzer et al.
/// 2012, eq. 1). For a form by its cells, in their order; rows are close to their cells.
Locality locality(const operators::BilinearForm& form, int word_bytes, double passing_bytes, double cache_bytes);
/// The same for a matrix, row by row.
Locality locality(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns, int word_bytes,
                  double passing_bytes, double cache_bytes);

/// Assumed size of a device's last-level cache: 60 MB for an H200; 32 MB for a processor, which may share it.
double cache_bytes(operators::Device device);

}  // namespace femcg::solver
