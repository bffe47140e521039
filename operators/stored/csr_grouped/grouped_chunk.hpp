#pragma once

#include <map>
#include <optional>
#include <string>

#include "operators/stored/common/row_chunks.hpp"
#include "operators/stored/csr_grouped/grouped_options.hpp"

namespace femcg::operators {

/// csr-grouped of a chunk of a matrix's rows (operators/stored/common/row_chunks.hpp), on the host. Columns are those
/// of the whole matrix; rows are grouped and sorted within windows of the chunk.
template <std::floating_point Value_>
struct GroupedChunk {
  using Value = Value_;

  /// `matrix` has row lengths only. Option index.
  GroupedChunk(const CsrMatrix<Value>& matrix, Device, const Options& given)
      : a(bound_of_groups(matrix, index_of_groups(given))),
        rows(matrix.rows),
        nonzeros(a.nonzeros),
        entries(a.entries),
        index(index_of_groups(given)) {}

  static void arrays(auto& self, auto&& visit) { GroupedMatrix<Value>::arrays(self.a, visit); }

  /// Finds the groups. Throws std::invalid_argument if 16 bits are required and do not fit.
  void look_at(const Entries<Value>& source, std::int32_t /*column_count*/) {
    const std::int64_t count = source.offsets[source.rows];
    CsrMatrix<Value> matrix;  // a view, not written to
    matrix.rows = rows;
    matrix.row_offsets = {const_cast<std::int64_t*>(source.offsets), source.rows + 1, Device::host};
    matrix.columns = {const_cast<std::int32_t*>(source.columns), count, Device::host};
    a = lists_of_groups(matrix, index);
    entries = a.entries;
  }
  void fill(const Entries<Value>& source) {
    a.move_values(source, [&](std::int64_t threads, const auto& map, auto& values) {
      move_values_on_host(threads, map, source, values);
    });
  }

  std::int64_t read_bytes(Device) const { return total_bytes(arrays_of(a)); }
  std::map<std::string, std::string> chosen() const { return choice_of_groups(a); }

  GroupedMatrix<Value> a;
  std::int32_t rows;
  std::int64_t nonzeros, entries;
  std::string index;
};

/// GPU memory for a matrix in chunks of rows; nothing if the GPU holds the whole matrix.
template <std::floating_point T>
std::optional<ChunkBudget> chosen_grouped_budget(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
