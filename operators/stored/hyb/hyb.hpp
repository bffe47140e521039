#pragma once

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// ELLPACK for the typical row, coordinates for the rest (Bell & Garland 2009). The rest has one coordinate for all
/// entries of a row: entries [rest_offsets[i], rest_offsets[i + 1]) are of row rest_rows[i]. Rows ascend; those of
/// slice s of 32 rows are [rest_of_slice[s], rest_of_slice[s + 1]): the warp of a slice's padded part also adds its
/// rest, without atomics and in a fixed order.
template <std::floating_point T>
struct Hyb {
  using Value = T;
  static constexpr std::string_view name = "hyb";
  static constexpr std::int64_t slice_rows = 32;

  /// Option width. Throws std::invalid_argument if padding takes too much.
  Hyb(const CsrMatrix<T>& matrix, Device device, const Options& given);

  /// Options of every chunk of the matrix, with one width of the padded part.
  static Options options_of_chunks(const CsrMatrix<T>& matrix, Options given);

  static void arrays(auto& self, auto&& visit) {
    visit("row lengths", self.lengths, self.stride);
    visit("columns", self.columns, self.width * self.stride);
    visit("values", self.values, self.width * self.stride);
    visit("rest of slices", self.rest_of_slice, self.stride / slice_rows + 1);
    visit("rest rows", self.rest_rows, self.rest_row_count);
    visit("rest offsets", self.rest_offsets, self.rest_row_count + 1);
    visit("rest columns", self.rest_columns, self.entries - self.width * self.stride);
    visit("rest values", self.rest_values, self.entries - self.width * self.stride);
  }

  /// Moves a row's entries of the padded part, padding included, by one thread.
  struct PaddedRows {
    Entries<T> source;
    std::int64_t width, stride;
    constexpr std::int64_t count(std::int64_t) const { return width; }
    constexpr std::int64_t from(std::int64_t row, std::int64_t k) const { return source.place(row, k); }
    constexpr std::int64_t to(std::int64_t row, std::int64_t k) const { return k * stride + row; }
  };
  /// Moves a row's entries beyond `width` by eight threads.
  struct RestRows {
    static constexpr std::int64_t threads = 8;
    Entries<T> source;
    std::int64_t width;
    const std::int64_t* offsets;
    const std::int32_t* rows;
    constexpr std::int64_t first(std::int64_t thread) const { return offsets[thread / threads] + thread % threads; }
    constexpr std::int64_t count(std::int64_t thread) const {
      return (offsets[thread / threads + 1] - first(thread) + threads - 1) / threads;
    }
    constexpr std::int64_t from(std::int64_t thread, std::int64_t k) const {
      return source.offsets[rows[thread / threads]] + width + thread % threads + k * threads;
    }
    constexpr std::int64_t to(std::int64_t thread, std::int64_t k) const { return first(thread) + k * threads; }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    move(stride, PaddedRows{source, width, stride}, columns, values);
    move(rest_row_count * RestRows::threads, RestRows{source, width, rest_offsets.data(), rest_rows.data()},
         rest_columns, rest_values);
  }

  /// The GPU skips padding, by the row lengths.
  std::int64_t read_bytes(Device device) const {
    constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
    const std::int64_t lists = rest_of_slice.bytes() + rest_rows.bytes() + rest_offsets.bytes();
    return lists + (device == Device::cuda ? nonzeros * entry_bytes + lengths.bytes() : entries * entry_bytes);
  }
  std::map<std::string, std::string> chosen() const { return {{"width", std::to_string(width)}}; }

  /// Entries, padding included, before the slice that begins with a row, or before the next slice.
  auto work() const {
    return [this](std::int64_t row) {
      return row * width + rest_offsets[rest_of_slice[(row + slice_rows - 1) / slice_rows]];
    };
  }
  struct ByRows {
    using Value = T;
    struct Row {
      std::int32_t number, count, padded;  ///< entries, and those in the padded part
      std::int64_t rest;                   ///< first entry of the rest
    };
    std::int32_t rows;
    std::int64_t stride;
    const std::int32_t *lengths, *columns;
    const T* values;
    const std::int32_t *rest_of_slice, *rest_rows;
    const std::int64_t* rest_offsets;
    const std::int32_t* rest_columns;
    const T* rest_values;
    constexpr Row find(std::int32_t row) const {
      std::int32_t i = rest_of_slice[row / slice_rows];
      const std::int32_t end = rest_of_slice[row / slice_rows + 1];
      while (i < end && rest_rows[i] < row) ++i;
      const bool has_rest = i < end && rest_rows[i] == row;
      const std::int64_t begin = has_rest ? rest_offsets[i] : 0, last = has_rest ? rest_offsets[i + 1] : 0;
      return {row, lengths[row] + static_cast<std::int32_t>(last - begin), lengths[row], begin};
    }
    constexpr std::int32_t column(const Row& row, std::int32_t k) const {
      return k < row.padded ? columns[k * stride + row.number] : rest_columns[row.rest + k - row.padded];
    }
    constexpr T value(const Row& row, std::int32_t k) const {
      return k < row.padded ? values[k * stride + row.number] : rest_values[row.rest + k - row.padded];
    }
  };
  ByRows by_rows() const {
    return {rows,
            stride,
            lengths.data(),
            columns.data(),
            values.data(),
            rest_of_slice.data(),
            rest_rows.data(),
            rest_offsets.data(),
            rest_columns.data(),
            rest_values.data()};
  }
  double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;

  std::int32_t rows;
  std::int64_t nonzeros;
  std::int64_t width;    ///< entries per row of the padded part
  std::int64_t stride;   ///< rows, rounded up to whole slices
  std::int64_t entries;  ///< of both parts, padding included
  std::int64_t rest_row_count = 0;
  Vector<std::int32_t> columns;  ///< [width][stride]
  Vector<T> values;              ///< [width][stride]
  Vector<std::int32_t> lengths;  ///< [stride]: of rows in the padded part, without padding
  Vector<std::int32_t> rest_of_slice;
  Vector<std::int32_t> rest_rows;
  Vector<std::int64_t> rest_offsets;
  Vector<std::int32_t> rest_columns;
  Vector<T> rest_values;
};

OperatorDescription hyb();
Makers hyb_on_gpu();

}  // namespace femcg::operators
