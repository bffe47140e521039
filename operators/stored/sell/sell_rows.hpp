#pragma once

#include <map>
#include <optional>
#include <string>

#include "operators/stored/common/row_chunks.hpp"
#include "operators/stored/sell/sell_matrix.hpp"

namespace femcg::operators {

/// SELL-C-sigma of a chunk of a matrix's rows (operators/stored/common/row_chunks.hpp), on the host, in the layout of
/// sell on the GPU. Columns are those of the whole matrix, in 32 bits, or in pairs as 16-bit offsets from the base of
/// each slice of C rows if these fit. Rows are sorted by length within the chunk.
template <std::floating_point T>
struct SellRows {
  using Value = T;

  /// `matrix` has row lengths only. Options C, sigma, index.
  SellRows(const CsrMatrix<T>& matrix, Device device, const Options& given);
  static Options options_of_chunks(const CsrMatrix<T>& matrix, Options given);

  static void arrays(auto& self, auto&& visit) {
    visit("columns", self.a.columns, self.is_narrow ? 0 : self.entries);
    visit("narrow columns", self.narrow_columns, self.is_narrow ? self.entries : 0);
    visit("bases", self.bases, self.is_narrow ? self.a.chunks() : 0);
    visit("values", self.a.values, self.entries);
    visit("chunk offsets", self.a.offsets, self.a.chunks() + 1);
    visit("rows at positions", self.a.places, self.a.sigma > 1 ? std::int64_t{self.rows} : 0);
  }

  /// Chooses between 16-bit and 32-bit columns. Throws std::invalid_argument if 16 bits are required and do not fit.
  void look_at(const Entries<T>& source, std::int32_t column_count);
  void fill(const Entries<T>& source);

  std::int64_t read_bytes(Device) const { return total_bytes(arrays_of(*this)); }
  std::map<std::string, std::string> chosen() const {
    return {
        {"C", std::to_string(a.chunk_rows)}, {"sigma", std::to_string(a.sigma)}, {"index", is_narrow ? "16" : "32"}};
  }

  SellMatrix<T> a;
  std::int32_t rows;
  std::int64_t nonzeros, entries;
  bool narrow, wide;  ///< allowed widths of columns
  bool is_narrow;     ///< actual width; before look_at, an upper bound
  Vector<std::int32_t> bases;
  Vector<std::uint16_t> narrow_columns;

 private:
  /// Sources and targets of the entries at a position.
  typename SellMatrix<T>::Positions positions(const Entries<T>& source) const {
    return {source, a.chunk_rows, a.offsets.data(), a.places.size() > 0 ? a.places.data() : nullptr};
  }
};

/// GPU memory for a matrix in chunks of rows; nothing if the GPU holds the whole matrix, which `lists` are of.
template <std::floating_point T, std::floating_point Value>
std::optional<ChunkBudget> chosen_sell_budget(const Extent<T>& of, const Options& given,
                                              const SellMatrix<Value>& lists);

}  // namespace femcg::operators
