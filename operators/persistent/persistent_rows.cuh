#pragma once

// The matrix of the persistent kernel (PersistentCg), by thread blocks. Each block has neighbouring rows. Its window of
// u, in shared memory, is the sorted columns of these rows, and column indices are 16-bit indices into the window. The
// rows' entries are in shared memory as far as they fit, else they come from the L2 cache. If some window takes too
// much of shared memory, as in matrices without locality, column indices are full, and all blocks gather u from the L2
// cache.

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "operators/backend/cuda/reductions.cuh"
#include "operators/persistent/persistent_cg.hpp"
#include "operators/persistent/persistent_sums.cuh"
#include "operators/persistent/row_layout.hpp"

namespace femcg::operators::cuda {

/// The row of a group of threads.
struct PersistentRow {
  std::int32_t number;  ///< index of its entry in the vectors
  std::int32_t place;   ///< index of its entry in the window
};

/// An entry of the window that another block computes: its index in u and in the window.
struct HaloEntry {
  std::int32_t column, place;
};

/// `Place` is std::uint16_t for indices into windows, std::int32_t for full column indices.
template <class Value, class Place>
struct PersistentPointers {
  const PersistentBlock* blocks;
  const PersistentSlice* slices;
  const PersistentRow* rows;
  const HaloEntry* halo;
  const Value *head_values, *tail_values;
  const Place *head_places, *tail_places;
};

template <class Value, class Place>
struct PersistentMatrix {
  int rows_per_group;
  std::int64_t blocks, rows, shared_bytes;
  Vector<PersistentBlock> of_block;
  Vector<PersistentSlice> slices;
  Vector<PersistentRow> of_row;
  Vector<HaloEntry> halo;
  Vector<Value> head_values, tail_values;
  Vector<Place> head_places, tail_places;

  PersistentPointers<Value, Place> pointers() const {
    return {of_block.data(),    slices.data(),      of_row.data(),      halo.data(),
            head_values.data(), tail_values.data(), head_places.data(), tail_places.data()};
  }
};

/// Most resident blocks of the kernel, one a multiprocessor; and most dynamic shared memory of a block, in bytes.
std::int64_t most_persistent_blocks();
std::int64_t persistent_room_bytes();

inline std::int64_t most_persistent_rows() {
  return most_persistent_blocks() * persistent_threads * persistent_rows_per_group;
}

/// True if the GPU has threads for so many rows and, for PersistentFor::faster, a persistent kernel is expected to be
/// faster with so many entries.
inline bool takes_persistent_cg(std::int64_t rows, std::int64_t entries, std::int64_t value_bytes,
                                PersistentFor systems) {
  return rows > 0 && rows <= most_persistent_rows() &&
         (systems == PersistentFor::possible || persistent_is_faster(entries, value_bytes));
}

/// The persistent kernel for this matrix; null if the GPU cannot hold its blocks concurrently.
template <class T, class Value, class Place>
std::unique_ptr<PersistentCg<T>> make_persistent_loop(PersistentMatrix<Value, Place> matrix);

/// An entry of u that another process needs: its index in the window of the block that computes it, the process, and
/// the index in that process's halo buffer.
struct SentEntry {
  std::int32_t place, process, to;
};
/// Range of SentEntry of one thread block.
struct SentRange {
  std::int32_t first, count;
};

/// Peer buffers for halo exchange between the persistent kernels of several GPUs. Entries of u from `owned` on are
/// computed by other processes.
struct PersistentPeers {
  MultiGpuReduction reduction;  ///< except `here`, which the loop sets
  std::int32_t owned;
  TaggedValue* u[most_processes];  ///< per process: its halo buffer, written by the others
  const SentRange* ranges;         ///< of this process's blocks
  const SentEntry* sent;
};

/// One persistent kernel per process, coupled over all processes: windows are of the global u. The peers' memory must
/// outlive the result. Null if the GPU cannot hold its blocks concurrently. iterate() is then collective.
template <class T>
std::unique_ptr<PersistentCg<T>> make_persistent_loop(PersistentMatrix<T, std::uint16_t> matrix,
                                                      const PersistentPeers& peers);

/// Bytes of the window, with which shared memory begins; values and column indices of the head follow, each aligned to
/// 16 bytes.
template <class T>
__host__ __device__ constexpr std::int64_t window_bytes(std::int64_t entries) {
  return (entries * std::int64_t{sizeof(T)} + 15) / 16 * 16;
}

/// Number of entries of u that the columns of a matrix refer to, ghosts included.
template <class Rows>
__host__ __device__ std::int32_t entries_of(const Rows& a) {
  if constexpr (requires { a.entries_of_u; })
    return a.entries_of_u;
  else
    return a.rows;
}

/// Copies to the GPU.
template <class Number>
Vector<Number> sent(const std::vector<Number>& numbers) {
  Vector<Number> to(static_cast<std::int64_t>(numbers.size()), Device::cuda);
  copy_bytes(numbers.data(), Device::host, to.data(), Device::cuda, to.bytes());
  return to;
}

template <class Rows>
__global__ void count_entries_kernel(Rows a, std::int32_t* counts) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < a.rows; i += threads)
    counts[i] = a.find(static_cast<std::int32_t>(i)).count;
}

/// Sets a bit in `touched` for each entry of u that the rows of a block use, and in `own` for each that they compute.
template <class Rows>
__device__ void mark_window(const Rows& a, const PersistentBlock& block, const std::int32_t* order, int words,
                            unsigned* touched, unsigned* own) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  for (int word = static_cast<int>(threadIdx.x); word < words; word += persistent_threads)
    touched[word] = own[word] = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x) / threads_per_warp; i < block.rows;
       i += persistent_threads / threads_per_warp) {
    const auto row = a.find(order[block.first_row + i]);
    if (lane == 0) {
      atomicOr(own + row.number / 32, 1U << row.number % 32);
      atomicOr(touched + row.number / 32, 1U << row.number % 32);
    }
    for (std::int32_t k = lane; k < row.count; k += threads_per_warp) {
      const std::int32_t column = a.column(row, k);
      atomicOr(touched + column / 32, 1U << column % 32);
    }
  }
  __syncthreads();
}

/// Counts the window and the halo of each block of the persistent kernel. One thread block a block.
template <class Rows>
__global__ void __launch_bounds__(persistent_threads)
    measure_windows_kernel(Rows a, const std::int32_t* order, PersistentBlock* blocks) {
  extern __shared__ unsigned bits[];
  const int words = (entries_of(a) + 31) / 32;
  unsigned *touched = bits, *own = bits + words;
  mark_window(a, blocks[blockIdx.x], order, words, touched, own);
  double window = 0, halo = 0;
  for (int word = static_cast<int>(threadIdx.x); word < words; word += persistent_threads) {
    window += __popc(touched[word]);
    halo += __popc(touched[word] & ~own[word]);
  }
  window = sum_of_block(window);
  halo = sum_of_block(halo);
  if (threadIdx.x != 0) return;
  blocks[blockIdx.x].window = static_cast<std::int32_t>(window);
  blocks[blockIdx.x].halo = static_cast<std::int32_t>(halo);
}

/// Exclusive prefix sum over the threads of a block.
__device__ inline unsigned long long sum_before(unsigned long long value) {
  __shared__ unsigned long long of_warp[persistent_threads / threads_per_warp];
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
            warp = static_cast<int>(threadIdx.x) / threads_per_warp;
  unsigned long long sum = value;
  for (int distance = 1; distance < threads_per_warp; distance *= 2) {
    const unsigned long long of_other = __shfl_up_sync(all_lanes, sum, distance);
    if (lane >= distance) sum += of_other;
  }
  if (lane == threads_per_warp - 1) of_warp[warp] = sum;
  __syncthreads();
  sum -= value;
  for (int other = 0; other < warp; ++other) sum += of_warp[other];
  return sum;
}

/// Numbers the marked entries in their order: `before` is the number of marked entries before each word. Writes the
/// halo.
__device__ inline void number_window(const unsigned* touched, const unsigned* own, int words, unsigned* before,
                                     HaloEntry* halo) {
  constexpr int bits_of_window = 32;
  const int each = (words + persistent_threads - 1) / persistent_threads;
  const int begin = min(words, static_cast<int>(threadIdx.x) * each), end = min(words, begin + each);
  unsigned long long counts = 0;
  for (int word = begin; word < end; ++word)
    counts +=
        (static_cast<unsigned long long>(__popc(touched[word] & ~own[word])) << bits_of_window) + __popc(touched[word]);
  counts = sum_before(counts);
  auto place = static_cast<unsigned>(counts), of_halo = static_cast<unsigned>(counts >> bits_of_window);
  for (int word = begin; word < end; ++word) {
    before[word] = place;
    for (unsigned rest = touched[word]; rest != 0; rest &= rest - 1, ++place) {
      const int bit = __ffs(static_cast<int>(rest)) - 1;
      if ((own[word] >> bit & 1U) == 0) halo[of_halo++] = {word * 32 + bit, static_cast<std::int32_t>(place)};
    }
  }
  __syncthreads();
}

/// Arrays that the matrix is packed into.
template <class Value, class Place>
struct PackedTarget {
  PersistentRow* rows;
  HaloEntry* halo;
  Value *head_values, *tail_values;
  Place *head_places, *tail_places;
};

/// Writes a row with its padding, zeros in the row's own column. One warp a row.
template <class Rows, class Value, class Place, class PlaceOf>
__device__ void pack_row(const Rows& a, const typename Rows::Row& row, int first_lane, const PersistentBlock& block,
                         const PersistentSlice& slice, const PackedTarget<Value, Place>& target,
                         const PlaceOf& place_of) {
  const int group = block.group, padded = (slice.head_length + slice.tail_length) * group;
  for (int k = static_cast<int>(threadIdx.x) % threads_per_warp; k < padded; k += threads_per_warp) {
    const bool there = k < row.count;
    const Value value = there ? a.value(row, k) : Value(0);
    const auto place = static_cast<Place>(place_of(there ? a.column(row, k) : row.number));
    const int j = k / group, lane = first_lane + k % group;
    if (j < slice.head_length) {
      const std::int64_t at = block.head + slice.head + std::int64_t{j} * persistent_slice_lanes + lane;
      target.head_values[at] = value;
      target.head_places[at] = place;
    } else {
      const std::int64_t at =
          block.tail + slice.tail + std::int64_t{j - slice.head_length} * persistent_slice_lanes + lane;
      target.tail_values[at] = value;
      target.tail_places[at] = place;
    }
  }
}

/// Writes the packed matrix. One thread block a block of the persistent kernel, one warp a row. `Rows` as in
/// make_persistent_cg.
template <class Rows, class Value, class Place>
__global__ void __launch_bounds__(persistent_threads)
    pack_kernel(Rows a, const std::int32_t* order, const PersistentBlock* blocks, const PersistentSlice* slices,
                PackedTarget<Value, Place> target) {
  constexpr bool windowed = std::is_same_v<Place, std::uint16_t>;
  extern __shared__ unsigned bits[];
  const int words = (entries_of(a) + 31) / 32;
  unsigned *touched = bits, *own = bits + words, *before = bits + 2 * words;
  const PersistentBlock block = blocks[blockIdx.x];
  if constexpr (windowed) {
    mark_window(a, block, order, words, touched, own);
    number_window(touched, own, words, before, target.halo + block.first_halo);
  }
  const auto place_of = [&](std::int32_t column) -> std::int32_t {
    if constexpr (windowed) {
      const int word = column / 32;
      return static_cast<std::int32_t>(before[word] + __popc(touched[word] & ((1U << column % 32) - 1)));
    } else {
      return column;
    }
  };
  for (int i = static_cast<int>(threadIdx.x) / threads_per_warp; i < block.rows;
       i += persistent_threads / threads_per_warp) {
    const typename Rows::Row row = a.find(order[block.first_row + i]);
    const int first = i * block.group;
    const PersistentSlice slice =
        slices[std::int64_t{blockIdx.x} * persistent_slices_per_block + first / persistent_slice_lanes];
    pack_row(a, row, first % persistent_slice_lanes, block, slice, target, place_of);
    if (threadIdx.x % threads_per_warp == 0) target.rows[block.first_row + i] = {row.number, place_of(row.number)};
  }
}

/// Launches a kernel with dynamic shared memory for `words` bit sets over `entries` entries of u.
template <class... Parameters, class... Arguments>
void launch_with_bits(void (*kernel)(Parameters...), std::int64_t blocks, std::int64_t entries, int words,
                      Arguments&&... arguments) {
  const std::int64_t bytes = words * ((entries + 31) / 32) * std::int64_t{sizeof(unsigned)};
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
  launch(kernel, blocks, persistent_threads, static_cast<std::size_t>(bytes), std::forward<Arguments>(arguments)...);
}

/// Packs rows whose blocks are laid out and measured, with as many entries in shared memory as fit.
template <class Place, class T, class Rows>
auto pack_rows(const Rows& a, RowLayout& layout, const Vector<std::int32_t>& order) {
  using Value = typename Rows::Value;
  constexpr bool windowed = std::is_same_v<Place, std::uint16_t>;
  constexpr std::int64_t entry_bytes = sizeof(Value) + sizeof(Place);
  std::vector<std::int64_t> room;
  std::int64_t halo = 0, shared_bytes = 0;
  for (PersistentBlock& block : layout.blocks) {
    if (!windowed) block.window = block.halo = 0;
    block.first_halo = halo;
    halo += block.halo;
    room.push_back(persistent_room_bytes() - window_bytes<T>(block.window));
  }
  layout.fill_heads(room, entry_bytes);
  for (const PersistentBlock& block : layout.blocks)
    shared_bytes = std::max(shared_bytes, window_bytes<T>(block.window) + block.head_entries * entry_bytes);
  const auto blocks = static_cast<std::int64_t>(layout.blocks.size());
  PersistentMatrix<Value, Place> packed{layout.rows_per_group(),
                                        blocks,
                                        a.rows,
                                        shared_bytes,
                                        sent(layout.blocks),
                                        sent(layout.slices),
                                        Vector<PersistentRow>(a.rows, Device::cuda),
                                        Vector<HaloEntry>(halo, Device::cuda),
                                        zeros_on_gpu<Value>(layout.head_entries),
                                        zeros_on_gpu<Value>(layout.tail_entries),
                                        zeros_on_gpu<Place>(layout.head_entries),
                                        zeros_on_gpu<Place>(layout.tail_entries)};
  launch_with_bits(
      pack_kernel<Rows, Value, Place>, blocks, entries_of(a), windowed ? 3 : 0, a, order.data(), packed.of_block.data(),
      packed.slices.data(),
      PackedTarget<Value, Place>{packed.of_row.data(), packed.halo.data(), packed.head_values.data(),
                                 packed.tail_values.data(), packed.head_places.data(), packed.tail_places.data()});
  return packed;
}

/// Distribution of the rows over blocks; their order on the GPU.
struct RowsOfBlocks {
  RowLayout layout;
  Vector<std::int32_t> order;
  bool windowed;  ///< true if the windows of all blocks leave room for much of the matrix
};
/// Distributes the rows over blocks and measures windows. `by_number`: rows in mesh order, where neighbours are close;
/// empty for the identity. A format may sort its rows by length over the whole matrix (pjds): blocks of such rows would
/// touch all of u.
template <class T, class Rows>
RowsOfBlocks lay_out(const Rows& a, std::span<const std::int32_t> by_number) {
  Vector<std::int32_t> lengths(a.rows, Device::cuda);
  constexpr int threads = 256;
  launch(count_entries_kernel<Rows>, (a.rows + threads - 1) / threads, threads, 0, a, lengths.data());
  RowsOfBlocks rows{lay_out_rows(copied(lengths, Device::host).span(), by_number, most_persistent_blocks()), {}, false};
  RowLayout& layout = rows.layout;
  rows.order = sent(layout.order);
  Vector<PersistentBlock> blocks = sent(layout.blocks);
  launch_with_bits(measure_windows_kernel<Rows>, blocks.size(), entries_of(a), 2, a, rows.order.data(), blocks.data());
  copy_bytes(blocks.data(), Device::cuda, layout.blocks.data(), Device::host, blocks.bytes());
  std::int64_t widest = 0;
  for (const PersistentBlock& block : layout.blocks) widest = std::max<std::int64_t>(widest, block.window);
  rows.windowed = persistent_window_fits(widest, sizeof(T), persistent_room_bytes());
  return rows;
}

/// The persistent kernel for a matrix by rows with `entries` entries. Null where it is not possible, or, for
/// PersistentFor::faster, where launches are expected to be faster (takes_persistent_cg) or windows do not fit, since
/// then every entry gathers u from the L2 cache, and blocks wait for each other twice an iteration. by_number() returns
/// the argument of lay_out, on the host.
/// `Rows` is plain data with `rows`, their number, a type `Value` and
///   __device__ Row find(std::int32_t i) const;  // of the i-th row its `number`, its entry of the vectors, and `count`
///   __device__ std::int32_t column(const Row&, std::int32_t k) const;  // of its k-th entry
///   __device__ Value value(const Row&, std::int32_t k) const;
template <class T, class Rows, class ByNumber>
std::unique_ptr<PersistentCg<T>> make_persistent_cg(const Rows& a, std::int64_t entries, PersistentFor systems,
                                                    const ByNumber& by_number) {
  if (!takes_persistent_cg(a.rows, entries, sizeof(typename Rows::Value), systems)) return nullptr;
  RowsOfBlocks rows = lay_out<T>(a, Vector<std::int32_t>(by_number()).span());
  if (systems == PersistentFor::faster && !rows.windowed) return nullptr;
  std::unique_ptr<PersistentCg<T>> loop =
      rows.windowed ? make_persistent_loop<T>(pack_rows<std::uint16_t, T>(a, rows.layout, rows.order))
                    : make_persistent_loop<T>(pack_rows<std::int32_t, T>(a, rows.layout, rows.order));
  synchronize(Device::cuda);  // before the order is freed
  return loop;
}

}  // namespace femcg::operators::cuda
