#pragma once

// Options of csr-grouped and properties of its matrix, for both devices.

#include <map>
#include <string>
#include <string_view>

#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/stored_footprint.hpp"
#include "operators/stored/csr_grouped/grouped_matrix.hpp"

namespace femcg::operators {

/// Option index, bits of a start: auto, 16 or 32.
std::string_view index_of_groups(const Options& given);

/// Mean number of rows of a slice that share a list.
template <std::floating_point Value>
double rows_per_list(const GroupedMatrix<Value>& a) {
  return a.lists > 0 ? static_cast<double>(a.rows) / static_cast<double>(a.lists) : 1.0;
}

/// The chosen bits of a start, and the mean number of rows that share a list.
template <std::floating_point Value>
std::map<std::string, std::string> choice_of_groups(const GroupedMatrix<Value>& a);

/// Footprint of a product, which reads all that is stored.
template <std::floating_point T, std::floating_point Value>
Footprint footprint_of_groups(const GroupedMatrix<Value>& a) {
  const std::int64_t bytes = total_bytes(arrays_of(a));
  return with_vectors_of<T, Value>(stored_footprint<Value>(a.rows, a.nonzeros, a.entries, bytes, bytes), a.rows);
}

}  // namespace femcg::operators
