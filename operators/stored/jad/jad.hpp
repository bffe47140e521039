#pragma once

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// Jagged diagonals (Li & Saad 2013; Wang et al. 2017): rows sorted by length, longest first; diagonal k has entry k of
/// every row longer than k, and the row at position p is entry p of each of its diagonals. No padding; rows of one
/// length keep their order.
template <std::floating_point T>
struct JaggedDiagonals {
  using Value = T;
  static constexpr std::string_view name = "jad";

  JaggedDiagonals(const CsrMatrix<T>& matrix, Device device, const Options& given);

  static void arrays(auto& self, auto&& visit) {
    visit("diagonal offsets", self.offsets, self.width);
    visit("row lengths", self.lengths, self.rows);
    visit("rows at positions", self.places, self.rows);
    visit("columns", self.columns, self.entries);
    visit("values", self.values, self.entries);
  }

  /// Moves a row by one thread a position: adjacent threads write adjacent entries.
  struct Positions {
    Entries<T> source;
    const std::int64_t* offsets;
    const std::int32_t *lengths, *places;
    constexpr std::int64_t count(std::int64_t position) const { return lengths[position]; }
    constexpr std::int64_t from(std::int64_t position, std::int64_t k) const {
      return source.offsets[places[position]] + k;
    }
    constexpr std::int64_t to(std::int64_t position, std::int64_t k) const { return offsets[k] + position; }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    move(rows, Positions{source, offsets.data(), lengths.data(), places.data()}, columns, values);
  }

  std::int64_t read_bytes(Device) const {
    return nonzeros * std::int64_t{sizeof(T) + sizeof(std::int32_t)} + 8 * width + 8 * std::int64_t{rows};
  }
  std::map<std::string, std::string> chosen() const { return {}; }

  /// Entries before the block that contains a position, or that it begins.
  auto work() const {
    return [this](std::int64_t position) {
      return entries_before_block[static_cast<std::size_t>((position + rows_per_block - 1) / rows_per_block)];
    };
  }
  struct ByRows {
    using Value = T;
    struct Row {
      std::int32_t number, count, position;
    };
    std::int32_t rows;
    const std::int64_t* offsets;
    const std::int32_t *lengths, *places, *columns;
    const T* values;
    constexpr Row find(std::int32_t position) const { return {places[position], lengths[position], position}; }
    constexpr std::int64_t at(const Row& row, std::int32_t k) const { return offsets[k] + row.position; }
    constexpr std::int32_t column(const Row& row, std::int32_t k) const { return columns[at(row, k)]; }
    constexpr T value(const Row& row, std::int32_t k) const { return values[at(row, k)]; }
  };
  ByRows by_rows() const {
    return {rows, offsets.data(), lengths.data(), places.data(), columns.data(), values.data()};
  }
  double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;

  std::int32_t rows;
  std::int64_t nonzeros;
  std::int64_t width;            ///< entries of the longest row
  std::int64_t entries = 0;      ///< nonzeros, and gaps before long diagonals
  Vector<std::int64_t> offsets;  ///< begin of each diagonal
  Vector<std::int32_t> lengths;  ///< of the row at each position, non-increasing
  Vector<std::int32_t> places;   ///< row at each position
  Vector<std::int32_t> columns;
  Vector<T> values;
  std::vector<std::int64_t> entries_before_block;
};

OperatorDescription jad();
Makers jad_on_gpu();

}  // namespace femcg::operators
