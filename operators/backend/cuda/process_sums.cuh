#pragma once

// Sums over the GPUs of one machine inside a kernel: each process's GPU writes its numbers into the memory of all, and
// adds up what it has there in the order of ranks, so that all have the same bits.

#include <cstdint>

namespace femcg::operators::cuda {

/// Processes of a machine that may have each other's memory.
constexpr int most_processes = 64;

/// A number that one GPU gives another, its halves each with the epoch that it is of: 8 bytes are written and read at
/// once, and who sees the epoch in both has the number, without a fence. (NCCL's protocol LL does the same.)
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
/// True if the value of that epoch has arrived, in `number`.
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

/// Buffer in the memory of each GPU, zero at first. Values of odd and even epochs have a place each: a GPU that posts
/// those of an epoch has received those of the epoch before from all, which have then received the ones before that.
struct ProcessNumbers {
  static constexpr int most = 66;  ///< in one sum: two of each column, and two more
  unsigned epoch;                  ///< the last, of this GPU's own
  TaggedValue of[2][most_processes][most];
};

/// The memory of all; a kernel's argument.
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
  __syncthreads();  // all know the epoch; and sums may take the place of numbers
  if (mine == 0) here.epoch = epoch;
  return epoch;
}

/// Calls take(k, sum), k < count, with the sums over all of what they give in a round. Every thread of a block calls
/// it.
template <class Take>
__device__ void receive_from_processes(const ProcessSums& with, int count, unsigned epoch, const Take& take) {
  const ProcessNumbers& here = *with.of[with.rank];
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int process = 0; process < with.processes; ++process) sum += receive(&here.of[epoch & 1][process][k], epoch);
    take(k, sum);
  }
}

/// Both: take(k, sum) gets the sums of number(k) over all, in the block that calls it.
template <class Number, class Take>
__device__ void sum_over_processes(const ProcessSums& with, int count, const Number& number, const Take& take) {
  receive_from_processes(with, count, post_to_processes(with, count, number), take);
}

/// Replaces sums over a grid, known to thread 0 of the block that made them, by those over the processes, again for
/// thread 0. Every thread of the block calls it.
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
  /// The same in two kernels: the numbers of thread 0 go to all processes, and every thread of any block of a later
  /// kernel gets the sums of what was given last.
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

/// The same where there is one process, whose sums need nothing.
struct OverThisProcess {
  static constexpr bool waits = false;
  template <int N>
  __device__ void operator()(double (&)[N]) const {}
};

}  // namespace femcg::operators::cuda
