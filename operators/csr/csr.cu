// Compressed rows on the GPU, streamed. A tile is a run of rows with a few hundred nonzeros, one piece of memory: its
// header, where its rows begin, columns, values. A warp keeps tiles on their way into shared memory by bulk copies, so
// that the memory never waits for threads, and works on the one that has arrived: `group` lanes a row multiply what is
// in shared memory by x from the caches. Warps do not wait for each other. Columns are 16-bit offsets from the tile's
// least column where that fits. Moves sizeof(T) + 2 or 4 bytes a nonzero, 2 sizeof(T) + 2 a row, about 40 a tile.
//
// Sums have one order: two runs give the same bits. The cooperative way is in csr_cooperative.cu.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "operators/csr/csr_cuda.hpp"
#include "operators/csr/csr_tiles.hpp"
#include "operators/cuda_bulk_copy.cuh"
#include "operators/cuda_conversion.cuh"
#include "operators/cuda_resident_cg.cuh"
#include "operators/cuda_sum.cuh"
#include "operators/narrow_columns.hpp"
#include "operators/stored_diagonal.hpp"
#include "operators/stored_footprint.hpp"

namespace femcg::operators {

namespace {

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * cuda::threads_a_warp;
constexpr int most_stages = 4;
constexpr std::int32_t largest_column = std::numeric_limits<std::int32_t>::max();

/// What a tile begins with.
struct alignas(16) Header {
  std::int32_t first_row;
  std::int32_t rows;
  std::int32_t entries;
  std::int32_t base;  ///< what is added to its columns
};

/// The parts of a tile, wherever it is.
template <class T, class Column>
struct Tile {
  __host__ __device__ static std::int64_t begins_bytes(std::int32_t rows) {
    return cuda::bulk_rounded((std::int64_t{rows} + 1) * std::int64_t{sizeof(std::uint16_t)});
  }
  __host__ __device__ static std::int64_t columns_bytes(std::int64_t entries) {
    return cuda::bulk_rounded(entries * std::int64_t{sizeof(Column)});
  }
  __host__ __device__ static std::int64_t bytes(std::int32_t rows, std::int64_t entries) {
    return std::int64_t{sizeof(Header)} + begins_bytes(rows) + columns_bytes(entries) +
           cuda::bulk_rounded(entries * std::int64_t{sizeof(T)});
  }

  __device__ explicit Tile(unsigned char* at)
      : header(reinterpret_cast<Header*>(at)), begins(reinterpret_cast<std::uint16_t*>(at + sizeof(Header))) {}
  /// Once the header is there. A long row has no use for its begins.
  __device__ Column* columns() const {
    return reinterpret_cast<Column*>(reinterpret_cast<unsigned char*>(begins) + begins_bytes(header->rows));
  }
  __device__ T* values() const {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(columns()) + columns_bytes(header->entries));
  }

  Header* header;
  std::uint16_t* begins;  ///< rows + 1, counted from the tile's first entry
};

/// The matrix, one tile after the other.
struct Tiles {
  std::int64_t count;
  const std::int64_t* offsets;  ///< where each begins, in bytes, and the end
  unsigned char* data;
};

/// A long row, from the GPU's memory, known to lane 0.
template <class T, class Column>
__device__ T long_row_times(const Tile<T, Column>& tile, int lane, const T* x) {
  const Column* columns = tile.columns();
  const T* values = tile.values();
  double sum = 0;
  for (std::int32_t k = lane; k < tile.header->entries; k += cuda::threads_a_warp)
    sum += static_cast<double>(values[k] * __ldg(x + tile.header->base + columns[k]));
  return static_cast<T>(cuda::sum_of_lanes<cuda::threads_a_warp>(sum));
}

/// y on the rows of a tile; the part of x'y that is this lane's.
template <int group, class T, class Column>
__device__ double multiply(const Tile<T, Column>& tile, int lane, const T* x, T* y) {
  constexpr int together = 4;
  const Header header = *tile.header;
  const Column* columns = tile.columns();
  const T* values = tile.values();
  const T* from = x + header.base;
  const int lane_of_row = lane % group;
  double energy = 0;
  for (int first = 0; first < header.rows; first += cuda::threads_a_warp / group) {
    const int row = first + lane / group;
    const bool there = row < header.rows;
    const int begin = there ? tile.begins[row] : 0, end = there ? tile.begins[row + 1] : 0;
    T sum = 0;
    for (int k = begin + lane_of_row; k < end; k += together * group) {
      T of_x[together], value[together];
#pragma unroll
      for (int j = 0; j < together; ++j) {
        const int at = k + j * group;
        of_x[j] = at < end ? __ldg(from + columns[at]) : T(0);
        value[j] = at < end ? values[at] : T(0);
      }
#pragma unroll
      for (int j = 0; j < together; ++j) sum += value[j] * of_x[j];
    }
    sum = cuda::sum_of_lanes<group>(sum);
    if (there && lane_of_row == 0) {
      y[header.first_row + row] = sum;
      energy += static_cast<double>(sum) * static_cast<double>(__ldg(x + header.first_row + row));
    }
  }
  return energy;
}

template <class T, class Column, int group, bool with_energy>
__global__ void __launch_bounds__(block_threads)
    streamed_kernel(Tiles a, int stages, int stage_bytes, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ cuda::BulkBarrier barriers[block_warps][most_stages];
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_a_warp,
            warp = static_cast<int>(threadIdx.x) / cuda::threads_a_warp;
  unsigned char* mine = memory + warp * stages * stage_bytes;
  cuda::BulkBarrier* arrived = barriers[warp];
  const std::int64_t first = std::int64_t{blockIdx.x} * block_warps + warp,
                     step = std::int64_t{gridDim.x} * block_warps;

  // Lane 0 asks for tiles; where the one after begins and ends it reads while one is copied.
  std::int64_t ahead = first, begin = 0, end = 0;
  const auto look_ahead = [&] {
    if (ahead >= a.count) return;
    begin = a.offsets[ahead];
    end = a.offsets[ahead + 1];
  };
  const auto ask = [&](int s) {
    const auto bytes = static_cast<std::uint32_t>(end - begin <= stage_bytes ? end - begin : sizeof(Header));
    arrived[s].expect(bytes);
    arrived[s].copy(mine + s * stage_bytes, a.data + begin, bytes);
    ahead += step;
    look_ahead();
  };
  if (lane == 0) {
    for (int s = 0; s < stages; ++s) arrived[s].prepare();
    look_ahead();
    for (int s = 0; s < stages && ahead < a.count; ++s) ask(s);
  }
  __syncwarp();
  double sums[1] = {0};
  int s = 0;
  unsigned parity = 0;
  for (std::int64_t t = first; t < a.count; t += step) {
    arrived[s].wait(parity);
    const Tile<T, Column> tile(mine + s * stage_bytes);
    if (Tile<T, Column>::bytes(tile.header->rows, tile.header->entries) > stage_bytes) {
      const T sum = long_row_times(Tile<T, Column>(a.data + a.offsets[t]), lane, x);
      if (lane == 0) {
        y[tile.header->first_row] = sum;
        sums[0] += static_cast<double>(sum) * static_cast<double>(x[tile.header->first_row]);
      }
    } else {
      sums[0] += multiply<group>(tile, lane, x, y);
    }
    __syncwarp();
    if (lane == 0 && ahead < a.count) ask(s);
    if (++s == stages) {
      s = 0;
      parity ^= 1U;
    }
  }
  if constexpr (with_energy) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

/// The least and the largest column of each tile.
template <class T>
__global__ void columns_of_tiles(std::int64_t tiles, const std::int32_t* first_rows, cuda::Source<T> from,
                                 std::int32_t* least, std::int32_t* largest) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_a_warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / cuda::threads_a_warp;
  for (std::int64_t t = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / cuda::threads_a_warp; t < tiles;
       t += warps) {
    std::int32_t low = largest_column, high = 0;
    for (std::int64_t k = from.offsets[first_rows[t]] + lane; k < from.offsets[first_rows[t + 1]];
         k += cuda::threads_a_warp) {
      low = min(low, from.columns[k]);
      high = max(high, from.columns[k]);
    }
    for (int distance = cuda::threads_a_warp / 2; distance > 0; distance /= 2) {
      low = min(low, __shfl_xor_sync(cuda::all_lanes, low, distance));
      high = max(high, __shfl_xor_sync(cuda::all_lanes, high, distance));
    }
    if (lane == 0) {
      least[t] = min(low, high);  // without entries both are 0
      largest[t] = high;
    }
  }
}

/// Writes the tiles, a warp each.
template <class T, class Column>
__global__ void write_tiles(Tiles to, const std::int32_t* first_rows, cuda::Source<T> from, const std::int32_t* least) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_a_warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / cuda::threads_a_warp;
  for (std::int64_t t = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / cuda::threads_a_warp; t < to.count;
       t += warps) {
    const std::int32_t row = first_rows[t], rows = first_rows[t + 1] - row;
    const std::int64_t begin = from.offsets[row];
    const auto entries = static_cast<std::int32_t>(from.offsets[row + rows] - begin);
    const std::int32_t base = sizeof(Column) == 2 ? least[t] : 0;
    const Tile<T, Column> tile(to.data + to.offsets[t]);
    if (lane == 0) *tile.header = {row, rows, entries, base};
    __syncwarp();
    Column* columns = tile.columns();
    T* values = tile.values();
    for (std::int32_t i = lane; i <= rows; i += cuda::threads_a_warp)
      tile.begins[i] = static_cast<std::uint16_t>(from.offsets[row + i] - begin);
    for (std::int32_t k = lane; k < entries; k += cuda::threads_a_warp) {
      columns[k] = static_cast<Column>(from.columns[begin + k] - base);
      values[k] = from.values[begin + k];
    }
  }
}

/// The matrix by rows, for the loop inside one kernel.
template <class T, class Column>
struct CsrByRows {
  std::int32_t rows;
  Tiles tiles;

  struct Row {
    const T* values;
    const Column* columns;
    std::int32_t count, base, number;
  };
  __device__ Row find(std::int32_t row) const {
    std::int64_t low = 0, high = tiles.count;  // the last tile that begins at or before the row
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (Tile<T, Column>(tiles.data + tiles.offsets[middle]).header->first_row <= row ? low : high) = middle;
    }
    const Tile<T, Column> tile(tiles.data + tiles.offsets[low]);
    const Header header = *tile.header;
    if (header.rows == 1) return {tile.values(), tile.columns(), header.entries, header.base, row};
    const std::uint16_t* begins = tile.begins + (row - header.first_row);
    return {tile.values() + begins[0], tile.columns() + begins[0], begins[1] - begins[0], header.base, row};
  }
  template <int group>
  __device__ T times(const Row& row, int lane, const T* u) const {
    return cuda::resident_row_times<group>(row.values, row.columns, 1, row.count, lane, u + row.base);
  }
};

template <class T>
using StreamedKernel = void (*)(Tiles, int, int, const T*, T*, double*, cuda::Parts<1>);

template <class T, class Column, bool with_energy>
StreamedKernel<T> streamed_kernel_of(int group) {
  switch (group) {
    case 1:
      return streamed_kernel<T, Column, 1, with_energy>;
    case 2:
      return streamed_kernel<T, Column, 2, with_energy>;
    case 4:
      return streamed_kernel<T, Column, 4, with_energy>;
    case 8:
      return streamed_kernel<T, Column, 8, with_energy>;
    case 16:
      return streamed_kernel<T, Column, 16, with_energy>;
    default:
      return streamed_kernel<T, Column, 32, with_energy>;
  }
}

int experiment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// The kernels, and how they are launched.
template <class T>
struct StreamedLaunch {
  template <class Column>
  StreamedLaunch(Column, double mean_length, const CsrTiles& tiles, std::int64_t largest_tile_bytes)
      : stages(experiment("FEMCG_STAGES", 2)), stage_bytes(static_cast<int>(largest_tile_bytes)) {
    // The rows of a tile shall occupy the lanes of a warp once.
    int group = 1;
    while (group < cuda::threads_a_warp && 2 * group * tiles.capacity <= mean_length * cuda::threads_a_warp) group *= 2;
    group = experiment("FEMCG_GROUP", group);
    with_energy = streamed_kernel_of<T, Column, true>(group);
    without = streamed_kernel_of<T, Column, false>(group);
    shared_bytes = static_cast<std::size_t>(block_warps) * stages * stage_bytes;
    for (const auto kernel : {with_energy, without}) {
      cuda::check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "asking for shared memory");
      cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                       experiment("FEMCG_CARVEOUT", 80)),
                  "asking for shared memory");
    }
    const std::int64_t most = cuda::resident_blocks(with_energy, block_threads, shared_bytes);
    blocks = std::clamp<std::int64_t>((tiles.first_rows.size() - 1 + block_warps - 1) / block_warps, 1,
                                      std::min<std::int64_t>(most, 132 * experiment("FEMCG_BLOCKS", 100)));
  }
  StreamedKernel<T> with_energy{}, without{};
  int stages, stage_bytes;
  std::size_t shared_bytes = 0;
  std::int64_t blocks = 0;
};

constexpr int conversion_threads = 256;
inline std::int64_t conversion_blocks(std::int64_t tiles) {
  return (tiles * cuda::threads_a_warp + conversion_threads - 1) / conversion_threads;
}

template <std::floating_point T>
class StreamedCsr final : public Operator<T> {
 public:
  StreamedCsr(const CsrMatrix<T>& matrix, const CsrLaunch& launch)
      : Operator<T>(matrix.rows, Device::cuda), nonzeros_(matrix.nonzeros()), diagonal_(diagonal_of(matrix)) {
    const CsrTiles cut = cut_into_tiles(matrix.row_offsets);
    const cuda::SourceOnGpu<T> source(matrix);
    const Vector<std::int32_t> first_rows = copied(cut.first_rows, Device::cuda);
    const std::int64_t tiles = first_rows.size() - 1;
    Vector<std::int32_t> least(tiles, Device::cuda), largest(tiles, Device::cuda);
    cuda::launch(columns_of_tiles<T>, conversion_blocks(tiles), conversion_threads, 0, tiles, first_rows.data(),
                 source.pointers(), least.data(), largest.data());
    narrow_ = launch.narrow && fit_16_bits(copied(least, Device::host), copied(largest, Device::host));
    if (!narrow_ && !launch.wide) throw columns_do_not_fit();
    if (narrow_)
      write<std::uint16_t>(matrix, cut, first_rows, source, least);
    else
      write<std::int32_t>(matrix, cut, first_rows, source, least);
    parts_.emplace(launch_->blocks);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + data_.bytes();
    return stored_footprint<T>(this->size(), nonzeros_, nonzeros_, bytes, bytes);
  }
  std::unique_ptr<ResidentCg<T>> resident_cg() const override {
    return narrow_ ? resident_with<std::uint16_t>() : resident_with<std::int32_t>();
  }

 private:
  static bool fit_16_bits(const Vector<std::int32_t>& least, const Vector<std::int32_t>& largest) {
    for (std::int64_t t = 0; t < least.size(); ++t)
      if (largest[t] - least[t] > std::numeric_limits<std::uint16_t>::max()) return false;
    return true;
  }
  template <class Column>
  void write(const CsrMatrix<T>& matrix, const CsrTiles& cut, const Vector<std::int32_t>& first_rows,
             const cuda::SourceOnGpu<T>& source, const Vector<std::int32_t>& least) {
    const std::int64_t tiles = first_rows.size() - 1;
    Vector<std::int64_t> offsets(tiles + 1);
    std::int64_t end = 0, largest = sizeof(Header);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int32_t row = cut.first_rows[t], rows = cut.first_rows[t + 1] - row;
      const std::int64_t entries = matrix.row_offsets[row + rows] - matrix.row_offsets[row];
      const std::int64_t bytes = Tile<T, Column>::bytes(rows, entries);
      if (entries <= cut.capacity) largest = std::max(largest, bytes);
      offsets[t] = end;
      end += bytes;
    }
    offsets[tiles] = end;
    offsets_ = copied(offsets, Device::cuda);
    data_ = Vector<unsigned char>(end, Device::cuda);
    cuda::launch(write_tiles<T, Column>, conversion_blocks(tiles), conversion_threads, 0, this->tiles(),
                 first_rows.data(), source.pointers(), least.data());
    launch_.emplace(Column(), mean_length(), cut, largest);
  }

  double mean_length() const { return static_cast<double>(nonzeros_) / std::max(1, this->size()); }
  Tiles tiles() const {
    return {std::max<std::int64_t>(0, offsets_.size() - 1), offsets_.data(), const_cast<unsigned char*>(data_.data())};
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    cuda::launch(energy != nullptr ? launch_->with_energy : launch_->without, launch_->blocks, block_threads,
                 launch_->shared_bytes, tiles(), launch_->stages, launch_->stage_bytes, x.data(), y.data(),
                 energy != nullptr ? energy->data() : nullptr, parts_->parts());
  }
  template <class Column>
  std::unique_ptr<ResidentCg<T>> resident_with() const {
    using Loop = cuda::ResidentRows<T, CsrByRows<T, Column>>;
    if (this->size() == 0 || this->size() > Loop::most_rows()) return nullptr;
    return std::make_unique<Loop>(CsrByRows<T, Column>{this->size(), tiles()}, mean_length());
  }

  std::int64_t nonzeros_;
  Vector<T> diagonal_;  ///< on the host
  bool narrow_ = false;
  Vector<std::int64_t> offsets_;
  Vector<unsigned char> data_;
  std::optional<StreamedLaunch<T>> launch_;
  mutable std::optional<cuda::PartsStorage<1>> parts_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_streamed_csr(const CsrMatrix<T>& matrix, const CsrLaunch& launch) {
  return std::make_unique<StreamedCsr<T>>(matrix, launch);
}

template std::unique_ptr<Operator<double>> make_streamed_csr(const CsrMatrix<double>&, const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_streamed_csr(const CsrMatrix<float>&, const CsrLaunch&);

}  // namespace femcg::operators
