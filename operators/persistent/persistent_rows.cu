// The single-reduction method of CG (Chronopoulos & Gear 1989) in one persistent kernel: one block of 1024 threads per
// multiprocessor. A group of threads has up to two rows, whose entries of p, s, x, r and u it keeps in registers.
// Blocks exchange twice an iteration (block_exchange.cuh), each time one way through the L2 cache:
//
//   u      entries are stamped with their epoch; blocks poll those of their halo and copy them to their windows in
//          shared memory
//   sums   u'w, r'u and r'r; the last two are published before the product w = A u and read after it
//
// With full column indices (PersistentMatrix), u passes through memory instead, and is ordered by the grid reduction of
// r'u and r'r before the product. Sums are in a fixed order: two runs give the same bits.
//
// Over several processes each kernel has rows of its own: blocks write the entries of u that other GPUs need, and their
// parts of the sums, into the memory of these GPUs (process_sums.cuh), which poll them there.
//
// An iteration moves the halos twice between the L2 cache and the multiprocessors, 16 or 8 bytes per entry, and the
// tails of the matrix, the entries that do not fit in shared memory, once: sizeof(Value) + 2 or 4 bytes per entry.

#include "operators/backend/passes/step_lengths.hpp"
#include "operators/persistent/persistent_rows.cuh"
#include "operators/persistent/persistent_vectors.cuh"

namespace femcg::operators::cuda {

namespace {

/// A polled entry of u; `there` is true if it carries the epoch.
template <class T>
struct Seen {
  T value;
  bool there;
};

/// Exchange between the thread blocks of one GPU, and the epoch before this launch.
template <class T>
struct Exchange {
  GridReduction reduction;
  Stamped<T>* u;
  std::uint64_t epoch;

  __device__ Seen<T> look(std::int32_t entry, std::uint64_t now) const {
    const Stamped<T> seen = poll(u + entry);
    return {seen.value, has_epoch(seen, now)};
  }
  __device__ void send(const T*, std::uint64_t) const {}
};

/// Halo exchange with thread blocks of other GPUs.
template <class T>
struct ExchangeWithPeers {
  MultiGpuReduction reduction;
  Stamped<T>* u;
  std::uint64_t epoch;
  std::int32_t owned;
  TaggedValue* of[most_processes];
  const SentRange* ranges;
  const SentEntry* sent;

  __device__ Seen<T> look(std::int32_t entry, std::uint64_t now) const {
    if (entry >= owned) {
      double value = 0;
      const bool there = poll(of[reduction.rank] + (entry - owned), static_cast<unsigned>(now), value);
      return {static_cast<T>(value), there};
    }
    const Stamped<T> seen = poll(u + entry);
    return {seen.value, has_epoch(seen, now)};
  }
  /// Sends the entries of u that other GPUs need. Called by all threads of a block once their own u is in the window.
  __device__ void send(const T* window, std::uint64_t now) const {
    const SentRange range = ranges[blockIdx.x];
    if (range.count == 0) return;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < range.count; i += persistent_threads) {
      const SentEntry entry = sent[range.first + i];
      post(of[entry.process] + entry.to, static_cast<double>(window[entry.place]), static_cast<unsigned>(now));
    }
  }
};

/// Vector entries of one row, in registers.
template <class T>
struct RowOfGroup {
  PersistentRow row;  ///< its number is -1 if there is no row
  T inverse_diagonal, u, w, p, s, x, r;
};

/// A block's data in shared memory.
template <class T, class Value, class Place>
struct NearMemory {
  T* window;
  Value* values;
  Place* places;
};

/// Scalars of the iteration, computed by one thread for its block.
struct Step {
  StepLengths lengths;
  double old_rz;
};

template <class Number>
__device__ void copy_near(Number* to, const Number* from, std::int64_t count) {
  const std::int64_t runs = count * std::int64_t{sizeof(Number)} / std::int64_t{sizeof(int4)};
  for (std::int64_t i = threadIdx.x; i < runs; i += persistent_threads)
    reinterpret_cast<int4*>(to)[i] = __ldcg(reinterpret_cast<const int4*>(from) + i);
}

/// Sum over `length` entries, persistent_slice_lanes apart, of value times u(place); from shared memory, whose latency
/// other warps hide.
template <class T, class Value, class Place, class Entry>
__device__ T sum_near(const Value* values, const Place* places, int length, const Entry& u) {
  T sum = 0;
#pragma unroll 4
  for (int k = 0; k < length; ++k)
    sum += static_cast<T>(values[k * persistent_slice_lanes]) * u(places[k * persistent_slice_lanes]);
  return sum;
}

/// The same from the L2 cache, with several loads in flight. Loads beyond the end of the last batch repeat its first
/// entry.
template <class T, class Value, class Place, class Entry>
__device__ T sum_far(const Value* values, const Place* places, int length, const Entry& u) {
  constexpr int together = sizeof(Value) == 8 ? 4 : 8;
  T sum = 0;
  for (int k = 0; k < length; k += together) {
    Value value[together];
    Place place[together];
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const bool there = k + j < length;
      const std::int64_t at = std::int64_t{there ? k + j : k} * persistent_slice_lanes;
      place[j] = __ldcg(places + at);
      value[j] = there ? __ldcg(values + at) : Value(0);
    }
#pragma unroll
    for (int j = 0; j < together; ++j) sum += static_cast<T>(value[j]) * u(place[j]);
  }
  return sum;
}

/// Polls the halo until it carries this epoch, several entries at a time, and copies it to the window.
template <class T, class Exchange>
__device__ void take_halo(const HaloEntry* halo, int count, const Exchange& exchange, std::uint64_t epoch, T* window) {
  constexpr int together = 2;
  for (int first = static_cast<int>(threadIdx.x); first < count; first += together * persistent_threads) {
    HaloEntry entry[together];
    Seen<T> seen[together];
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const int i = first + j * persistent_threads;
      if (i < count) entry[j] = halo[i];
      if (i < count) seen[j] = exchange.look(entry[j].column, epoch);
    }
#pragma unroll
    for (int j = 0; j < together; ++j) {
      if (first + j * persistent_threads >= count) continue;
      while (!seen[j].there) seen[j] = exchange.look(entry[j].column, epoch);
      window[entry[j].place] = seen[j].value;
    }
  }
}

/// State and steps of one thread of the kernel, whose group has at most `rows` rows.
template <class T, class Value, class Place, int rows, class Exchange>
class PersistentThread {
 public:
  static constexpr bool windowed = std::is_same_v<Place, std::uint16_t>;

  __device__ PersistentThread(const PersistentPointers<Value, Place>& a, const PersistentVectors<T>& v,
                              const Exchange& exchange, const NearMemory<T, Value, Place>& near,
                              const PersistentSlice* slices, const PersistentBlock& block)
      : a_(a), v_(v), exchange_(exchange), near_(near), slices_(slices), block_(block) {
    const int thread = static_cast<int>(threadIdx.x);
    first_of_group_ = thread % block.group == 0;
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      RowOfGroup<T>& mine = mine_[k];
      const int i = (thread + k * persistent_threads) / block.group;
      mine.row.number = -1;
      if (i >= block_.rows) continue;
      mine.row = a.rows[block_.first_row + i];
      const std::int32_t number = mine.row.number;
      mine.inverse_diagonal = v.inverse_diagonal != nullptr ? v.inverse_diagonal[number] : T(1);
      mine.u = v.u[number];
      mine.p = v.p[number];
      mine.s = v.s[number];
      mine.x = v.x[number];
      mine.r = v.r[number];
    }
  }

  /// True if any thread of the warp has a row.
  __device__ bool warp_has_rows() const {
    return static_cast<int>(threadIdx.x) / threads_per_warp * threads_per_warp < block_.rows * block_.group;
  }

  /// Writes this thread's u to the window of its block, and publishes it to other blocks and GPUs.
  __device__ void give_u(std::uint64_t epoch) {
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const RowOfGroup<T>& mine = mine_[k];
      if (mine.row.number < 0 || !first_of_group_) continue;
      if constexpr (windowed) {
        if (exchange_.reduction.blocks() > 1) publish(exchange_.u + mine.row.number, mine.u, epoch);
        near_.window[mine.row.place] = mine.u;
      } else {
        __stcg(v_.u + mine.row.number, mine.u);
      }
    }
    exchange_.send(near_.window, epoch);
  }
  __device__ void take_u(std::uint64_t epoch) {
    if constexpr (windowed) take_halo(a_.halo + block_.first_halo, block_.halo, exchange_, epoch, near_.window);
  }

  /// Adds this thread's contributions to r'u and r'r.
  __device__ void add_residual(double& ru, double& rr) const {
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const RowOfGroup<T>& mine = mine_[k];
      if (mine.row.number < 0 || !first_of_group_) continue;
      ru += static_cast<double>(mine.r) * static_cast<double>(mine.u);
      rr += static_cast<double>(mine.r) * static_cast<double>(mine.r);
    }
  }

  /// Computes w = A u; returns this thread's contribution to u'w. Called by all lanes of a warp.
  __device__ double multiply() {
    double uw = 0;
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      T sum = sum_slice(slices_[static_cast<int>(threadIdx.x) / threads_per_warp + k * persistent_warps]);
      for (int distance = block_.group / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(all_lanes, sum, distance);
      mine_[k].w = sum;
      if (mine_[k].row.number >= 0 && first_of_group_) uw += static_cast<double>(mine_[k].u) * static_cast<double>(sum);
    }
    return uw;
  }

  __device__ void update(T alpha, T beta) {
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      RowOfGroup<T>& mine = mine_[k];
      if (mine.row.number < 0) continue;
      mine.p = mine.u + beta * mine.p;
      mine.s = mine.w + beta * mine.s;
      mine.x += alpha * mine.p;
      mine.r -= alpha * mine.s;
      mine.u = mine.inverse_diagonal * mine.r;
    }
  }

  __device__ void write_back() const {
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const RowOfGroup<T>& mine = mine_[k];
      const std::int32_t number = mine.row.number;
      if (number < 0 || !first_of_group_) continue;
      v_.u[number] = mine.u;
      v_.p[number] = mine.p;
      v_.s[number] = mine.s;
      v_.x[number] = mine.x;
      v_.r[number] = mine.r;
    }
  }

 private:
  __device__ T sum_slice(const PersistentSlice& slice) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
    const auto u = [&](Place place) {
      if constexpr (windowed)
        return near_.window[place];
      else
        return __ldcg(v_.u + place);
    };
    T sum = sum_near<T>(near_.values + slice.head + lane, near_.places + slice.head + lane, slice.head_length, u);
    if (slice.tail_length > 0) {
      const std::int64_t at = block_.tail + slice.tail + lane;
      sum += sum_far<T>(a_.tail_values + at, a_.tail_places + at, slice.tail_length, u);
    }
    return sum;
  }

  const PersistentPointers<Value, Place>& a_;
  const PersistentVectors<T>& v_;
  const Exchange& exchange_;
  const NearMemory<T, Value, Place>& near_;
  const PersistentSlice* slices_;
  const PersistentBlock& block_;
  bool first_of_group_;
  RowOfGroup<T> mine_[rows];
};

/// Computes alpha and beta from the sums of all blocks, by one thread of each block; block 0 writes the scalars to
/// `now`, the record of the iteration.
__device__ inline void take_step(const PersistentSums& sums, unsigned blocks, Step& step, double* now, bool first) {
  const double uw = total_of(sum_of_uw, sums, blocks), rz = total_of(sum_of_ru, sums, blocks),
               rr = total_of(sum_of_rr, sums, blocks);
  step.lengths.advance(step.old_rz, rz, uw);
  step.old_rz = rz;
  if (blockIdx.x != 0) return;
  if (!first) {
    now[0] = rz;
    now[1] = rr;
  }
  now[2] = step.lengths.energy;
  now[3] = uw;
}

template <class T, class Value, class Place, int rows, class Exchange>
__global__ void __launch_bounds__(persistent_threads, 1)
    persistent_cg_kernel(PersistentPointers<Value, Place> a, PersistentVectors<T> v, int iterations, double* scalars,
                         const __grid_constant__ Exchange exchange) {
  constexpr bool ordered = !std::is_same_v<Place, std::uint16_t>;
  extern __shared__ int4 shared[];
  __shared__ PersistentSlice slices[persistent_slices_per_block];
  __shared__ PersistentSums sums;
  __shared__ Step step;
  const int warp = static_cast<int>(threadIdx.x) / threads_per_warp;
  __shared__ PersistentBlock block;
  if (threadIdx.x == 0) block = a.blocks[blockIdx.x];
  __syncthreads();
  NearMemory<T, Value, Place> near;
  near.window = reinterpret_cast<T*>(shared);
  near.values = reinterpret_cast<Value*>(shared + window_bytes<T>(block.window) / std::int64_t{sizeof(int4)});
  near.places = reinterpret_cast<Place*>(near.values + block.head_entries);
  copy_near(near.values, a.head_values + block.head, block.head_entries);
  copy_near(near.places, a.head_places + block.head, block.head_entries);
  copy_near(slices, a.slices + std::int64_t{blockIdx.x} * persistent_slices_per_block, persistent_slices_per_block);
  if (threadIdx.x < persistent_warps)
    for (int sum = 0; sum < persistent_sums; ++sum) sums.of_warp[sum][threadIdx.x] = 0;
  if (threadIdx.x == 0) step = {{0, 0, scalars[2]}, scalars[0]};
  std::uint64_t epoch = exchange.epoch + 1;
  PersistentThread<T, Value, Place, rows, Exchange> thread(a, v, exchange, near, slices, block);
  thread.give_u(epoch);
  __syncthreads();
  const bool has_rows = thread.warp_has_rows();
  for (int iteration = 1;; ++iteration, ++epoch) {
    double ru = 0, rr = 0;
    thread.add_residual(ru, rr);
    if (has_rows) leave_two(ru, rr, sums);
    if (iteration <= iterations) thread.take_u(epoch);
    __syncthreads();
    if (warp == persistent_warps - 1) publish_part<ordered>(sum_of_ru, sums, exchange.reduction, epoch);
    if (warp == persistent_warps - 2) publish_part<ordered>(sum_of_rr, sums, exchange.reduction, epoch);
    if (iteration > iterations) break;
    if constexpr (ordered) {
      wait_for_parts<ordered>(sum_of_ru, sum_of_rr, sums, exchange.reduction, epoch);
      __syncthreads();
    }
    if (has_rows) leave_one(thread.multiply(), sums);
    __syncthreads();
    if (warp == 0) publish_part<ordered>(sum_of_uw, sums, exchange.reduction, epoch);
    wait_for_parts<ordered>(sum_of_uw, ordered ? sum_of_uw : sum_of_rr, sums, exchange.reduction, epoch);
    __syncthreads();
    if (threadIdx.x == 0)
      take_step(sums, exchange.reduction.blocks(), step, scalars + std::int64_t{CgScalars::count} * iteration,
                iteration == 1);
    __syncthreads();
    thread.update(static_cast<T>(step.lengths.alpha), static_cast<T>(step.lengths.beta));
    thread.give_u(epoch + 1);
  }
  wait_for_parts<ordered>(sum_of_ru, sum_of_rr, sums, exchange.reduction, epoch);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    double* last = scalars + std::int64_t{CgScalars::count} * (iterations + 1);
    last[0] = total_of(sum_of_ru, sums, exchange.reduction.blocks());
    last[1] = total_of(sum_of_rr, sums, exchange.reduction.blocks());
  }
  thread.write_back();
}

/// `Exchange` gets its buffers and its epoch here; the rest of it is the constructor's argument.
template <class T, class Value, class Place, class Exchange>
class PersistentLoop final : public PersistentCg<T> {
 public:
  explicit PersistentLoop(PersistentMatrix<Value, Place> matrix, const Exchange& exchange = {})
      : matrix_(std::move(matrix)),
        kernel_(matrix_.rows_per_group == 1
                    ? persistent_cg_kernel<T, Value, Place, 1, Exchange>
                    : persistent_cg_kernel<T, Value, Place, persistent_rows_per_group, Exchange>),
        parts_(zeros_on_gpu<Stamped<double>>(PartsOfBlocks::count(matrix_.blocks))),
        u_(zeros_on_gpu<Stamped<T>>(windowed && (matrix_.blocks > 1 || of_processes) ? matrix_.rows : 0)),
        exchange_(exchange) {
    exchange_.reduction.here = {parts_.data()};
    exchange_.u = u_.data();
    // The limit is the kernel's, which other matrices share: the maximum, not this matrix's bytes.
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(persistent_room_bytes())),
          "asking for shared memory");
  }

  /// True if all blocks are resident: a GPU with less shared memory or fewer registers may not hold them.
  bool fits() const {
    return matrix_.shared_bytes <= persistent_room_bytes() &&
           matrix_.blocks <=
               resident_blocks(kernel_, persistent_threads, static_cast<std::size_t>(matrix_.shared_bytes));
  }

  void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const override {
    launch_cooperative(kernel_, matrix_.blocks, persistent_threads, static_cast<std::size_t>(matrix_.shared_bytes),
                       matrix_.pointers(), persistent_vectors(vectors, inverse_diagonal, x, r),
                       static_cast<int>(iterations), scalars.data(), exchange_);
    exchange_.epoch += static_cast<std::uint64_t>(iterations) + 1;
  }

 private:
  static constexpr bool windowed = std::is_same_v<Place, std::uint16_t>,
                        of_processes = decltype(Exchange::reduction)::of_processes;
  using Kernel = void (*)(PersistentPointers<Value, Place>, PersistentVectors<T>, int, double*, Exchange);

  PersistentMatrix<Value, Place> matrix_;
  Kernel kernel_;
  mutable Vector<Stamped<double>> parts_;
  mutable Vector<Stamped<T>> u_;
  mutable Exchange exchange_;  ///< with the epochs of all launches so far
};

/// Bound on the static shared memory of the kernel, in bytes.
constexpr std::int64_t reserved_bytes = 4096;

}  // namespace

std::int64_t most_persistent_blocks() {
  static const std::int64_t blocks = multiprocessors();
  return blocks;
}

std::int64_t persistent_room_bytes() {
  static const std::int64_t bytes = shared_bytes_of_block() - reserved_bytes;
  return bytes;
}

template <class T, class Value, class Place>
std::unique_ptr<PersistentCg<T>> make_persistent_loop(PersistentMatrix<Value, Place> matrix) {
  auto loop = std::make_unique<PersistentLoop<T, Value, Place, Exchange<T>>>(std::move(matrix));
  return loop->fits() ? std::move(loop) : nullptr;
}

template <class T>
std::unique_ptr<PersistentCg<T>> make_persistent_loop(PersistentMatrix<T, std::uint16_t> matrix,
                                                      const PersistentPeers& peers) {
  ExchangeWithPeers<T> exchange{peers.reduction, nullptr, 0, peers.owned, {}, peers.ranges, peers.sent};
  std::copy(std::begin(peers.u), std::end(peers.u), exchange.of);
  auto loop = std::make_unique<PersistentLoop<T, T, std::uint16_t, ExchangeWithPeers<T>>>(std::move(matrix), exchange);
  return loop->fits() ? std::move(loop) : nullptr;
}

template std::unique_ptr<PersistentCg<double>> make_persistent_loop(PersistentMatrix<double, std::uint16_t>,
                                                                    const PersistentPeers&);
template std::unique_ptr<PersistentCg<float>> make_persistent_loop(PersistentMatrix<float, std::uint16_t>,
                                                                   const PersistentPeers&);

template std::unique_ptr<PersistentCg<double>> make_persistent_loop(PersistentMatrix<double, std::uint16_t>);
template std::unique_ptr<PersistentCg<double>> make_persistent_loop(PersistentMatrix<double, std::int32_t>);
template std::unique_ptr<PersistentCg<double>> make_persistent_loop(PersistentMatrix<float, std::uint16_t>);
template std::unique_ptr<PersistentCg<double>> make_persistent_loop(PersistentMatrix<float, std::int32_t>);
template std::unique_ptr<PersistentCg<float>> make_persistent_loop(PersistentMatrix<float, std::uint16_t>);
template std::unique_ptr<PersistentCg<float>> make_persistent_loop(PersistentMatrix<float, std::int32_t>);

}  // namespace femcg::operators::cuda
