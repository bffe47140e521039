#pragma once

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

enum class Padding { multiplied, skipped };

/// Rows padded to the longest one and stored column by column: entry k of every row, then entry k + 1 (Bell & Garland
/// 2009). ELLPACK-R also stores row lengths, so that the product skips the padding (Kreutzer et al. 2012, listing 1).
template <std::floating_point T, Padding padding>
struct EllpackFormat {
  using Value = T;
  static constexpr std::string_view name = padding == Padding::skipped ? "ellpack-r" : "ellpack";
  static constexpr std::int64_t group_rows = 8;

  /// Throws std::invalid_argument if padding takes more than 1 GiB and four times the matrix itself.
  EllpackFormat(const CsrMatrix<T>& matrix, Device device, const Options& given);

  static void arrays(auto& self, auto&& visit) {
    if (padding == Padding::skipped) visit("row lengths", self.lengths, self.stride);
    visit("columns", self.columns, self.entries);
    visit("values", self.values, self.entries);
  }

  /// Moves a row with its padding by one thread: adjacent threads write adjacent entries.
  struct Rows {
    Entries<T> source;
    std::int64_t width, stride;
    constexpr std::int64_t count(std::int64_t) const { return width; }
    constexpr std::int64_t from(std::int64_t row, std::int64_t k) const { return source.place(row, k); }
    constexpr std::int64_t to(std::int64_t row, std::int64_t k) const { return k * stride + row; }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    move(stride, Rows{source, width, stride}, columns, values);
  }

  std::int64_t read_bytes(Device) const {
    const std::int64_t read = padding == Padding::skipped ? nonzeros : entries;
    return read * std::int64_t{sizeof(T) + sizeof(std::int32_t)} + lengths.bytes();
  }
  std::map<std::string, std::string> chosen() const { return {}; }

  auto work() const { return EqualRows{}; }
  struct ByRows {
    using Value = T;
    struct Row {
      std::int32_t number, count;
    };
    std::int32_t rows, width;
    std::int64_t stride;
    const std::int32_t* lengths;  ///< null: every row has `width` entries
    const std::int32_t* columns;
    const T* values;
    constexpr Row find(std::int32_t row) const { return {row, lengths == nullptr ? width : lengths[row]}; }
    constexpr std::int64_t at(const Row& row, std::int32_t k) const { return k * stride + row.number; }
    constexpr std::int32_t column(const Row& row, std::int32_t k) const { return columns[at(row, k)]; }
    constexpr T value(const Row& row, std::int32_t k) const { return values[at(row, k)]; }
  };
  ByRows by_rows() const {
    return {rows,           static_cast<std::int32_t>(width),
            stride,         padding == Padding::skipped ? lengths.data() : nullptr,
            columns.data(), values.data()};
  }
  double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;

  std::int32_t rows;
  std::int64_t nonzeros;
  std::int64_t width;            ///< of the longest row
  std::int64_t stride;           ///< rows, rounded up to whole groups
  std::int64_t entries;          ///< width times stride
  Vector<std::int32_t> lengths;  ///< [stride]: of each row, without padding; ELLPACK-R only
  Vector<std::int32_t> columns;  ///< [width][stride]; padding has a column that the product reads anyway
  Vector<T> values;              ///< [width][stride]; padding is 0
};

template <class T>
using Ellpack = EllpackFormat<T, Padding::multiplied>;
template <class T>
using EllpackR = EllpackFormat<T, Padding::skipped>;

OperatorDescription ellpack();
OperatorDescription ellpack_r();
Makers ellpack_on_gpu();
Makers ellpack_r_on_gpu();

}  // namespace femcg::operators
