// SELL-C-sigma on the GPU: one thread a row, so that a warp loads 32 contiguous values and columns of neighbouring
// rows; nine or sixteen entries of a row are in flight together. Columns are 16-bit offsets from the chunk's least
// column if these fit, two of a row adjacent. Moves sizeof(T) + 2 or 4 bytes per entry, padding included, (8 + 4) / C a
// row and, if rows are sorted, 4, and x and y once (Kreutzer et al. 2012).

#include <type_traits>

#include "operators/backend/cuda/product.cuh"
#include "operators/persistent/persistent_rows.cuh"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/chunked_operator.cuh"
#include "operators/stored/common/conversion.cuh"
#include "operators/stored/common/multi_vector_by_rows.cuh"
#include "operators/stored/common/turning_positions.cuh"
#include "operators/stored/sell/sell.hpp"
#include "operators/stored/sell/sell_matrix.hpp"
#include "operators/stored/sell/sell_rows.hpp"
#include "operators/stored/sell/sell_shape.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = rows_per_run;
constexpr int resident_blocks = 4;  ///< per multiprocessor: at most 64 registers per thread
constexpr int few = 9, many = 16;   ///< entries of a row in flight together; 9 are a row of bilinear quadrilaterals

template <class T, class Column, class Value = T>
struct Chunks {
  std::int64_t rows;
  const std::int64_t* offsets;
  const Column* columns;
  const Value* values;
  const std::int32_t* places;  ///< row at each position; null if rows keep their order
  const std::int32_t* bases;   ///< least column of each chunk; null for 32-bit columns
};

/// Sum of a row of `length` entries, at `lane` of a chunk that begins at `values` and `columns`, with `at_once` entries
/// in flight together. Loads beyond the end of the last batch repeat its first entry.
template <int C, int at_once, class T, class Value>
__device__ T sum_row(const Value* values, const std::int32_t* columns, int lane, const T* x, int length) {
  values += lane;
  columns += lane;
  T sum = 0;
  for (int k = 0; k < length; k += at_once, values += at_once * C, columns += at_once * C) {
    std::int32_t column[at_once];
    Value value[at_once];
    T of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const bool there = k + i < length;
      column[i] = cuda::load_once(columns + (there ? i * C : 0));
      value[i] = there ? cuda::load_once(values + i * C) : Value(0);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) of_x[i] = __ldg(x + column[i]);
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += static_cast<T>(value[i]) * of_x[i];
  }
  return sum;
}

/// The same with 16-bit columns in pairs. An odd last entry comes with the last batch; 32-bit columns have no registers
/// left for that: written in this way they cost a fifth to a third in double precision.
template <int C, int at_once, class T, class Value>
__device__ T sum_row(const Value* values, const std::uint16_t* columns, int lane, const T* x, int length) {
  constexpr int paired = at_once / 2 * 2;
  const int even = length / 2 * 2;
  const std::int64_t last = std::int64_t{length - 1} * C + lane;
  if (length == 0) return 0;
  if (even == 0) return static_cast<T>(cuda::load_once(values + last)) * __ldg(x + cuda::load_once(columns + last));
  const Value* const value_last = values + last;
  const std::uint16_t* const column_last = columns + last;
  const auto* pairs = reinterpret_cast<const std::uint32_t*>(columns) + lane;
  values += lane;
  T sum = 0;
  for (int k = 0; k < even; k += paired, values += paired * C, pairs += paired / 2 * C) {
    std::int32_t column[paired + 1];
    Value value[paired + 1];
    T of_x[paired + 1];
    const bool with_last = even < length && k + paired >= even;
#pragma unroll
    for (int i = 0; i < paired; i += 2) {
      const std::uint32_t pair = cuda::load_once(pairs + (k + i < even ? i / 2 * C : 0));
      column[i] = static_cast<std::int32_t>(pair & 0xffff);
      column[i + 1] = static_cast<std::int32_t>(pair >> 16);
    }
    column[paired] = with_last ? cuda::load_once(column_last) : column[0];
#pragma unroll
    for (int i = 0; i < paired; ++i) value[i] = k + i < even ? cuda::load_once(values + i * C) : Value(0);
    value[paired] = with_last ? cuda::load_once(value_last) : Value(0);
#pragma unroll
    for (int i = 0; i <= paired; ++i) of_x[i] = __ldg(x + column[i]);
#pragma unroll
    for (int i = 0; i <= paired; ++i) sum += static_cast<T>(value[i]) * of_x[i];
  }
  return sum;
}

/// Data of a row, loaded before its entries.
template <class T>
struct Row {
  std::int64_t begin = 0;   ///< first entry of its chunk
  const T* from = nullptr;  ///< x at the base of its columns
  std::int32_t length = 0;
  std::int32_t lane = 0;     ///< in its chunk
  std::int32_t number = -1;  ///< -1 for none
};

template <int C, class T, class Column, class Value>
__device__ Row<T> row_at(const Chunks<T, Column, Value>& a, std::int64_t position, const T* x) {
  if (position >= a.rows) return {};
  const std::int64_t chunk = position / C, begin = __ldg(a.offsets + chunk);
  return {begin, a.bases == nullptr ? x : x + __ldg(a.bases + chunk),
          static_cast<std::int32_t>((__ldg(a.offsets + chunk + 1) - begin) / C),
          static_cast<std::int32_t>(position % C),
          a.places == nullptr ? static_cast<std::int32_t>(position) : cuda::load_once(a.places + position)};
}

/// One thread a row. If rows are long, the data of the next row are prefetched while this one is multiplied; for short
/// rows it is better to load their entries first.
template <class T, class Column, class Value, int C, int at_once, bool with_energy>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    sell_kernel(Chunks<T, Column, Value> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  constexpr bool ahead = at_once > few;
  double of_thread = 0;
  const std::int64_t blocks = (a.rows + block_threads - 1) / block_threads;
  cuda::TurningPositions<block_threads> positions;
  Row<T> next;
  if constexpr (ahead) next = row_at<C>(a, positions.next(), x);
  for (std::int64_t first = 0; first < blocks; first += gridDim.x) {
    const Row<T> row = ahead ? next : row_at<C>(a, positions.next(), x);
    if constexpr (ahead) next = row_at<C>(a, positions.next(), x);
    if (row.number < 0) continue;
    const T sum = sum_row<C, at_once>(a.values + row.begin, a.columns + row.begin, row.lane, row.from, row.length);
    y[row.number] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row.number), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

template <class T, class Column, class Value>
using SellProduct = cuda::Product<T, Chunks<T, Column, Value>>;

template <class T, class Column, class Value, int at_once, bool with_energy>
typename SellProduct<T, Column, Value>::Kernel sell_kernel_of(int chunk_rows) {
  switch (chunk_rows) {
    case 4:
      return sell_kernel<T, Column, Value, 4, at_once, with_energy>;
    case 8:
      return sell_kernel<T, Column, Value, 8, at_once, with_energy>;
    case 16:
      return sell_kernel<T, Column, Value, 16, at_once, with_energy>;
    case 32:
      return sell_kernel<T, Column, Value, 32, at_once, with_energy>;
    case 64:
      return sell_kernel<T, Column, Value, 64, at_once, with_energy>;
    default:
      return sell_kernel<T, Column, Value, 128, at_once, with_energy>;
  }
}

template <class T, class Column, class Value>
SellProduct<T, Column, Value> sell_product_of(int chunk_rows, double mean_length) {
  if (mean_length <= few)
    return {sell_kernel_of<T, Column, Value, few, false>(chunk_rows),
            sell_kernel_of<T, Column, Value, few, true>(chunk_rows), block_threads};
  return {sell_kernel_of<T, Column, Value, many, false>(chunk_rows),
          sell_kernel_of<T, Column, Value, many, true>(chunk_rows), block_threads};
}

/// The matrix with columns and bases in place of its own; null bases for 32-bit columns.
template <class T, class Column, class Value>
Chunks<T, Column, Value> slices_of(const SellMatrix<Value>& a, const Column* columns, const std::int32_t* bases) {
  return {a.rows, a.offsets.data(), columns, a.values.data(), a.places.size() > 0 ? a.places.data() : nullptr, bases};
}

/// Launches of chunks of a matrix (chunked_operator.cuh).
template <std::floating_point T, std::floating_point Value>
class LaunchesOfSell {
 public:
  using Format = SellRows<Value>;

  explicit LaunchesOfSell(const Format& any)
      : mean_length_(static_cast<double>(any.nonzeros) / std::max(1, any.rows)),
        narrow_product_(sell_product_of<T, std::uint16_t, Value>(static_cast<int>(any.a.chunk_rows), mean_length_)),
        product_(sell_product_of<T, std::int32_t, Value>(static_cast<int>(any.a.chunk_rows), mean_length_)) {}

  void multiply(const Format& chunk, const Vector<T>& x, Vector<T>& y) const {
    if (chunk.is_narrow)
      narrow_product_(slices_of<T>(chunk.a, chunk.narrow_columns.data(), chunk.bases.data()), chunk.rows, x, y,
                      nullptr);
    else
      product_(slices_of<T>(chunk.a, chunk.a.columns.data(), nullptr), chunk.rows, x, y, nullptr);
  }
  void multiply_multi_vector(const Format& chunk, const MultiVector<T>& x, MultiVector<T>& y) const {
    const auto multiply_with = [&](const auto* columns, const std::int32_t* bases) {
      multi_vector_product_.multiply<cuda::Neighbours::of_column>(sell_by_rows(chunk.a, columns, bases), mean_length_,
                                                                  x, y, nullptr);
    };
    chunk.is_narrow ? multiply_with(chunk.narrow_columns.data(), chunk.bases.data())
                    : multiply_with(chunk.a.columns.data(), nullptr);
  }

 private:
  double mean_length_;
  SellProduct<T, std::uint16_t, Value> narrow_product_;
  SellProduct<T, std::int32_t, Value> product_;
  cuda::MultiVectorProduct multi_vector_product_;
};

template <class Column>
__global__ void renumber_kernel(std::int64_t entries, const std::int32_t* positions, Column* columns) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = cuda::thread_number(); k < entries; k += threads) columns[k] = positions[columns[k]];
}

template <std::floating_point T, std::floating_point Value>
class CudaSell final : public Operator<T>, public WithPersistentCg<T> {
 public:
  /// `lists` are on the host.
  CudaSell(SellMatrix<Value> lists, const CsrMatrix<Value>& matrix, Vector<T> diagonal, std::string_view index)
      : Operator<T>(matrix.rows, Device::cuda),
        a_(std::move(lists)),
        chunk_rows_(static_cast<int>(a_.chunk_rows)),
        diagonal_(std::move(diagonal)),
        narrow_product_(sell_product_of<T, std::uint16_t, Value>(chunk_rows_, mean_length(matrix))),
        product_(sell_product_of<T, std::int32_t, Value>(chunk_rows_, mean_length(matrix))) {
    const Vector<std::int32_t> positions = positions_of(a_.ordering);
    allocate_on(a_, Device::cuda);
    {
      const cuda::EntriesOnGpu<Value> source(matrix);
      a_.move_entries(source.pointers(), [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
        cuda::move_on_gpu(threads, map, source.pointers(), columns, values);
      });
    }
    if (positions.size() > 0) renumber(copied(positions, Device::cuda));
    if (index != "32") narrow(index == "auto");
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override {
    return {{"C", std::to_string(chunk_rows_)},
            {"sigma", std::to_string(a_.sigma)},
            {"index", bases_.size() > 0 ? "16" : "32"}};
  }
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override {
    return bases_.size() > 0 ? persistent_with(narrow_columns_.data(), bases_.data(), systems)
                             : persistent_with(a_.columns.data(), static_cast<const std::int32_t*>(nullptr), systems);
  }

  const Vector<std::int32_t>& ordering() const override { return a_.ordering; }
  Footprint footprint() const override {
    return with_vectors_of<T, Value>(footprint_of(a_, a_.columns.bytes() + narrow_columns_.bytes() + bases_.bytes()),
                                     this->size());
  }

 private:
  static double mean_length(const CsrMatrix<Value>& matrix) {
    return static_cast<double>(matrix.nonzeros()) / std::max(1, matrix.rows);
  }
  /// Replaces columns by positions.
  void renumber(const Vector<std::int32_t>& positions) {
    const std::int64_t blocks = (a_.columns.size() + block_threads - 1) / block_threads;
    cuda::launch(renumber_kernel<std::int32_t>,
                 std::min(blocks, cuda::resident_blocks(renumber_kernel<std::int32_t>, block_threads)), block_threads,
                 0, a_.columns.size(), positions.data(), a_.columns.data());
    synchronize(Device::cuda);  // before the positions are freed
  }
  /// Sets 16-bit columns if they fit; throws std::invalid_argument if they do not and not `wide`.
  void narrow(bool wide) {
    NarrowColumns narrow = cuda::narrow_columns(a_.columns, a_.offsets, a_.rows, InPairs{a_.chunk_rows});
    if (narrow.bases.size() == 0 && a_.rows > 0) {
      if (!wide) throw columns_do_not_fit();
      return;
    }
    bases_ = std::move(narrow.bases);
    narrow_columns_ = std::move(narrow.columns);
    a_.columns = {};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (bases_.size() > 0)
      narrow_product_(slices_of<T>(a_, narrow_columns_.data(), bases_.data()), this->size(), x, y, energy);
    else
      product_(slices_of<T>(a_, a_.columns.data(), nullptr), this->size(), x, y, energy);
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    const double mean_length = static_cast<double>(a_.nonzeros) / std::max(1, this->size());
    const auto multiply_with = [&](const auto* columns, const std::int32_t* bases) {
      multi_vector_product_.multiply<cuda::Neighbours::of_column>(sell_by_rows(a_, columns, bases), mean_length, x, y,
                                                                  energies);
    };
    bases_.size() > 0 ? multiply_with(narrow_columns_.data(), bases_.data())
                      : multiply_with(a_.columns.data(), nullptr);
  }
  template <class Column>
  std::unique_ptr<PersistentCg<T>> persistent_with(const Column* columns, const std::int32_t* bases,
                                                   PersistentFor systems) const {
    return cuda::make_persistent_cg<T>(sell_by_rows(a_, columns, bases), a_.nonzeros, systems, [&] {
      return positions_of(copied(a_.ordering.size() > 0 ? a_.ordering : a_.places, Device::host));
    });
  }

  SellMatrix<Value> a_;  ///< on the GPU
  int chunk_rows_;
  Vector<T> diagonal_;  ///< on the host
  SellProduct<T, std::uint16_t, Value> narrow_product_;
  SellProduct<T, std::int32_t, Value> product_;
  Vector<std::int32_t> bases_;
  Vector<std::uint16_t> narrow_columns_;  ///< if not empty, there are no 32-bit columns
  cuda::MultiVectorProduct multi_vector_product_;
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell(const Ingredients<T>& from, const Options& given) {
  const SellShape shape = chosen_sell_shape(*from.matrix, Device::cuda, given);
  const Residence residence = chosen_residence("sell", Device::cuda, given);
  const auto make = [&]<class Value>(const CsrMatrix<Value>& matrix) -> std::unique_ptr<Operator<T>> {
    std::optional<ChunkBudget> budget;
    if (residence.where == Residence::Where::streamed && matrix.rows > 0) {
      budget = chunk_budget(residence, from.reserved_bytes);
    } else {
      SellMatrix<Value> lists = lists_of_sell(matrix, shape.chunk_rows, shape.sigma);
      budget = chosen_sell_budget<T>({Device::cuda, from.form, from.matrix.get(), from.reserved_bytes}, given, lists);
      if (!budget)
        return std::make_unique<CudaSell<T, Value>>(std::move(lists), matrix, diagonal_of(*from.matrix), shape.index);
    }
    return std::make_unique<cuda::ChunkedOnGpu<T, SellRows<Value>, LaunchesOfSell<T, Value>>>(
        matrix, diagonal_of(*from.matrix), given, *budget);
  };
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given)) return make(to_single(*from.matrix));
  return make(*from.matrix);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_pjds(const Ingredients<T>& from, const Options& given) {
  const SellShape shape = chosen_pjds_shape(from.matrix->rows, Device::cuda, given);
  SellMatrix<T> lists = lists_of_sell(*from.matrix, shape.chunk_rows, shape.sigma);
  Vector<T> diagonal = diagonal_at_positions(diagonal_of(*from.matrix), lists.places);
  enter_own_ordering(lists);
  return std::make_unique<CudaSell<T, T>>(std::move(lists), *from.matrix, std::move(diagonal), shape.index);
}

}  // namespace

Makers sell_on_gpu() { return {make_sell<double>, make_sell<float>}; }
Makers pjds_on_gpu() { return {make_pjds<double>, make_pjds<float>}; }

}  // namespace femcg::operators
