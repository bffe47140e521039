// Stored: chunks of C rows, padded to the longest of each chunk, as values and 32-bit columns, entry k of the chunk's
// rows before entry k + 1; a 64-bit offset a chunk; with sigma > 1 the 32-bit place of each row. A product moves
// sizeof(T) + 4 bytes an entry, padding included, 8 / C + 4 a row, and x and y once.
//
// Threads share blocks of chunks by entries. A chunk's C sums stay in registers, four to a pack; there is no remainder
// to treat and no sum across a register, which short rows profit from.

#include "operators/sell/sell.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "operators/quad.hpp"
#include "operators/row_blocks.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

std::optional<std::int64_t> parse_positive(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

bool is_chunk_rows(std::string_view text) {
  const auto number = parse_positive(text);
  return number && *number >= 4 && *number <= 128 && std::has_single_bit(static_cast<std::uint64_t>(*number));
}

bool is_sorting_window(std::string_view text) { return text == "all" || parse_positive(text).has_value(); }

constexpr std::array options{
    OptionDescription{"C", "4, 8, 16, 32, 64 or 128", "8", "rows a chunk", is_chunk_rows},
    OptionDescription{"sigma", "1, a multiple of C, or all", "512", "rows that are sorted by length together",
                      is_sorting_window},
};

std::string_view value_of(const OptionDescription& option, const Options& given) {
  const auto found = given.find(std::string(option.name));
  if (found == given.end()) return option.default_value;
  if (!option.accepts(found->second))
    throw std::invalid_argument(
        fmt::format("option '{}' of operator 'sell' must be {}, not '{}'", option.name, option.values, found->second));
  return found->second;
}

/// What the product reads, as plain pointers.
template <std::floating_point T>
struct Chunks {
  std::int64_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const std::int32_t* places;  ///< the row at each position; null where rows keep their order
};

/// y = A x on the rows of chunks first <= chunk < last.
template <std::floating_point T, int C>
void multiply_chunks(const Chunks<T>& chunks, const T* x, T* y, std::int64_t first, std::int64_t last) {
  std::int64_t begin = chunks.offsets[first];
  for (std::int64_t chunk = first; chunk < last; ++chunk) {
    const std::int64_t end = chunks.offsets[chunk + 1];
    std::array<Quad<T>, C / 4> sums{};
    for (; begin < end; begin += C) {
      const T* values = chunks.values + begin;
      const std::int32_t* columns = chunks.columns + begin;
#pragma GCC unroll 32
      for (int i = 0; i < C; i += 4) {
        if (i % 8 == 0) prefetch_ahead(values + i);
        if (i % 16 == 0) prefetch_ahead(columns + i);
        sums[i / 4] += load<4>(values + i) * pick_four(x, columns + i);
      }
    }
    std::array<T, C> of_rows;
    std::memcpy(of_rows.data(), sums.data(), sizeof of_rows);
    const std::int64_t position = chunk * C;
    const std::int64_t count = std::min<std::int64_t>(C, chunks.rows - position);
    if (chunks.places == nullptr)
      std::copy_n(of_rows.data(), count, y + position);
    else
      for (std::int64_t i = 0; i < count; ++i) y[chunks.places[position + i]] = of_rows[i];
  }
}

/// sum of x_i y_i over the rows at positions first <= position < last.
template <std::floating_point T>
double dot_of_places(const T* x, const T* y, const std::int32_t* places, std::int64_t first, std::int64_t last) {
  Quad<double> sums{};
  for (; first + 4 <= last; first += 4)
    sums += widen<T>(pick_four(x, places + first)) * widen<T>(pick_four(y, places + first));
  for (; first < last; ++first)
    sums[0] += static_cast<double>(x[places[first]]) * static_cast<double>(y[places[first]]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <std::floating_point T>
using MultiplyChunks = void (*)(const Chunks<T>&, const T*, T*, std::int64_t, std::int64_t);

template <std::floating_point T>
MultiplyChunks<T> multiply_chunks_of(std::int64_t chunk_rows) {
  switch (chunk_rows) {
    case 4:
      return multiply_chunks<T, 4>;
    case 8:
      return multiply_chunks<T, 8>;
    case 16:
      return multiply_chunks<T, 16>;
    case 32:
      return multiply_chunks<T, 32>;
    case 64:
      return multiply_chunks<T, 64>;
    default:
      return multiply_chunks<T, 128>;
  }
}

template <std::floating_point T>
class Sell final : public Operator<T> {
 public:
  Sell(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma)
      : Operator<T>(matrix.rows, Device::host),
        nonzeros_(matrix.nonzeros()),
        chunk_rows_(chunk_rows),
        multiply_chunks_(multiply_chunks_of<T>(chunk_rows)) {
    if (sigma > 1) sort_rows(matrix, sigma);
    set_offsets(matrix);
    values_ = Vector<T>(offsets_[chunks()]);
    columns_ = Vector<std::int32_t>(offsets_[chunks()]);
    // The threads that multiply a block fill it, which places its pages.
    for_row_blocks(matrix.rows, entries_before(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t position = first; position < end_of_chunks(last); ++position) fill_row(matrix, position);
    });
  }

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), entries_before(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t position = first; position < last; ++position) {
        const std::int64_t chunk = position / chunk_rows_, row = row_at(position);
        T sum = 0;  // padding adds zeros
        for (std::int64_t k = offsets_[chunk] + position % chunk_rows_; k < offsets_[chunk + 1]; k += chunk_rows_)
          if (columns_[k] == row) sum += values_[k];
        d[row] = sum;
      }
    });
  }

  Footprint footprint() const override {
    const std::int64_t bytes = values_.bytes() + columns_.bytes() + offsets_.bytes() + places_.bytes();
    return stored_footprint<T>(this->size(), nonzeros_, values_.size(), bytes, bytes);
  }

 private:
  std::int64_t chunks() const { return (this->size() + chunk_rows_ - 1) / chunk_rows_; }
  std::int64_t end_of_chunks(std::int64_t last_row) const {
    return last_row == this->size() ? chunks() * chunk_rows_ : last_row;
  }
  std::int64_t row_at(std::int64_t position) const { return places_.size() > 0 ? places_[position] : position; }
  auto entries_before() const {
    return [this](std::int64_t row) { return offsets_[(row + chunk_rows_ - 1) / chunk_rows_]; };
  }

  void sort_rows(const CsrMatrix<T>& matrix, std::int64_t sigma) {
    places_ = Vector<std::int32_t>(matrix.rows);
    std::iota(places_.data(), places_.data() + matrix.rows, 0);
    const auto longer = [&](std::int32_t a, std::int32_t b) {
      return matrix.row_offsets[a + 1] - matrix.row_offsets[a] > matrix.row_offsets[b + 1] - matrix.row_offsets[b];
    };
    const std::int64_t windows = (matrix.rows + sigma - 1) / sigma;
#pragma omp parallel for schedule(static) if (windows > 1)
    for (std::int64_t window = 0; window < windows; ++window)
      std::stable_sort(places_.data() + window * sigma,
                       places_.data() + std::min<std::int64_t>(matrix.rows, (window + 1) * sigma), longer);
  }

  void set_offsets(const CsrMatrix<T>& matrix) {
    offsets_ = Vector<std::int64_t>(chunks() + 1);
    offsets_[0] = 0;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      std::int64_t longest = 0;
      for (std::int64_t position = chunk * chunk_rows_;
           position < std::min<std::int64_t>(matrix.rows, (chunk + 1) * chunk_rows_); ++position) {
        const std::int64_t row = row_at(position);
        longest = std::max(longest, matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
      }
      offsets_[chunk + 1] = offsets_[chunk] + longest * chunk_rows_;
    }
  }

  /// Padding repeats the row's last column (an empty row's own) with value 0: the product reads nothing new of x.
  void fill_row(const CsrMatrix<T>& matrix, std::int64_t position) {
    const bool exists = position < matrix.rows;
    const std::int64_t row = exists ? row_at(position) : matrix.rows - 1;
    const std::int64_t begin = matrix.row_offsets[row];
    const std::int64_t length = exists ? matrix.row_offsets[row + 1] - begin : 0;
    const std::int32_t pad = length > 0 ? matrix.columns[begin + length - 1] : static_cast<std::int32_t>(row);
    const std::int64_t chunk = position / chunk_rows_;
    std::int64_t k = 0;
    for (std::int64_t at = offsets_[chunk] + position % chunk_rows_; at < offsets_[chunk + 1]; at += chunk_rows_, ++k) {
      values_[at] = k < length ? matrix.values[begin + k] : T(0);
      columns_[at] = k < length ? matrix.columns[begin + k] : pad;
    }
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Chunks<T> all{this->size(), offsets_.data(), columns_.data(), values_.data(), places_.data()};
    const T* from = x.data();
    T* to = y.data();
    const auto rows_times_vector = [=, this](std::int64_t first, std::int64_t last) {
      multiply_chunks_(all, from, to, first / chunk_rows_, (last + chunk_rows_ - 1) / chunk_rows_);
      if (energy == nullptr) return 0.0;
      return all.places == nullptr ? dot_of_rows(from, to, first, last)
                                   : dot_of_places(from, to, all.places, first, last);
    };
    const double sum = sum_over_row_blocks(this->size(), entries_before(), rows_times_vector);
    if (energy != nullptr) *energy->data() = sum;
  }

  std::int64_t nonzeros_, chunk_rows_;
  MultiplyChunks<T> multiply_chunks_;
  Vector<std::int64_t> offsets_;  ///< chunks + 1
  Vector<std::int32_t> columns_;
  Vector<T> values_;
  Vector<std::int32_t> places_;  ///< the row at each position; empty where sigma is 1
};

}  // namespace

std::span<const OptionDescription> sell_options() { return options; }

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell(const Ingredients<T>& from, const Options& given) {
  const std::int64_t chunk_rows = *parse_positive(value_of(options[0], given));
  const std::string_view window = value_of(options[1], given);
  const std::int64_t rows = from.matrix->rows;
  const std::int64_t sigma = window == "all" ? std::max<std::int64_t>(1, rows) : *parse_positive(window);
  if (window != "all" && sigma != 1 && sigma % chunk_rows != 0)
    throw std::invalid_argument(fmt::format(
        "option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = {}, not {}", chunk_rows, window));
  return std::make_unique<Sell<T>>(*from.matrix, chunk_rows, sigma);
}

template std::unique_ptr<Operator<double>> make_sell(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_sell(const Ingredients<float>&, const Options&);

}  // namespace femcg::operators
