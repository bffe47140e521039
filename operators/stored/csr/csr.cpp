// Stored: values, 32-bit columns, 64-bit row offsets. A product moves sizeof(T) + 4 bytes per nonzero and
// 2 sizeof(T) + 8 a row (Reguly & Giles 2012, eq. 4, whose row pointers have 4).
//
// Threads take blocks of rows of about equal bytes; a row is summed four entries at a time, so that neither the latency
// of one chain of additions nor gather instructions (see pick_four) limit the memory bandwidth.

#include "operators/stored/csr/csr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/capabilities.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/options.hpp"
#include "operators/persistent/row_layout.hpp"
#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/assembled/shared_columns.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/common/multi_vector_by_rows.hpp"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/common/stored_footprint.hpp"
#include "operators/stored/csr/csr_launch.hpp"
#include "operators/stored/csr/tiled_rows.hpp"

namespace femcg::operators {

namespace {

/// Sum of values[k] x[columns[k]] over first <= k < last.
template <std::floating_point T, std::floating_point Value>
inline T row_times_vector(const Value* values, const std::int32_t* columns, const T* x, std::int64_t first,
                          std::int64_t last) {
  Quad<T> sums{}, others{};
  std::int64_t k = first;
  for (; k + 8 <= last; k += 8) {
    prefetch_ahead(values + k);
    prefetch_ahead(columns + k);
    sums += load_as<T, 4>(values + k) * pick_four(x, columns + k);
    others += load_as<T, 4>(values + k + 4) * pick_four(x, columns + k + 4);
  }
  sums += others;
  if (k + 4 <= last) {
    sums += load_as<T, 4>(values + k) * pick_four(x, columns + k);
    k += 4;
  }
  Pack<T, 2> pair = Pack<T, 2>{sums[0], sums[1]} + Pack<T, 2>{sums[2], sums[3]};
  if (k + 2 <= last) {
    pair += load_as<T, 2>(values + k) * pick_two(x, columns + k);
    k += 2;
  }
  const T sum = pair[0] + pair[1];
  return k < last ? sum + static_cast<T>(values[k]) * x[columns[k]] : sum;
}

/// Value is T, or float in a loop of double precision.
template <std::floating_point T, std::floating_point Value = T>
class Csr final : public Operator<T>,
                  public std::conditional_t<std::is_same_v<Value, double>, WithSinglePrecision, std::monostate> {
 public:
  explicit Csr(std::shared_ptr<const CsrMatrix<Value>> matrix)
      : Operator<T>(matrix->rows, Device::host), matrix_(std::move(matrix)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    copy(diagonal_of(*matrix_), d);
  }

  /// The operator in single precision, of one in double precision.
  std::unique_ptr<Operator<float>> in_single_precision(std::string_view name) const {
    if constexpr (std::is_same_v<Value, double>)
      if (name == "csr") return std::make_unique<Csr<float>>(in_precision<float>(matrix_));
    return nullptr;
  }

  Footprint footprint() const override {
    const std::int64_t nonzeros = matrix_->nonzeros();
    return with_vectors_of<T, Value>(
        stored_footprint<Value>(this->size(), nonzeros, nonzeros, matrix_->bytes(), matrix_->bytes()), this->size());
  }

 private:
  /// Bytes before a row: of the matrix, and of one vector.
  auto bytes_before() const {
    return [offsets = matrix_->row_offsets.data()](std::int64_t row) {
      constexpr std::int64_t word = sizeof(T), value_word = sizeof(Value);
      return offsets[row] * (value_word + 4) + row * (2 * word + 8);
    };
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    multiply_multi_vector_by_rows(csr_by_rows(*matrix_), bytes_before(), x, y, energies);
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Value* values = matrix_->values.data();
    const T* from = x.data();
    const std::int32_t* columns = matrix_->columns.data();
    const std::int64_t* offsets = matrix_->row_offsets.data();
    T* to = y.data();
    const bool with_energy = energy != nullptr;
    const auto rows_times_vector = [=](std::int64_t first, std::int64_t last) {
      // Sums go to y at the end of the block: a store to y would delay loads of x at the same offset of another page.
      std::array<T, rows_per_block> sums;
      std::int64_t begin = offsets[first];
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t end = offsets[row + 1];
        sums[row - first] = row_times_vector(values, columns, from, begin, end);
        begin = end;
      }
      std::copy_n(sums.data(), last - first, to + first);
      return with_energy ? dot_of_rows(from, to, first, last) : 0.0;
    };
    const double sum = this->size() > 0 ? sum_over_row_blocks(this->size(), bytes_before(), rows_times_vector) : 0.0;
    if (with_energy) *energy->data() = sum;
  }

  std::shared_ptr<const CsrMatrix<Value>> matrix_;
};

bool is_coop(std::string_view text) { return text == "auto" || is_power_of_two(text, 1, 32); }
bool is_repeat(std::string_view text) {
  const auto number = parse_positive(text);
  return text == "auto" || (number && *number <= 1024);
}
bool is_block_size(std::string_view text) {
  const auto number = parse_positive(text);
  return text == "auto" || (number && *number % 32 == 0 && *number <= 1024);
}
bool is_sharing(std::string_view text) { return text == "auto" || text == "own" || text == "shared"; }
bool is_rule(std::string_view text) { return text == "2012" || text == "2026"; }

enum { coop_option, repeat_option, block_size_option, rule_option, index_option, columns_option };
constexpr std::array options{
    OptionDescription{"coop", "auto, 1, 2, 4, 8, 16 or 32", "auto", "GPU: threads per row", is_coop},
    OptionDescription{"repeat", "auto, or 1 to 1024", "auto", "GPU: rows that a group of threads takes in turn",
                      is_repeat},
    OptionDescription{"block_size", "auto, or a multiple of 32 up to 1024", "auto", "GPU: threads per block",
                      is_block_size},
    OptionDescription{"rule", "2012 or 2026", "2026",
                      "GPU: what decides the rest: groups of threads per row (2012), or runs of rows streamed (2026)",
                      is_rule},
    OptionDescription{"index", "auto, 16 or 32", "auto", "GPU: bits of a stored column", is_index},
    OptionDescription{"columns", "auto, own or shared", "auto",
                      "GPU: stored for each row, or once for rows that have the same", is_sharing},
    values_option,
    resident_option,
    gpu_memory_option,
};

std::string_view given_or_default(int option, const Options& given) { return value_of(options[option], "csr", given); }

/// The fixed rule of Reguly & Giles 2012, section 5.4, unless overridden: blocks of 128 threads, threads per row the
/// least power of two above the square root of the mean row length, at least 1500 blocks.
CsrLaunch cooperative_launch(std::int64_t rows, std::int64_t nonzeros, const Options& given) {
  constexpr std::int64_t least_blocks = 1500;
  const auto number = [&](int option) { return parse_positive(given_or_default(option, given)); };
  CsrLaunch launch{.product = CsrProduct::cooperative};
  launch.block_size = static_cast<int>(number(block_size_option).value_or(128));
  const double mean = rows > 0 ? static_cast<double>(nonzeros) / static_cast<double>(rows) : 0.0;
  launch.coop = 1;
  while (launch.coop < 32 && launch.coop <= std::sqrt(mean)) launch.coop *= 2;
  launch.coop = static_cast<int>(number(coop_option).value_or(launch.coop));
  const std::int64_t groups = launch.block_size / launch.coop;
  launch.repeat = static_cast<int>(
      number(repeat_option).value_or(std::clamp<std::int64_t>(rows / (groups * least_blocks), 1, 1024)));
  if (given_or_default(index_option, given) == "16")
    throw std::invalid_argument("operator 'csr' has 16-bit columns only where rows are streamed (rule: 2026)");
  return launch;
}

/// Rows from which sharing pays: smaller systems have a persistent kernel, with columns per row, or stay in the L2
/// cache.
constexpr std::int64_t rows_worth_sharing = 1 << 19;

CsrLaunch shared_columns_launch(const Options& given) {
  for (const int option : {coop_option, repeat_option, block_size_option, index_option})
    if (given_or_default(option, given) != "auto")
      throw std::invalid_argument(fmt::format(
          "operator 'csr' takes '{}' only where each row has its own columns (columns: own)", options[option].name));
  if (given_or_default(rule_option, given) == "2012")
    throw std::invalid_argument("operator 'csr' has shared columns with rule: 2026 only");
  return {.product = CsrProduct::shared_columns};
}

/// Throws std::invalid_argument for options that only the GPU has.
void check_on_host(const Options& given) {
  for (const OptionDescription& option : options)
    if (option.name != values_option.name && option.name != resident_option.name &&
        option.name != gpu_memory_option.name)
      require_default(option, "csr", given, "it has values only");
  chosen_residence("csr", Device::host, given);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  check_on_host(given);
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given))
      return std::make_unique<Csr<double, float>>(std::make_shared<const CsrMatrix<float>>(to_single(*from.matrix)));
  return std::make_unique<Csr<T>>(from.matrix);
}

/// Footprint of a product that reads `read_bytes` besides x and y.
template <std::floating_point T>
Footprint footprint_of_rows(std::int64_t rows, std::int64_t nonzeros, std::int64_t read_bytes, const Options& given) {
  if (has_single_values<T>(given))
    return with_vectors_of<T, float>(stored_footprint<float>(rows, nonzeros, nonzeros, read_bytes, read_bytes), rows);
  return stored_footprint<T>(rows, nonzeros, nonzeros, read_bytes, read_bytes);
}

/// Mean number of rows that share a list of columns, over entries: on hexahedra of degree p the (p - 1)^k dofs inside
/// an edge, face or cell have the same columns. 1 if unknown.
double expected_sharing(const BilinearForm* form) {
  if (form == nullptr || form->space->mesh().shape != mesh::CellShape::hexahedron) return 1;
  const double p = form->space->degree(), inside = p - 1, near = p + 1, far = 2 * p + 1;
  const double edge = 3 * near * far * far, face = 3 * near * near * far, cell = near * near * near;  // lists a cell
  const double vertex = far * far * far;
  if (inside == 0) return 1;
  return (vertex + edge * inside + face * inside * inside + cell * inside * inside * inside) /
         (vertex + edge + face + cell);
}

/// Estimate with shared columns: at most as many groups as rows, at least one for each RowGroup::most_rows.
StorageEstimate with_shared_columns(std::int64_t rows, const StoredArray& columns, const StoredArray& values,
                                    std::int64_t rounded_on_host) {
  const StoredArray groups{"groups of rows", rows, rows * std::int64_t{sizeof(RowGroup)}};
  const StoredArray numbers{"rows", rows, 4 * rows}, first_entries{"first entries", rows, 8 * rows};
  const std::int64_t least = groups.bytes / RowGroup::most_rows;
  return {.arrays = {groups, columns, numbers, first_entries, values},
          .making_on_host = rounded_on_host + least,
          .slack = columns.bytes + groups.bytes - least};
}

/// Estimate for the matrix as a whole. On a GPU rows are streamed unless the options ask for another product: 16-bit
/// row ends, and tiles.
template <std::floating_point T>
StorageEstimate estimate_whole(const Extent<T>& of, const Options& given) {
  const CsrMatrix<T>& matrix = *of.matrix;
  const std::int64_t nonzeros = matrix.nonzeros(), value_bytes = has_single_values<T>(given) ? 4 : sizeof(T);
  const StoredArray columns{"columns", nonzeros, 4 * nonzeros}, values{"values", nonzeros, value_bytes * nonzeros};
  const StoredArray offsets{"row offsets", matrix.row_offsets.size(), matrix.row_offsets.bytes()};
  const auto product_reading = [&](std::int64_t bytes) {
    return footprint_of_rows<T>(matrix.rows, nonzeros, bytes, given);
  };
  if (of.device == Device::host) {
    check_on_host(given);
    return {.arrays = {offsets, columns, values},
            .keeps_matrix = !has_single_values<T>(given),
            .product = product_reading(offsets.bytes + columns.bytes + values.bytes)};
  }
  const std::int64_t rounded_on_host = has_single_values<T>(given) ? offsets.bytes + columns.bytes + values.bytes : 0;
  const CsrLaunch launch = chosen_csr_launch(matrix.rows, nonzeros, given);
  if (launch.product == CsrProduct::cooperative)
    return {.arrays = {offsets, columns, values},
            .making_on_host = rounded_on_host,
            .product = product_reading(offsets.bytes + columns.bytes + values.bytes)};
  const double sharing = expected_sharing(of.form);
  // As in the GPU's version for default options (csr.cu, sharing_pays).
  const bool shares = launch.product == CsrProduct::automatic && nonzeros >= 100 * std::int64_t{matrix.rows} &&
                      sharing >= (value_bytes == 8 ? 2 : 4);
  const Footprint of_shared = product_reading(
      values.bytes + static_cast<std::int64_t>(static_cast<double>(columns.bytes) / sharing) + 16 * matrix.rows);
  if (launch.product == CsrProduct::shared_columns) {
    StorageEstimate shared = with_shared_columns(matrix.rows, columns, values, rounded_on_host);
    shared.product = of_shared;
    return shared;
  }
  const bool perhaps_shared = launch.product == CsrProduct::automatic;
  const auto tiles = static_cast<std::int64_t>(streamed::cut_into_tiles<T>(matrix).size());
  const std::int64_t tile_bytes = tiles * std::int64_t{sizeof(streamed::Tile)};
  return {.arrays = {{"row ends", matrix.rows, 2 * std::int64_t{matrix.rows}},
                     {"tiles", tiles, tile_bytes},
                     launch.wide ? columns : StoredArray{"columns", nonzeros, 2 * nonzeros},
                     values},
          .making = launch.narrow ? 4 * nonzeros : 0,  // the wide columns, during narrowing
          .making_on_host = rounded_on_host,
          .slack = perhaps_shared                 ? 4 * nonzeros
                   : launch.narrow && launch.wide ? 2 * nonzeros
                                                  : 0,
          .persistent = persistent_bytes(matrix.rows, nonzeros, value_bytes),
          .product = shares ? of_shared : product_reading(2 * matrix.rows + tile_bytes + columns.bytes + values.bytes),
          .narrow_saves = launch.narrow && !shares ? 2 * nonzeros : 0};
}

/// Estimate for chunks of a matrix with values of type Value.
template <std::floating_point T, std::floating_point Value>
StorageEstimate estimate_chunks(const CsrMatrix<Value>& lengths, const Options& given, const ChunkBudget& budget) {
  StorageEstimate estimate = estimate_of(RowChunks<TiledRows<T, Value>>(lengths, given, budget));
  if (value_of(options[index_option], "csr", given) != "auto") return estimate;
  Options narrow = given;
  narrow["index"] = "16";
  const StorageEstimate least = estimate_of(RowChunks<TiledRows<T, Value>>(lengths, narrow, budget));
  estimate.slack_on_host = estimate.on_host - least.on_host;
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const std::optional<ChunkBudget> budget =
      of.device == Device::cuda ? chosen_csr_budget(of, given) : std::optional<ChunkBudget>();
  if (!budget) return estimate_whole(of, given);
  if (!has_single_values<T>(given)) return estimate_chunks<T>(*of.matrix, given, *budget);
  const CsrMatrix<float> lengths = lengths_in<float>(*of.matrix);
  StorageEstimate estimate = estimate_chunks<T>(lengths, given, *budget);
  estimate.making_on_host += bytes_of_rows(lengths);  // the rounded matrix
  return estimate;
}

}  // namespace

template <std::floating_point T>
std::optional<ChunkBudget> chosen_csr_budget(const Extent<T>& of, const Options& given) {
  const CsrMatrix<T>& matrix = *of.matrix;
  const Residence residence = chosen_residence("csr", Device::cuda, given);
  const CsrProduct product = chosen_csr_launch(matrix.rows, matrix.nonzeros(), given).product;
  const bool can_be_cut = product == CsrProduct::streamed || product == CsrProduct::automatic;
  if (!can_be_cut && residence.where == Residence::Where::streamed)
    throw std::invalid_argument(
        "operator 'csr' has rows of the host's memory (resident: streamed) only with rule: 2026 and each row's own "
        "columns");
  if (!can_be_cut && residence.limit)
    throw std::invalid_argument("operator 'csr' takes 'gpu_memory' only with rule: 2026 and each row's own columns");
  if (!can_be_cut || matrix.rows == 0 ||
      (residence.where != Residence::Where::streamed &&
       stays_whole(residence, estimate_whole(of, given), of.reserved_bytes)))
    return std::nullopt;
  return chunk_budget(residence, of.reserved_bytes);
}
template std::optional<ChunkBudget> chosen_csr_budget(const Extent<double>&, const Options&);
template std::optional<ChunkBudget> chosen_csr_budget(const Extent<float>&, const Options&);

/// Rows are streamed unless the options concern groups of threads, or many rows have the same columns.
CsrLaunch chosen_csr_launch(std::int64_t rows, std::int64_t nonzeros, const Options& given) {
  const auto said = [&](int option) { return given_or_default(option, given) != "auto"; };
  const std::string_view rule = given_or_default(rule_option, given);
  const std::string_view sharing = given_or_default(columns_option, given);
  if (sharing == "shared") return shared_columns_launch(given);
  if (rule == "2012" || said(coop_option) || said(repeat_option) || said(block_size_option)) {
    if (rule == "2026" && given.contains("rule"))
      throw std::invalid_argument("operator 'csr' takes coop, repeat and block_size with rule: 2012 only");
    return cooperative_launch(rows, nonzeros, given);
  }
  const std::string_view index = given_or_default(index_option, given);
  if (sharing == "auto" && index == "auto" && rows >= rows_worth_sharing) return {.product = CsrProduct::automatic};
  return {.product = CsrProduct::streamed, .narrow = index != "32", .wide = index != "16"};
}

OperatorDescription csr() {
  return {.name = "csr",
          .stores = "compressed rows",
          .source = "Reguly & Giles 2012; Greathouse & Daga 2014; Balay et al. 1997",
          .needs = Needs::matrix,
          .cuda = true,
          .options = options,
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>}};
}

}  // namespace femcg::operators
