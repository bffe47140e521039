// Stored: chunks of C rows, padded to the longest of each chunk, as values and 32-bit columns, entry k of the chunk's
// rows before entry k + 1; a 64-bit offset per chunk; with sigma > 1 the 32-bit number of each row. A product moves
// sizeof(T) + 4 bytes per entry, padding included, 8 / C + 4 a row, and x and y once.
//
// Threads take blocks of chunks with about equal entries. A chunk's C sums stay in registers, four to a pack, without
// remainders and without sums across a register, which benefits short rows.

#include "operators/stored/sell/sell.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/options.hpp"
#include "operators/persistent/row_layout.hpp"
#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/common/stored_format.hpp"
#include "operators/stored/sell/sell_matrix.hpp"
#include "operators/stored/sell/sell_rows.hpp"
#include "operators/stored/sell/sell_shape.hpp"

namespace femcg::operators {

namespace {

bool is_chunk_rows(std::string_view text) { return text == "auto" || is_power_of_two(text, 4, 128); }
bool is_sorting_window(std::string_view text) {
  return text == "auto" || text == "all" || parse_positive(text).has_value();
}

constexpr std::array options{
    OptionDescription{"C", "auto, 4, 8, 16, 32, 64 or 128", "auto", "rows per chunk: 8 on the CPU, 32 on the GPU",
                      is_chunk_rows},
    OptionDescription{
        "sigma", "auto, 1, a multiple of C, or all", "auto",
        "rows sorted by length together: 1 where that saves nothing, else 512 on the CPU, 4608 on the GPU",
        is_sorting_window},
    OptionDescription{"index", "auto, 16 or 32", "auto", "GPU: bits of a stored column", is_index},
    values_option,
    resident_option,
    gpu_memory_option,
};
constexpr const OptionDescription& pjds_index = options[2];

/// Arrays of the matrix as plain pointers.
template <std::floating_point Value>
struct Chunks {
  std::int64_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const Value* values;
  const std::int32_t* places;  ///< row at each position; null if rows keep their order
};

/// y = A x on the rows of chunks first <= chunk < last.
template <std::floating_point T, std::floating_point Value, int C>
void multiply_chunks(const Chunks<Value>& chunks, const T* x, T* y, std::int64_t first, std::int64_t last) {
  std::int64_t begin = chunks.offsets[first];
  for (std::int64_t chunk = first; chunk < last; ++chunk) {
    const std::int64_t end = chunks.offsets[chunk + 1];
    std::array<Quad<T>, C / 4> sums{};
    for (; begin < end; begin += C) {
      const Value* values = chunks.values + begin;
      const std::int32_t* columns = chunks.columns + begin;
#pragma GCC unroll 32
      for (int i = 0; i < C; i += 4) {
        if (i % 8 == 0) prefetch_ahead(values + i);
        if (i % 16 == 0) prefetch_ahead(columns + i);
        sums[i / 4] += load_as<T, 4>(values + i) * pick_four(x, columns + i);
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

/// Sum of x_i y_i over the rows at positions first <= position < last.
template <std::floating_point T>
double dot_of_places(const T* x, const T* y, const std::int32_t* places, std::int64_t first, std::int64_t last) {
  Quad<double> sums{};
  for (; first + 4 <= last; first += 4)
    sums += widen<T>(pick_four(x, places + first)) * widen<T>(pick_four(y, places + first));
  for (; first < last; ++first)
    sums[0] += static_cast<double>(x[places[first]]) * static_cast<double>(y[places[first]]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <std::floating_point T, std::floating_point Value>
using MultiplyChunks = void (*)(const Chunks<Value>&, const T*, T*, std::int64_t, std::int64_t);

template <std::floating_point T, std::floating_point Value>
MultiplyChunks<T, Value> multiply_chunks_of(std::int64_t chunk_rows) {
  switch (chunk_rows) {
    case 4:
      return multiply_chunks<T, Value, 4>;
    case 8:
      return multiply_chunks<T, Value, 8>;
    case 16:
      return multiply_chunks<T, Value, 16>;
    case 32:
      return multiply_chunks<T, Value, 32>;
    case 64:
      return multiply_chunks<T, Value, 64>;
    default:
      return multiply_chunks<T, Value, 128>;
  }
}

/// Value is T, or float in a loop of double precision.
template <std::floating_point T, std::floating_point Value = T>
class Sell final : public Operator<T> {
 public:
  Sell(SellMatrix<Value> matrix, Vector<T> diagonal)
      : Operator<T>(static_cast<std::int32_t>(matrix.rows), Device::host),
        matrix_(std::move(matrix)),
        diagonal_(std::move(diagonal)),
        multiply_chunks_(multiply_chunks_of<T, Value>(matrix_.chunk_rows)) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override {
    return with_vectors_of<T, Value>(footprint_of(matrix_, matrix_.columns.bytes()), this->size());
  }
  const Vector<std::int32_t>& ordering() const override { return matrix_.ordering; }
  std::map<std::string, std::string> chosen() const override {
    return {{"C", std::to_string(matrix_.chunk_rows)}, {"sigma", std::to_string(matrix_.sigma)}};
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Chunks<Value> all{this->size(), matrix_.offsets.data(), matrix_.columns.data(), matrix_.values.data(),
                            matrix_.places.data()};
    const T* from = x.data();
    T* to = y.data();
    const auto rows_times_vector = [=, this](std::int64_t first, std::int64_t last) {
      multiply_chunks_(all, from, to, first / matrix_.chunk_rows, (last + matrix_.chunk_rows - 1) / matrix_.chunk_rows);
      if (energy == nullptr) return 0.0;
      return all.places == nullptr ? dot_of_rows(from, to, first, last)
                                   : dot_of_places(from, to, all.places, first, last);
    };
    const double sum = sum_over_row_blocks(this->size(), matrix_.entries_before(), rows_times_vector);
    if (energy != nullptr) *energy->data() = sum;
  }

  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    multiply_multi_vector_by_rows(sell_by_rows(matrix_, matrix_.columns.data(), nullptr), matrix_.entries_before(), x,
                                  y, energies);
  }

  SellMatrix<Value> matrix_;
  Vector<T> diagonal_;
  MultiplyChunks<T, Value> multiply_chunks_;
};

/// `rows` rounded up to whole chunks, at least one.
std::int64_t rounded_up(std::int64_t rows, std::int64_t chunk_rows) {
  return std::max<std::int64_t>(1, (rows + chunk_rows - 1) / chunk_rows) * chunk_rows;
}

/// True if rows in their own order have less padding than the numbers of sorted rows would take.
template <std::floating_point T>
bool is_even(const CsrMatrix<T>& matrix, std::int64_t chunk_rows) {
  const std::int64_t padding = lists_of_sell(matrix, chunk_rows, 1).entries - matrix.nonzeros();
  return padding * std::int64_t{sizeof(T) + sizeof(std::int32_t)} < matrix.rows * std::int64_t{sizeof(std::int32_t)};
}

/// Option index: bits of a stored column.
std::string_view chosen_index(Device device, const OptionDescription& option, std::string_view name,
                              const Options& given) {
  if (device == Device::host) require_default(option, name, given, "columns have 32 bits");
  return value_of(option, name, given);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell(const Ingredients<T>& from, const Options& given) {
  chosen_residence("sell", Device::host, given);
  const SellShape shape = chosen_sell_shape(*from.matrix, Device::host, given);
  Vector<T> diagonal = diagonal_of(*from.matrix);
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given))
      return std::make_unique<Sell<double, float>>(to_sell(to_single(*from.matrix), shape.chunk_rows, shape.sigma),
                                                   std::move(diagonal));
  return std::make_unique<Sell<T>>(to_sell(*from.matrix, shape.chunk_rows, shape.sigma), std::move(diagonal));
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_pjds(const Ingredients<T>& from, const Options& given) {
  const SellShape shape = chosen_pjds_shape(from.matrix->rows, Device::host, given);
  SellMatrix<T> matrix = to_sell(*from.matrix, shape.chunk_rows, shape.sigma);
  Vector<T> diagonal = diagonal_at_positions(diagonal_of(*from.matrix), matrix.places);
  enter_own_ordering(matrix);
  return std::make_unique<Sell<T>>(std::move(matrix), std::move(diagonal));
}

/// Estimate for a matrix with values of `value_bytes` each, and 16-bit columns if these are required.
template <std::floating_point T, std::floating_point Value>
StorageEstimate estimate_slices(const Extent<T>& of, const SellMatrix<Value>& lists, std::string_view index,
                                std::int64_t value_bytes, bool own_ordering = false) {
  StorageEstimate estimate{.arrays = arrays_of(lists)};
  StoredArray &columns = estimate.arrays[0], &values = estimate.arrays[1];
  values.bytes = value_bytes * lists.entries;
  const std::int64_t order = own_ordering ? lists.places.bytes() : 0;  // permutation of x and y, not read by products
  const std::int64_t stored = estimate.stored(), read = stored - order;
  estimate.product =
      value_bytes < std::int64_t{sizeof(T)}
          ? with_vectors_of<T, float>(stored_footprint<float>(lists.rows, lists.nonzeros, lists.entries, stored, read),
                                      lists.rows)
          : stored_footprint<T>(lists.rows, lists.nonzeros, lists.entries, stored, read);
  const std::int64_t rounded =
      value_bytes < std::int64_t{sizeof(T)} ? bytes_of_rows(*of.matrix) - 4 * lists.nonzeros : 0;
  (of.device == Device::host ? estimate.making : estimate.making_on_host) = rounded;
  if (of.device == Device::host) return estimate;
  estimate.making = bytes_of_rows(*of.matrix);
  estimate.persistent = persistent_bytes(lists.rows, lists.entries, value_bytes);
  const std::int64_t narrow_bytes = 2 * lists.entries + 4 * lists.chunks();  // with a base per chunk
  const std::int64_t saved = std::max<std::int64_t>(0, columns.bytes - narrow_bytes);
  if (index == "16") columns.bytes = narrow_bytes;
  if (index == "auto") estimate.slack = saved;
  if (index == "16") estimate.product.moved_bytes -= saved;
  if (index == "auto") estimate.narrow_saves = saved;
  if (index != "32") estimate.making += 2 * lists.entries;  // both kinds of columns exist during narrowing
  return estimate;
}

/// Estimate for a matrix in chunks of rows on the GPU.
template <std::floating_point Value>
StorageEstimate estimate_chunks(const CsrMatrix<Value>& lengths, const Options& given, const ChunkBudget& budget) {
  StorageEstimate estimate = estimate_of(RowChunks<SellRows<Value>>(lengths, given, budget));
  if (value_of(options[2], "sell", given) != "auto") return estimate;
  Options narrow = given;
  narrow["index"] = "16";
  const StorageEstimate least = estimate_of(RowChunks<SellRows<Value>>(lengths, narrow, budget));
  estimate.slack_on_host = estimate.on_host - least.on_host;
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate_sell(const Extent<T>& of, const Options& given) {
  const SellShape shape = chosen_sell_shape(*of.matrix, of.device, given);
  const Residence residence = chosen_residence("sell", of.device, given);
  const bool single = has_single_values<T>(given);
  std::optional<ChunkBudget> budget;
  if (residence.where == Residence::Where::streamed && of.matrix->rows > 0) {
    budget = chunk_budget(residence, of.reserved_bytes);
  } else {
    const SellMatrix<T> lists = lists_of_sell(*of.matrix, shape.chunk_rows, shape.sigma);
    if (of.device == Device::cuda) budget = chosen_sell_budget(of, given, lists);
    if (!budget) return estimate_slices(of, lists, shape.index, single ? sizeof(float) : sizeof(T));
  }
  if (!single) return estimate_chunks(*of.matrix, given, *budget);
  const CsrMatrix<float> lengths = lengths_in<float>(*of.matrix);
  StorageEstimate estimate = estimate_chunks(lengths, given, *budget);
  estimate.making_on_host += bytes_of_rows(lengths);  // the rounded matrix
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate_pjds(const Extent<T>& of, const Options& given) {
  const SellShape shape = chosen_pjds_shape(of.matrix->rows, of.device, given);
  return estimate_slices(of, lists_of_sell(*of.matrix, shape.chunk_rows, shape.sigma), shape.index, sizeof(T), true);
}

}  // namespace

/// The shape of the options, or the defaults of the device. Quadrilaterals of degree p have p^2 unknowns per cell: 4608
/// rows are whole chunks of 32 of each of their kinds, for all p up to 4.
template <std::floating_point T>
SellShape chosen_sell_shape(const CsrMatrix<T>& matrix, Device device, const Options& given) {
  const bool on_host = device == Device::host;
  const std::string_view window = value_of(options[1], "sell", given);
  const std::string_view index = chosen_index(device, options[2], "sell", given);
  const std::int64_t chunk_rows = parse_positive(value_of(options[0], "sell", given)).value_or(on_host ? 8 : 32);
  if (window == "all") return {chunk_rows, rounded_up(matrix.rows, chunk_rows), index};
  if (window == "auto") return {chunk_rows, is_even(matrix, chunk_rows) ? 1 : on_host ? 512 : 4608, index};
  const std::int64_t sigma = *parse_positive(window);
  if (sigma > 1 && sigma % chunk_rows != 0)
    throw std::invalid_argument(fmt::format(
        "option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = {}, not {}", chunk_rows, window));
  return {chunk_rows, sigma, index};
}

SellShape chosen_pjds_shape(std::int64_t rows, Device device, const Options& given) {
  constexpr std::int64_t chunk_rows = 32;
  return {chunk_rows, rounded_up(rows, chunk_rows), chosen_index(device, pjds_index, "pjds", given)};
}

template <std::floating_point T, std::floating_point Value>
std::optional<ChunkBudget> chosen_sell_budget(const Extent<T>& of, const Options& given,
                                              const SellMatrix<Value>& lists) {
  const Residence residence = chosen_residence("sell", Device::cuda, given);
  const StorageEstimate whole = estimate_slices(of, lists, value_of(options[2], "sell", given), sizeof(Value));
  if (lists.rows == 0 || stays_whole(residence, whole, of.reserved_bytes)) return std::nullopt;
  return chunk_budget(residence, of.reserved_bytes);
}
template std::optional<ChunkBudget> chosen_sell_budget(const Extent<double>&, const Options&,
                                                       const SellMatrix<double>&);
template std::optional<ChunkBudget> chosen_sell_budget(const Extent<double>&, const Options&, const SellMatrix<float>&);
template std::optional<ChunkBudget> chosen_sell_budget(const Extent<float>&, const Options&, const SellMatrix<float>&);

template SellShape chosen_sell_shape(const CsrMatrix<double>&, Device, const Options&);
template SellShape chosen_sell_shape(const CsrMatrix<float>&, Device, const Options&);

OperatorDescription sell() {
  return {.name = "sell",
          .stores = "slices of C rows, each padded to its longest, rows sorted by length within sigma",
          .source = "Kreutzer et al. 2014",
          .needs = Needs::matrix,
          .cuda = true,
          .options = options,
          .on_host = {make_sell<double>, make_sell<float>},
          .estimates = {estimate_sell<double>, estimate_sell<float>},
          .cuda_gains_from_multi_vectors = false};
}

OperatorDescription pjds() {
  return {.name = "pjds",
          .stores = "sell with C = 32, all rows sorted together, CG's vectors in the same order",
          .source = "Kreutzer et al. 2012",
          .needs = Needs::matrix,
          .cuda = true,
          .options = {&pjds_index, 1},
          .on_host = {make_pjds<double>, make_pjds<float>},
          .estimates = {estimate_pjds<double>, estimate_pjds<float>},
          .cuda_gains_from_multi_vectors = false};
}

}  // namespace femcg::operators
