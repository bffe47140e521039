#pragma once

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// Compressed rows that begin at multiples of `alignment` entries, for aligned loads (Baskaran & Bordawekar 2009). A
/// row's last segment is padded; products leave the padding out.
template <std::floating_point T>
struct AlignedRows {
  using Value = T;
  static constexpr std::string_view name = "csr-aligned";
  static constexpr std::int64_t alignment = 16;

  /// Throws std::invalid_argument for too many entries.
  AlignedRows(const CsrMatrix<T>& matrix, Device device, const Options& given);

  static void arrays(auto& self, auto&& visit) {
    visit("row starts", self.starts, self.rows);
    visit("row lengths", self.lengths, self.rows);
    visit("columns", self.columns, self.entries);
    visit("values", self.values, self.entries);
  }

  /// Moves a row with its padding by one thread per segment of `alignment` entries at most.
  struct Segments {
    Entries<T> source;
    const std::int32_t* starts;
    constexpr std::int64_t count(std::int64_t thread) const {
      return (source.length(thread / alignment) + alignment - 1) / alignment;
    }
    constexpr std::int64_t from(std::int64_t thread, std::int64_t k) const {
      return source.place(thread / alignment, k * alignment + thread % alignment);
    }
    constexpr std::int64_t to(std::int64_t thread, std::int64_t k) const {
      return (starts[thread / alignment] + k) * alignment + thread % alignment;
    }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    move(rows * alignment, Segments{source, starts.data()}, columns, values);
  }

  std::int64_t read_bytes(Device) const {
    return nonzeros * std::int64_t{sizeof(T) + sizeof(std::int32_t)} + 8 * std::int64_t{rows};
  }
  std::map<std::string, std::string> chosen() const { return {}; }

  auto work() const {
    return [this](std::int64_t row) { return row < rows ? starts[row] * alignment : entries; };
  }
  struct ByRows {
    using Value = T;
    struct Row {
      std::int32_t number, count;
      std::int64_t begin;
    };
    std::int32_t rows;
    const std::int32_t *starts, *lengths, *columns;
    const T* values;
    constexpr Row find(std::int32_t row) const { return {row, lengths[row], std::int64_t{starts[row]} * alignment}; }
    constexpr std::int32_t column(const Row& row, std::int32_t k) const { return columns[row.begin + k]; }
    constexpr T value(const Row& row, std::int32_t k) const { return values[row.begin + k]; }
  };
  ByRows by_rows() const { return {rows, starts.data(), lengths.data(), columns.data(), values.data()}; }
  double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;

  std::int32_t rows;
  std::int64_t nonzeros;
  std::int64_t entries = 0;      ///< padding included
  Vector<std::int32_t> starts;   ///< begin of each row over `alignment`: 32 bits reach 3.4e10 entries
  Vector<std::int32_t> lengths;  ///< of each row, without padding
  Vector<std::int32_t> columns;  ///< padding has the row's last column
  Vector<T> values;              ///< padding has the value 0
};

OperatorDescription csr_aligned();
Makers csr_aligned_on_gpu();

}  // namespace femcg::operators
