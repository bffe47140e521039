#pragma once

// Sums over the GPUs of one host inside a kernel: each process's GPU writes its values into the memory of all GPUs, and
// each adds up its copies in the order of ranks, so that all get the same bits.

#include <cstdint>

namespace femcg::operators::cuda {

/// Most processes of a host that map each other's memory.
constexpr int most_processes = 64;

/// A value sent between GPUs, in two halves that both carry its epoch: 8 bytes are read and written atomically, so that
/// a reader that sees the epoch in both halves has the value, without a fence (NCCL's protocol LL).
struct alignas(16) TaggedValue {
  unsigned long long low, high;
};
__device__ inline void post(TaggedValue* to, double number, unsigned epoch) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(number));
  const unsigned long long flag = static_cast<unsigned long long>(epoch) << 32;
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(flag | (bits & 0xffffffffU)),
               "l"(flag | (bits >> 32))
               : "memory");
}
/// True if the value of this epoch has arrived; it is then in `number`.
__device__ inline bool poll(const TaggedValue* from, unsigned epoch, double& number) {
  unsigned long long low = 0, high = 0;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(from) : "memory");
  number = __longlong_as_double(static_cast<long long>(high << 32 | (low & 0xffffffffU)));
  return low >> 32 == epoch && high >> 32 == epoch;
}
__device__ inline double receive(const TaggedValue* from, unsigned epoch) {
  double number = 0;
  while (!poll(from, epoch, number)) {
  }
  return number;
}

/// Buffer in the memory of each GPU, zero at first. Values of odd and even epochs have a slot each, which suffices: a
/// GPU that posts for an epoch has received the previous epoch's values from all GPUs, which by then have received
/// those of the epoch before that.
struct ProcessNumbers {
  static constexpr int most = 66;  ///< values in one sum: two per column, and two more
  unsigned epoch;                  ///< the last epoch, counted by this GPU
  TaggedValue of[2][most_processes][most];
};

/// Pointers to the buffers of all GPUs; a kernel's argument.
struct ProcessSums {
  int processes = 0, rank = 0;
  ProcessNumbers* of[most_processes] = {};
};

/// Writes number(k) of this GPU, k < count, into every GPU's buffer, tagged with the next epoch; returns the epoch.
/// Called by all threads of one block; one grid at a time, in the same order on all processes.
template <class Number>
__device__ unsigned post_to_processes(const ProcessSums& with, int count, const Number& number) {
  const int mine = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  ProcessNumbers& here = *with.of[with.rank];
  const unsigned epoch = here.epoch + 1;
  for (int i = mine; i < count * with.processes; i += threads)
    post(&with.of[i / count]->of[epoch & 1][with.rank][i % count], number(i % count), epoch);
  __syncthreads();  // all have read the epoch; and sums may overwrite the values
  if (mine == 0) here.epoch = epoch;
  return epoch;
}

/// Calls take(k, sum), k < count, with the sums over all processes of the values posted in the epoch. Called by all
/// threads of a block.
template <class Take>
__device__ void receive_from_processes(const ProcessSums& with, int count, unsigned epoch, const Take& take) {
  const ProcessNumbers& here = *with.of[with.rank];
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int process = 0; process < with.processes; ++process) sum += receive(&here.of[epoch & 1][process][k], epoch);
    take(k, sum);
  }
}

/// Posts and receives: take(k, sum) gets the sums of number(k) over all processes, in the block that calls it.
template <class Number, class Take>
__device__ void sum_over_processes(const ProcessSums& with, int count, const Number& number, const Take& take) {
  receive_from_processes(with, count, post_to_processes(with, count, number), take);
}

/// Replaces sums over a grid, known to thread 0 of a block, by the sums over all processes, again known to thread 0.
/// Called by all threads of the block.
struct OverProcesses {
  static constexpr bool waits = true;
  template <int N>
  __device__ void operator()(double (&sums)[N]) const {
    post(sums);
    double of_all[N];
    take(of_all);
    if (threadIdx.x == 0)
      for (int n = 0; n < N; ++n) sums[n] = of_all[n];
  }
  /// The same in two kernels: post sends the values of thread 0 to all processes; in a later kernel take gives every
  /// thread of any block the sums of the last post.
  template <int N>
  __device__ void post(const double (&sums)[N]) const {
    __shared__ double of_grid[N];
    if (threadIdx.x == 0)
      for (int n = 0; n < N; ++n) of_grid[n] = sums[n];
    __syncthreads();
    post_to_processes(with, N, [&](int n) { return of_grid[n]; });
    __syncthreads();
  }
  template <int N>
  __device__ void take(double (&sums)[N]) const {
    __shared__ double of_all[N];
    receive_from_processes(with, N, with.of[with.rank]->epoch, [&](int n, double sum) { of_all[n] = sum; });
    __syncthreads();
    for (int n = 0; n < N; ++n) sums[n] = of_all[n];
  }
  ProcessSums with;
};

/// The same for a single process: does nothing.
struct OverThisProcess {
  static constexpr bool waits = false;
  template <int N>
  __device__ void operator()(double (&)[N]) const {}
};

}  // namespace femcg::operators::cuda
