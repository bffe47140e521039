#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace femcg::operators {

/// Cost of one product.
struct Footprint {
  std::int64_t stored_bytes = 0;  ///< held by the operator
  std::int64_t moved_bytes = 0;   ///< the least a product moves: stored data, x and y once (Reguly & Giles 2012, eq. 4)
  std::int64_t effective_bytes = 0;  ///< without reuse of x (Reguly & Giles 2012, eq. 2)
  std::int64_t flops = 0;
  std::int64_t nonzeros = 0;    ///< of the matrix represented; 0 where it is never formed
  std::int64_t host_bytes = 0;  ///< of what a GPU's operator holds, those in the host's memory
  std::int64_t link_bytes = 0;  ///< that come from the host with each product
  double padding_ratio = 1;     ///< stored entries over nonzeros, 1 where nothing is padded

  /// Cost of a product with `count` vectors of `vector_bytes` each: stored data moves once for all of them.
  Footprint of_multi_vector(int count, std::int64_t vector_bytes) const {
    const std::int64_t once = moved_bytes - 2 * vector_bytes;
    Footprint all = *this;
    all.moved_bytes = once + count * 2 * vector_bytes;
    all.effective_bytes = once + count * std::max(effective_bytes - once, 2 * vector_bytes);
    all.flops = count * flops;
    return all;
  }
};

/// An array that an operator holds on its device.
struct StoredArray {
  std::string name;
  std::int64_t size = 0;  ///< elements
  std::int64_t bytes = 0;
};

inline std::int64_t total_bytes(const std::vector<StoredArray>& arrays) {
  return std::accumulate(arrays.begin(), arrays.end(), std::int64_t{0},
                         [](std::int64_t sum, const StoredArray& array) { return sum + array.bytes; });
}

/// The memory that an operator takes beside what it is made from, known before it is made.
struct StorageEstimate {
  std::vector<StoredArray> arrays = {};
  std::int64_t making = 0;          ///< bytes of its device for a moment more, while it is made
  std::int64_t making_on_host = 0;  ///< of the host for that moment, where its device is another
  std::int64_t slack = 0;           ///< how much less than the arrays it may be: that depends on columns or on geometry
  std::int64_t on_host = 0;         ///< of the host for as long as the operator is there, where its device is another
  std::int64_t slack_on_host = 0;   ///< how much less that may be
  std::int64_t persistent = 0;      ///< of its device, while CG has a persistent kernel with it
  bool keeps_matrix = false;        ///< what it stores is the assembled matrix itself
  bool in_chunks = false;           ///< it fits itself into the memory that its device has left
  /// Cost of a product, with 32-bit column indices: exact for stored formats, an estimate from the form for cell-wise
  /// operators.
  Footprint product = {};
  std::int64_t narrow_saves = 0;  ///< bytes that a product moves less where columns of 16 bits fit

  std::int64_t stored() const { return total_bytes(arrays); }
};

}  // namespace femcg::operators
