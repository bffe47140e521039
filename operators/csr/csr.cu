// Compressed rows on the GPU, streamed: a block of threads takes a run of rows with at most `tile` nonzeros. Its
// threads read values and columns as they lie in memory, four entries at a time whatever the rows, multiply by x, and
// leave the products in shared memory; after a barrier small groups of threads add up the rows (Greathouse & Daga
// 2014). Nothing waits for a row offset before it can read the matrix. Columns are 16-bit offsets from the tile's least
// column where that fits. Moves sizeof(Value) + 2 or 4 bytes a nonzero, 2 sizeof(T) + 8 a row.
//
// Sums have one order: two runs give the same bits. The cooperative way is in csr_cooperative.cu. A version in which
// bulk copies kept several tiles on their way into shared memory, and rows were added up from there without products in
// between, was faster for rows of 9 (6%) and slower for longer ones (up to 30%): its gathers of x met more cache lines.

#include <algorithm>
#include <cassert>

#include "operators/csr/csr_cuda.hpp"
#include "operators/cuda_conversion.cuh"
#include "operators/cuda_resident_cg.cuh"
#include "operators/cuda_sum.cuh"
#include "operators/stored_footprint.hpp"
#include "operators/value_words.hpp"

namespace femcg::operators {

namespace {

constexpr int stream_threads = 256;
constexpr int entries_at_once = 4;
/// Nonzeros of a tile: 16 KiB of products, so that eight blocks share a multiprocessor and leave half of its memory to
/// cache x. A tile that does not begin at a run of entries still is a whole number of runs a thread.
template <class T>
constexpr int tile = 16384 / sizeof(T) - entries_at_once;

template <class Value>
struct Rows {
  std::int32_t rows;
  const std::int64_t* offsets;
  const Value* values;
};

template <class Value, int N>
struct alignas(sizeof(Value) * N <= 16 ? sizeof(Value) * N : 16) Run {
  Value entry[N];
};

/// Four entries in a row, streamed past the caches' memory of x.
template <class Value>
__device__ Run<Value, entries_at_once> load_run(const Value* from) {
  using All = Run<Value, entries_at_once>;
  All run;
  if constexpr (sizeof(All) == 8) {
    *reinterpret_cast<uint2*>(&run) = __ldcs(reinterpret_cast<const uint2*>(from));
  } else {
    static_assert(sizeof(All) % 16 == 0);
    for (std::size_t i = 0; i < sizeof(All) / 16; ++i)
      reinterpret_cast<uint4*>(&run)[i] = __ldcs(reinterpret_cast<const uint4*>(from) + i);
  }
  return run;
}

/// Where product k of a tile is in shared memory: 16 bytes are left free after each 16 products, since rows of a
/// multiple of 16 entries would otherwise all begin in one bank, and threads that leave four at a time would meet in
/// one.
template <class T>
__device__ constexpr int place(int k) {
  return k + k / 16 * static_cast<int>(16 / sizeof(T));
}
template <class T>
constexpr int shared_places = (tile<T> + entries_at_once) / 16 * (16 + 16 / sizeof(T));

/// The first entry of the run of four that holds an entry.
__device__ inline std::int64_t run_begin(std::int64_t entry) { return entry / entries_at_once * entries_at_once; }

/// Runs of four that a thread has in flight. More would take registers from other blocks of the multiprocessor: in
/// double precision two were 10% slower than one on an H200, in single precision 8% faster.
template <class T>
constexpr int runs_together = sizeof(T) == 4 ? 2 : 1;

/// Leaves the products of entries begin <= k < end in shared memory, product k - run_begin(begin) at its place.
template <class T, class Value, class Column>
__device__ void multiply_tile(const Value* values, const Column* columns, const T* x, std::int64_t begin,
                              std::int64_t end, T* products) {
  // Whole runs are read, and arrays are padded at their ends; columns of other tiles have another base.
  const std::int64_t aligned = run_begin(begin);
  const auto before = static_cast<int>(begin - aligned), count = static_cast<int>(end - aligned);
  values += aligned;
  columns += aligned;
  constexpr int step = stream_threads * entries_at_once, together = runs_together<T>;
#pragma unroll 1
  for (int k = static_cast<int>(threadIdx.x) * entries_at_once; k < count; k += together * step) {
    Run<Column, entries_at_once> column[together];
    Run<Value, entries_at_once> run[together];
    Run<T, entries_at_once> product[together];
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (k + j * step < count) {
        column[j] = load_run(columns + k + j * step);
        run[j] = load_run(values + k + j * step);
      }
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const int first = k + j * step;
#pragma unroll
      for (int i = 0; i < entries_at_once; ++i)
        product[j].entry[i] = static_cast<T>(run[j].entry[i]) *
                              (before <= first + i && first + i < count ? __ldg(x + column[j].entry[i]) : T(0));
    }
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (k + j * step < count)
        *reinterpret_cast<Run<T, entries_at_once>*>(products + place<T>(k + j * step)) = product[j];
  }
}

/// The sum of one row that is longer than a tile, known to thread 0.
template <class T, class Value, class Column>
__device__ T sum_long_row(const Value* values, const Column* columns, const T* x, std::int64_t begin,
                          std::int64_t end) {
  double sum = 0;
  for (std::int64_t k = begin + threadIdx.x; k < end; k += stream_threads)
    sum += static_cast<double>(static_cast<T>(values[k]) * __ldg(x + columns[k]));
  return static_cast<T>(cuda::sum_of_block(sum));
}

/// A run of rows for one block of threads.
struct Tile {
  std::int64_t first_entry;
  std::int32_t first_row;
  std::int32_t base;  ///< what is added to its columns
};

/// y on the rows of a tile; the part of x'y that is this thread's.
template <class T, class Value, class Column>
__device__ double multiply_tile_rows(const Rows<Value>& a, const Column* columns, const Tile& from, const Tile& to,
                                     const T* x, T* y, T* products) {
  const std::int32_t first = from.first_row, rows = to.first_row - first;
  const std::int64_t begin = from.first_entry, end = to.first_entry, aligned = run_begin(begin);
  // As many threads a row as there are, up to a warp: the same for all rows of the tile.
  int group = 1;
  while (group < cuda::threads_a_warp && 2 * group * rows <= stream_threads) group *= 2;
  const int lane = static_cast<int>(threadIdx.x) % group, rows_at_once = stream_threads / group;
  std::int32_t row = static_cast<std::int32_t>(threadIdx.x) / group;
  // Read before the barrier, used after it.
  std::int64_t row_begin = row < rows ? a.offsets[first + row] : 0,
               row_end = row < rows ? a.offsets[first + row + 1] : 0;
  multiply_tile(a.values, columns, x + from.base, begin, end, products);
  __syncthreads();
  double energy = 0;
  for (std::int32_t base = 0; base < rows; base += rows_at_once, row += rows_at_once) {
    if (base > 0 && row < rows) {
      row_begin = a.offsets[first + row];
      row_end = a.offsets[first + row + 1];
    }
    T sum = 0;
    if (row < rows)
      for (int k = static_cast<int>(row_begin - aligned) + lane; k < static_cast<int>(row_end - aligned); k += group)
        sum += products[place<T>(k)];
    for (int distance = group / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(cuda::all_lanes, sum, distance, group);
    if (row < rows && lane == 0) {
      y[first + row] = sum;
      energy += static_cast<double>(sum) * static_cast<double>(__ldg(x + first + row));
    }
  }
  return energy;
}

template <class T, class Value, class Column, bool with_energy>
__global__ void __launch_bounds__(stream_threads, sizeof(T) == 4 ? 5 : 6)
    streamed_kernel(Rows<Value> a, const Column* columns, std::int64_t tiles, const Tile* of_tile, const T* x, T* y,
                    double* energy, cuda::Parts<1> parts) {
  __shared__ alignas(16) T products[shared_places<T>];
  double sums[1] = {0};
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const Tile from = of_tile[t], to = of_tile[t + 1];
    if (to.first_entry - from.first_entry > tile<T>) {
      const T sum = sum_long_row(a.values, columns, x + from.base, from.first_entry, to.first_entry);
      if (threadIdx.x == 0) {
        y[from.first_row] = sum;
        sums[0] += static_cast<double>(sum) * static_cast<double>(x[from.first_row]);
      }
    } else {
      sums[0] += multiply_tile_rows(a, columns, from, to, x, y, products);
      __syncthreads();  // the products of the next tile take the place of these
    }
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

/// Runs of rows with at most `tile` nonzeros and at most 1024 rows, and the end of the last; a longer row is a run of
/// its own, and without rows there is an empty one.
template <class T, class Value>
std::vector<Tile> cut_into_tiles(const CsrMatrix<Value>& matrix) {
  constexpr std::int32_t most_rows = 1024;
  std::vector<Tile> tiles{{0, 0, 0}};
  const std::int64_t* offsets = matrix.row_offsets.data();
  for (std::int32_t row = 1; row < matrix.rows; ++row)
    if (offsets[row + 1] - tiles.back().first_entry > tile<T> || row - tiles.back().first_row == most_rows)
      tiles.push_back({offsets[row], row, 0});
  tiles.push_back({matrix.nonzeros(), matrix.rows, 0});
  return tiles;
}

/// On the GPU, with room at the end to read four entries at once.
template <class Value>
Vector<Value> padded(const Vector<Value>& from) {
  Vector<Value> to(from.size() + entries_at_once, Device::cuda);
  cuda_clear(to.data() + from.size(), entries_at_once * static_cast<std::int64_t>(sizeof(Value)));
  copy_bytes(from.data(), Device::host, to.data(), Device::cuda, from.bytes());
  return to;
}

/// The matrix by rows, for the loop inside one kernel.
template <class T, class Value, class Column>
struct CsrByRows {
  std::int32_t rows;
  const std::int64_t* offsets;
  const Value* values;
  const Column* columns;
  std::int64_t tiles;
  const Tile* of_tile;

  struct Row {
    std::int64_t begin;
    std::int32_t count, base, number;
  };
  __device__ Row find(std::int32_t row) const {
    std::int64_t low = 0, high = tiles;  // the last tile that begins at or before the row
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (of_tile[middle].first_row <= row ? low : high) = middle;
    }
    const std::int64_t begin = offsets[row];
    return {begin, static_cast<std::int32_t>(offsets[row + 1] - begin), of_tile[low].base, row};
  }
  template <int group>
  __device__ T times(const Row& row, int lane, const T* u) const {
    return cuda::resident_row_times<group>(values + row.begin, columns + row.begin, 1, row.count, lane, u + row.base);
  }
};

template <std::floating_point T, std::floating_point Value>
class StreamedCsr final : public Operator<T> {
 public:
  StreamedCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch)
      : StreamedCsr(matrix, std::move(diagonal), launch, cut_into_tiles<T>(matrix)) {}

  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + tiles_.bytes() + nonzeros_ * std::int64_t{sizeof(Value)} +
                               nonzeros_ * (narrow_columns_.size() > 0 ? 2 : 4);
    return with_vectors_of<T, Value>(stored_footprint<Value>(this->size(), nonzeros_, nonzeros_, bytes, bytes),
                                     this->size());
  }
  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::unique_ptr<ResidentCg<T>> resident_cg() const override {
    return narrow_columns_.size() > 0 ? resident_with(narrow_columns_.data()) : resident_with(columns_.data());
  }

 private:
  StreamedCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch, std::vector<Tile> tiles)
      : Operator<T>(matrix.rows, Device::cuda),
        nonzeros_(matrix.nonzeros()),
        offsets_(copied(matrix.row_offsets, Device::cuda)),
        values_(padded(matrix.values)),
        diagonal_(std::move(diagonal)),
        blocks_(std::min(static_cast<std::int64_t>(tiles.size()) - 1, most_blocks())),
        parts_(blocks_) {
    columns_ = padded(matrix.columns);
    if (launch.narrow) narrow(tiles, launch.wide);
    tiles_ = Vector<Tile>(static_cast<std::int64_t>(tiles.size()), Device::cuda);
    copy_bytes(tiles.data(), Device::host, tiles_.data(), Device::cuda, tiles_.bytes());
  }

  /// Gives the tiles their bases, and the columns 16 bits, where they fit; `wide` is whether they need not.
  void narrow(std::vector<Tile>& tiles, bool wide) {
    Vector<std::int64_t> offsets(static_cast<std::int64_t>(tiles.size()));
    for (std::size_t t = 0; t < tiles.size(); ++t) offsets[static_cast<std::int64_t>(t)] = tiles[t].first_entry;
    NarrowColumns narrow = cuda::narrow_columns(columns_, copied(offsets, Device::cuda));
    if (narrow.bases.size() == 0) {
      if (!wide) throw columns_do_not_fit();
      return;
    }
    const Vector<std::int32_t> bases = copied(narrow.bases, Device::host);
    for (std::size_t t = 0; t + 1 < tiles.size(); ++t) tiles[t].base = bases[static_cast<std::int64_t>(t)];
    narrow_columns_ = std::move(narrow.columns);
    columns_ = {};
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (narrow_columns_.size() > 0)
      launch_with(narrow_columns_.data(), x, y, energy);
    else
      launch_with(columns_.data(), x, y, energy);
  }
  Rows<Value> rows() const { return {this->size(), offsets_.data(), values_.data()}; }
  template <class Column>
  std::unique_ptr<ResidentCg<T>> resident_with(const Column* columns) const {
    using Loop = cuda::ResidentRows<T, CsrByRows<T, Value, Column>>;
    if (this->size() == 0 || this->size() > Loop::most_rows()) return nullptr;
    const CsrByRows<T, Value, Column> by_rows{this->size(), offsets_.data(),   values_.data(),
                                              columns,      tiles_.size() - 1, tiles_.data()};
    return std::make_unique<Loop>(by_rows, static_cast<double>(nonzeros_) / this->size());
  }
  template <class Column>
  void launch_with(const Column* columns, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    const auto kernel =
        energy != nullptr ? streamed_kernel<T, Value, Column, true> : streamed_kernel<T, Value, Column, false>;
    cuda::launch(kernel, blocks_, stream_threads, 0, rows(), columns, tiles_.size() - 1, tiles_.data(), x.data(),
                 y.data(), energy != nullptr ? energy->data() : nullptr, parts_.parts());
  }
  static std::int64_t most_blocks() {
    return std::min(cuda::resident_blocks(streamed_kernel<T, Value, std::uint16_t, true>, stream_threads),
                    cuda::resident_blocks(streamed_kernel<T, Value, std::int32_t, true>, stream_threads));
  }

  std::int64_t nonzeros_;
  Vector<std::int64_t> offsets_;
  Vector<Value> values_;
  Vector<T> diagonal_;  ///< on the host
  std::int64_t blocks_;
  Vector<Tile> tiles_;
  Vector<std::uint16_t> narrow_columns_;
  Vector<std::int32_t> columns_;
  mutable cuda::PartsStorage<1> parts_;
};

}  // namespace

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_streamed_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                               const CsrLaunch& launch) {
  return std::make_unique<StreamedCsr<T, Value>>(matrix, std::move(diagonal), launch);
}

template std::unique_ptr<Operator<double>> make_streamed_csr(const CsrMatrix<double>&, Vector<double>,
                                                             const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_streamed_csr(const CsrMatrix<float>&, Vector<double>, const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_streamed_csr(const CsrMatrix<float>&, Vector<float>, const CsrLaunch&);

}  // namespace femcg::operators
