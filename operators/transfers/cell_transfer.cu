// Transfers by cells on a GPU, and their tables. A thread block processes chunks of cells, whose owned unknowns are
// consecutive:
//
//   prolongation   e of the chunk's coarse nodes to shared memory; then a thread for each owned unknown,
//                  x[owned[k]] += sum_j E[node[k]][j] e[cell][j]
//   restriction    r - q of the owned unknowns to shared memory; then a thread for each coarse node j of a cell, the
//                  sum over the cell's owned unknowns of E[node[k]][j] (r - q)[k]; then a thread for each coarse
//                  unknown adds up its cells
//
// With several interleaved vectors there is one thread a value, and no use of shared memory: adjacent threads read one
// row of E, and whole rows of the vectors.
//
// Per unknown 6 bytes of tables and 4 bytes of each vector in single precision move; per coarse node of a cell 4 bytes
// in prolongation, and 4 bytes and its sum twice in restriction.

#include <algorithm>
#include <utility>

#include "operators/backend/cuda/scan.cuh"
#include "operators/backend/launch.cuh"
#include "operators/transfers/places_of_nodes.cuh"

namespace femcg::operators {

namespace {

using namespace cuda;
using Nodes = PlacesOfNodes::Pointers;

__global__ void __launch_bounds__(block_threads) list_kernel(std::int64_t count, Nodes nodes, std::int32_t* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < count) to[i] = nodes(static_cast<std::int32_t>(i / nodes.count), static_cast<int>(i % nodes.count));
}
__global__ void __launch_bounds__(block_threads)
    fill_kernel(std::int64_t count, std::int32_t number, std::int32_t* numbers) {
  if (const std::int64_t i = cuda::thread_number(); i < count) numbers[i] = number;
}
/// Finds the owner of each unknown, the first cell that has it. One thread per node of each cell.
__global__ void __launch_bounds__(block_threads)
    find_owners_kernel(std::int64_t count, Nodes nodes, std::int32_t* owners) {
  const std::int64_t i = cuda::thread_number();
  if (i >= count) return;
  const auto cell = static_cast<std::int32_t>(i / nodes.count);
  const std::int32_t place = nodes(cell, static_cast<int>(i % nodes.count));
  if (place >= 0 && owners[place] > cell) atomicMin(owners + place, cell);
}
__global__ void __launch_bounds__(block_threads)
    leave_out_kernel(std::int64_t count, const std::int32_t* ghosts, const std::int32_t* places, std::int32_t none,
                     std::int32_t* owners) {
  const std::int64_t i = cuda::thread_number();
  if (i < count) owners[places != nullptr ? places[ghosts[i]] : ghosts[i]] = none;
}
/// Counts occurrences of each number from 0 to `end` - 1. One thread a number of the list.
__global__ void __launch_bounds__(block_threads)
    count_kernel(std::int64_t count, const std::int32_t* numbers, std::int32_t end, std::int32_t* counts) {
  const std::int64_t i = cuda::thread_number();
  if (i < count && numbers[i] >= 0 && numbers[i] < end) atomicAdd(counts + numbers[i], 1);
}
/// Lists the owned unknowns of each cell. One warp a cell.
__global__ void __launch_bounds__(block_threads)
    list_owned_kernel(std::int64_t count, Nodes nodes, const std::int32_t* owners, const std::int32_t* begin, int chunk,
                      std::int32_t* owned, std::uint8_t* node, std::uint8_t* cell_in_chunk) {
  if (cuda::thread_number() >= count) return;
  const auto cell = static_cast<std::int32_t>(cuda::thread_number() / cuda::threads_per_warp);
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  std::int32_t next = begin[cell];
  for (int first = 0; first < nodes.count; first += cuda::threads_per_warp) {
    const int i = first + lane;
    const std::int32_t place = i < nodes.count ? nodes(cell, i) : -1;
    const bool owns = place >= 0 && owners[place] == cell;
    const unsigned all = __ballot_sync(cuda::all_lanes, owns);
    if (owns) {
      const std::int32_t to = next + __popc(all & ((1U << lane) - 1));
      owned[to] = place;
      node[to] = static_cast<std::uint8_t>(i);
      cell_in_chunk[to] = static_cast<std::uint8_t>(cell % chunk);
    }
    next += __popc(all);
  }
}
/// The greatest number of owned unknowns of a chunk. One thread a chunk.
__global__ void __launch_bounds__(block_threads)
    most_owned_kernel(std::int64_t chunks, const std::int32_t* begin, std::int32_t cells, int chunk, int* most) {
  const std::int64_t first = cuda::thread_number() * chunk;
  if (cuda::thread_number() < chunks) atomicMax(most, begin[min(first + chunk, std::int64_t{cells})] - begin[first]);
}
__global__ void __launch_bounds__(block_threads)
    gathered_kernel(std::int64_t count, const std::int32_t* unknowns, std::int32_t* next, std::int32_t* gathered) {
  const std::int64_t i = cuda::thread_number();
  if (i < count && unknowns[i] >= 0) gathered[atomicAdd(next + unknowns[i], 1)] = static_cast<std::int32_t>(i);
}
/// Sorts the positions of each unknown, which threads listed in any order. One thread an unknown.
__global__ void __launch_bounds__(block_threads)
    sort_kernel(std::int64_t count, const std::int32_t* begin, std::int32_t* gathered) {
  const std::int64_t unknown = cuda::thread_number();
  if (unknown >= count) return;
  const std::int32_t first = begin[unknown], last = begin[unknown + 1];
  for (std::int32_t k = first + 1; k < last; ++k) {
    const std::int32_t place = gathered[k];
    std::int32_t to = k;
    for (; to > first && gathered[to - 1] > place; --to) gathered[to] = gathered[to - 1];
    gathered[to] = place;
  }
}

/// Cells per chunk: a power of two, up to 128, with about 1,024 coarse nodes.
constexpr int cells_per_chunk(int coarse_nodes) {
  int cells = 128;
  while (cells > 8 && cells * coarse_nodes > 1024) cells /= 2;
  return cells;
}

struct CellTables {
  std::int32_t cells;
  int coarse_nodes, fine_nodes, chunk;  ///< chunk: cells
  int most_owned;                       ///< of a chunk
  const std::int32_t *coarse, *owned_begin, *owned;
  const std::uint8_t *node, *cell;  ///< cell: of an owned unknown, within its chunk
  const std::int32_t *gathered_begin, *gathered;

  /// Stride of the rows of E in shared memory: odd, to avoid bank conflicts.
  __host__ __device__ int stride() const { return coarse_nodes | 1; }
  __host__ __device__ int chunks() const { return (cells + chunk - 1) / chunk; }
};

template <class T>
__device__ void load_embedding(const CellTables& of, const T* embedding, T* to) {
  for (int i = static_cast<int>(threadIdx.x); i < of.fine_nodes * of.coarse_nodes; i += block_threads)
    to[i / of.coarse_nodes * of.stride() + i % of.coarse_nodes] = embedding[i];
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    prolong_kernel(CellTables of, const T* embedding, const T* coarse, T* fine) {
  extern __shared__ __align__(16) double shared_memory[];
  T* rows = reinterpret_cast<T*>(shared_memory);
  T* e = rows + of.fine_nodes * of.stride();
  load_embedding(of, embedding, rows);
  for (int chunk = static_cast<int>(blockIdx.x); chunk < of.chunks(); chunk += static_cast<int>(gridDim.x)) {
    const int first = chunk * of.chunk, last = min(first + of.chunk, of.cells);
    const std::int32_t* unknowns = of.coarse + std::int64_t{first} * of.coarse_nodes;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < (last - first) * of.coarse_nodes; i += block_threads) {
      const std::int32_t unknown = __ldcs(unknowns + i);
      e[i] = unknown >= 0 ? coarse[unknown] : T(0);
    }
    __syncthreads();
    const std::int32_t end = of.owned_begin[last];
    for (std::int32_t k = of.owned_begin[first] + static_cast<std::int32_t>(threadIdx.x); k < end; k += block_threads) {
      const std::int32_t unknown = __ldcs(of.owned + k);
      const T before = fine[unknown];
      const T* row = rows + of.node[k] * of.stride();
      const T* of_cell = e + of.cell[k] * of.coarse_nodes;
      T sum = 0;
      for (int j = 0; j < of.coarse_nodes; ++j) sum = fma(row[j], of_cell[j], sum);
      fine[unknown] = before + sum;
    }
  }
}

/// Restricts to `sums`, [cells][coarse nodes]. One block a chunk.
template <class T>
__global__ void __launch_bounds__(block_threads)
    cell_sums_kernel(CellTables of, const T* embedding, const T* r, const T* q, T* sums) {
  extern __shared__ __align__(16) double shared_memory[];
  T* rows = reinterpret_cast<T*>(shared_memory);
  T* residuals = rows + of.fine_nodes * of.stride();
  load_embedding(of, embedding, rows);
  for (int chunk = static_cast<int>(blockIdx.x); chunk < of.chunks(); chunk += static_cast<int>(gridDim.x)) {
    const int first = chunk * of.chunk, last = min(first + of.chunk, of.cells);
    const std::int32_t begin = of.owned_begin[first], end = of.owned_begin[last];
    __syncthreads();
    for (std::int32_t k = begin + static_cast<std::int32_t>(threadIdx.x); k < end; k += block_threads) {
      const std::int32_t unknown = __ldcs(of.owned + k);
      residuals[k - begin] = r[unknown] - q[unknown];
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < (last - first) * of.coarse_nodes; i += block_threads) {
      const int cell = first + i / of.coarse_nodes, j = i % of.coarse_nodes;
      T sum = 0;
      const std::int32_t behind = of.owned_begin[cell + 1];
      for (std::int32_t k = of.owned_begin[cell]; k < behind; ++k)
        sum = fma(rows[of.node[k] * of.stride() + j], residuals[k - begin], sum);
      sums[std::int64_t{first} * of.coarse_nodes + i] = sum;
    }
  }
}

/// Prolongs rows of `stride` values. One block a chunk, one thread per value of an owned unknown.
template <class T>
__global__ void __launch_bounds__(block_threads)
    prolong_rows_kernel(CellTables of, int stride, const T* embedding, const T* coarse, T* fine) {
  const int first = static_cast<int>(blockIdx.x) * of.chunk, last = min(first + of.chunk, of.cells);
  const std::int64_t begin = std::int64_t{of.owned_begin[first]} * stride,
                     end = std::int64_t{of.owned_begin[last]} * stride;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
    const std::int64_t k = i / stride, c = i % stride;
    const T* row = embedding + of.node[k] * of.coarse_nodes;
    const std::int32_t* unknowns = of.coarse + std::int64_t{first + of.cell[k]} * of.coarse_nodes;
    T sum = 0;
    for (int j = 0; j < of.coarse_nodes; ++j)
      if (unknowns[j] >= 0) sum = fma(row[j], coarse[std::int64_t{unknowns[j]} * stride + c], sum);
    fine[std::int64_t{of.owned[k]} * stride + c] += sum;
  }
}
/// Restricts to `sums`, [cells][coarse nodes][stride]. One thread a sum.
template <class T>
__global__ void __launch_bounds__(block_threads)
    cell_sums_of_rows_kernel(std::int64_t count, CellTables of, int stride, const T* embedding, const T* r, const T* q,
                             T* sums) {
  const std::int64_t i = cuda::thread_number();
  if (i >= count) return;
  const std::int64_t node = i / stride, c = i % stride, cell = node / of.coarse_nodes, j = node % of.coarse_nodes;
  T sum = 0;
  const std::int32_t end = of.owned_begin[cell + 1];
  for (std::int32_t k = of.owned_begin[cell]; k < end; ++k) {
    const std::int64_t at = std::int64_t{of.owned[k]} * stride + c;
    sum = fma(embedding[of.node[k] * of.coarse_nodes + j], r[at] - q[at], sum);
  }
  sums[i] = sum;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(std::int64_t count, CellTables of, int stride, const T* sums, T* coarse) {
  const std::int64_t i = cuda::thread_number();
  if (i >= count) return;
  const std::int64_t unknown = i / stride, c = i % stride;
  T sum = 0;
  const std::int32_t end = of.gathered_begin[unknown + 1];
  for (std::int32_t k = of.gathered_begin[unknown]; k < end; ++k)
    sum += sums[std::int64_t{__ldcs(of.gathered + k)} * stride + c];
  coarse[i] = sum;
}

template <class T>
class CudaCellTransfer final : public Transfer<T> {
 public:
  CudaCellTransfer(const CellEmbedding& of, const LevelOrdering& fine, const LevelOrdering& coarse)
      : cells_(of.cells),
        fine_nodes_(of.fine.count),
        coarse_nodes_(of.coarse.count),
        coarse_size_(of.coarse.unknowns),
        embedding_(on_gpu(of.values)) {
    list_coarse(of, coarse);
    list_owned(of, fine);
    gather_coarse();
    const std::int64_t rows = fine_nodes_ * tables().stride(), chunk = tables().chunk;
    prolongation_.prepare(prolong_kernel<T>, rows + chunk * coarse_nodes_, tables().chunks());
    restriction_.prepare(cell_sums_kernel<T>, rows + most_owned_, tables().chunks());
  }

  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    if (stride == 1)
      cuda::launch(prolong_kernel<T>, prolongation_.blocks, block_threads, prolongation_.shared_bytes, tables(),
                   embedding_.data(), coarse.data(), fine.data());
    else
      cuda::launch(prolong_rows_kernel<T>, tables().chunks(), block_threads, 0, tables(), stride, embedding_.data(),
                   coarse.data(), fine.data());
  }
  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    const std::int64_t numbers = coarse_.size() * stride;
    if (sums_.size() < numbers) sums_ = Vector<T>(numbers, Device::cuda);
    if (stride == 1)
      cuda::launch(cell_sums_kernel<T>, restriction_.blocks, block_threads, restriction_.shared_bytes, tables(),
                   embedding_.data(), r.data(), q.data(), sums_.data());
    else
      for_each(numbers, cell_sums_of_rows_kernel<T>, tables(), stride, embedding_.data(), r.data(), q.data(),
               sums_.data());
    for_each(std::int64_t{coarse_size_} * stride, gather_kernel<T>, tables(), stride, sums_.data(), coarse.data());
  }

  std::int64_t stored_bytes() const override {
    return embedding_.bytes() + coarse_.bytes() + owned_begin_.bytes() + owned_.bytes() + node_.bytes() +
           cell_.bytes() + gathered_begin_.bytes() + gathered_.bytes() + sums_.bytes();
  }

 private:
  /// Number of resident blocks, and their shared memory.
  struct Launch {
    std::int64_t blocks = 0;
    std::size_t shared_bytes = 0;

    template <class Kernel>
    void prepare(Kernel kernel, std::int64_t numbers, std::int64_t chunks) {
      shared_bytes = static_cast<std::size_t>(numbers) * sizeof(T);
      cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(cuda::shared_bytes_of_block())),
                  "asking for shared memory");
      blocks = std::min(chunks, cuda::resident_blocks(kernel, block_threads, shared_bytes));
    }
  };

  static Vector<T> on_gpu(const std::vector<float>& of) {
    const std::vector<T> values(of.begin(), of.end());
    return copied(std::span<const T>(values), Device::cuda);
  }

  void list_coarse(const CellEmbedding& of, const LevelOrdering& ordering) {
    const PlacesOfNodes nodes(of.coarse, cells_, ordering);
    coarse_ = Vector<std::int32_t>(std::int64_t{cells_} * coarse_nodes_, Device::cuda);
    for_each(coarse_.size(), list_kernel, nodes.pointers(), coarse_.data());
    synchronize(Device::cuda);  // before `nodes` is freed
  }

  void list_owned(const CellEmbedding& of, const LevelOrdering& ordering) {
    const PlacesOfNodes nodes(of.fine, cells_, ordering);
    Vector<std::int32_t> owners(of.fine.unknowns, Device::cuda);
    for_each(owners.size(), fill_kernel, cells_, owners.data());
    for_each(std::int64_t{cells_} * fine_nodes_, find_owners_kernel, nodes.pointers(), owners.data());
    const Vector<std::int32_t> ghosts = copied(of.ghosts, Device::cuda);
    for_each(ghosts.size(), leave_out_kernel, ghosts.data(), nodes.places(), cells_, owners.data());
    owned_begin_ = zeros_on_gpu<std::int32_t>(cells_ + std::int64_t{1});
    for_each(owners.size(), count_kernel, owners.data(), cells_, owned_begin_.data());
    cuda::sum_before(owned_begin_);
    const std::int64_t owned = cuda::number_at(owned_begin_, cells_);
    owned_ = Vector<std::int32_t>(owned, Device::cuda);
    node_ = Vector<std::uint8_t>(owned, Device::cuda);
    cell_ = Vector<std::uint8_t>(owned, Device::cuda);
    const int chunk = cells_per_chunk(coarse_nodes_);
    for_each(std::int64_t{cells_} * cuda::threads_per_warp, list_owned_kernel, nodes.pointers(), owners.data(),
             owned_begin_.data(), chunk, owned_.data(), node_.data(), cell_.data());
    Vector<int> most = zeros_on_gpu<int>(1);
    for_each(tables().chunks(), most_owned_kernel, owned_begin_.data(), cells_, chunk, most.data());
    most_owned_ = cuda::number_at(most, 0);
  }

  /// Lists the positions in [cells][nodes] of each coarse unknown, ascending.
  void gather_coarse() {
    gathered_begin_ = zeros_on_gpu<std::int32_t>(coarse_size_ + std::int64_t{1});
    for_each(coarse_.size(), count_kernel, coarse_.data(), coarse_size_, gathered_begin_.data());
    cuda::sum_before(gathered_begin_);
    gathered_ = Vector<std::int32_t>(cuda::number_at(gathered_begin_, coarse_size_), Device::cuda);
    sums_ = Vector<T>(coarse_.size(), Device::cuda);
    Vector<std::int32_t> next = copied(gathered_begin_, Device::cuda);
    for_each(coarse_.size(), gathered_kernel, coarse_.data(), next.data(), gathered_.data());
    for_each(std::int64_t{coarse_size_}, sort_kernel, gathered_begin_.data(), gathered_.data());
    synchronize(Device::cuda);  // before `next` is freed
  }

  CellTables tables() const {
    return {cells_,
            coarse_nodes_,
            fine_nodes_,
            cells_per_chunk(coarse_nodes_),
            most_owned_,
            coarse_.data(),
            owned_begin_.data(),
            owned_.data(),
            node_.data(),
            cell_.data(),
            gathered_begin_.data(),
            gathered_.data()};
  }

  std::int32_t cells_;
  int fine_nodes_, coarse_nodes_, most_owned_ = 0;
  std::int32_t coarse_size_;
  Vector<T> embedding_;
  Vector<std::int32_t> coarse_, owned_begin_, owned_, gathered_begin_, gathered_;
  Vector<std::uint8_t> node_, cell_;
  mutable Vector<T> sums_;  ///< [cells][coarse nodes][vectors], for the most vectors so far
  Launch prolongation_, restriction_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                     const LevelOrdering& coarse) {
  return std::make_unique<CudaCellTransfer<T>>(embedding, fine, coarse);
}

template std::unique_ptr<Transfer<double>> make_cuda_cell_transfer(const CellEmbedding&, const LevelOrdering&,
                                                                   const LevelOrdering&);
template std::unique_ptr<Transfer<float>> make_cuda_cell_transfer(const CellEmbedding&, const LevelOrdering&,
                                                                  const LevelOrdering&);

}  // namespace femcg::operators
