// Two kernels, one thread a value. send_kernel reads an index and a value and writes the value into the memory of
// another GPU; the block that ends last posts the epoch to each of them. receive_kernel waits for the epochs of the
// others, reads own and received contributions, and writes y; its first block adds up values over the processes.
//
// Received values alternate between two buffers, which suffices: a process that sends in an epoch has been posted the
// previous epoch by the receiver, which by then has read what it received in the epoch before that.

#include <algorithm>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "operators/backend/cuda/process_sums.cuh"
#include "operators/backend/cuda/reductions.cuh"
#include "operators/backend/memory.hpp"
#include "operators/distributed/gpu/gpu_exchange.hpp"
#include "operators/distributed/gpu/peer_memory.cuh"
#include "operators/distributed/gpu/plan_on_gpu.cuh"

namespace femcg::operators {

namespace {

using cuda::Epoch;
using cuda::most_processes;

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t threads) { return cuda::blocks_of(threads, block_threads); }

/// Precedes the received values.
struct Header {
  Epoch epoch;                 ///< the last epoch, counted by this GPU
  Epoch told[most_processes];  ///< the last epoch that each process has posted
};
constexpr std::int64_t header_bytes = 1024;
static_assert(sizeof(Header) <= header_bytes);

/// Neighbours, and the location of this process's values in their memory: those from `first` on at received + to, in
/// odd epochs `turn` values further.
template <class T>
struct Neighbours {
  int count = 0;
  int rank[most_processes];
  Header* header[most_processes];
  T* received[most_processes];
  std::int64_t first[most_processes], to[most_processes], turn[most_processes];
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    send_kernel(const __grid_constant__ Neighbours<T> neighbours, Header* mine, int rank, std::int64_t numbers,
                int stride, const T* contributions, const std::int32_t* places, unsigned* arrived) {
  cuda::await_previous();
  const Epoch epoch = mine->epoch + 1;
  const std::int64_t i = cuda::thread_number();
  if (i < numbers) {
    int k = 0;
    while (k + 1 < neighbours.count && neighbours.first[k + 1] <= i) ++k;
    neighbours.received[k][static_cast<std::int64_t>(epoch & 1) * neighbours.turn[k] + neighbours.to[k] + i -
                           neighbours.first[k]] = contributions[std::int64_t{places[i / stride]} * stride + i % stride];
  }
  __syncthreads();
  if (threadIdx.x == 0) __threadfence_system();
  if (!cuda::last_to_arrive(arrived, gridDim.x)) return;
  if (threadIdx.x == 0) mine->epoch = epoch;
  for (int k = static_cast<int>(threadIdx.x); k < neighbours.count; k += block_threads)
    cuda::post(&neighbours.header[k]->told[rank], epoch);
}

/// Sums over an interface: terms of each shared unknown are indices of received rows or, from received_rows on, of own
/// contributions.
template <class T>
struct Sums {
  int stride;
  const T* received;
  std::int64_t received_rows;
  const std::int64_t* offsets;
  const std::int32_t* terms;
};

/// Adds up the summands over the processes. Called by all threads of one block.
__device__ void sum_over_all(const cuda::ProcessSums& processes, const Summands& of) {
  if (of.count + of.more_count == 0) return;
  cuda::sum_over_processes(
      processes, of.count + of.more_count,
      [&](int k) { return k >= of.count     ? of.more[k - of.count]
                          : of.b != nullptr ? of.a[k] + of.b[k]
                                            : of.a[k]; },
      [&](int k, double sum) { (k < of.count ? of.sums[k] : of.more[k - of.count]) = sum; });
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    receive_kernel(const __grid_constant__ Neighbours<T> neighbours, const Header* mine, Sums<T> sums,
                   InterfaceRows<T> rows, const __grid_constant__ cuda::ProcessSums processes, Summands summands) {
  cuda::await_previous();
  if (blockIdx.x == 0) return sum_over_all(processes, summands);
  const std::int64_t first = std::int64_t{blockIdx.x - 1} * block_threads, n = first + threadIdx.x;
  const Epoch epoch = mine->epoch;
  if (first + block_threads > rows.shared) {
    for (int k = static_cast<int>(threadIdx.x); k < neighbours.count; k += block_threads)
      cuda::wait_for(&mine->told[neighbours.rank[k]], epoch);
    __syncthreads();
  }
  if (n >= rows.count) return;
  if (n < rows.both) {
    T* to = rows.places == nullptr
                ? rows.of_first + n
                : rows.y + std::int64_t{rows.places[n / sums.stride]} * sums.stride + n % sums.stride;
    *to += rows.contributions[n];
  } else if (n < rows.shared) {
    rows.of_first[n] = rows.contributions[n];
  } else {
    const std::int64_t i = (n - rows.shared) / sums.stride, c = (n - rows.shared) % sums.stride;
    const T* received = sums.received + static_cast<std::int64_t>(epoch & 1) * sums.received_rows * sums.stride;
    const T* own = rows.contributions + rows.shared;
    T sum = 0;
    for (std::int64_t k = sums.offsets[i]; k < sums.offsets[i + 1]; ++k) {
      const std::int64_t row = sums.terms[k];
      sum += row < sums.received_rows ? __ldcg(received + row * sums.stride + c)
                                      : own[(row - sums.received_rows) * sums.stride + c];
    }
    rows.of_first[n] = sum;
  }
}

template <std::floating_point T>
class PeerExchange final : public GpuExchange<T> {
 public:
  PeerExchange(const Communicator& communicator, const IndexMap& map, int stride, const GpuSums& sums)
      : PeerExchange(communicator, InterfacePlan(map, communicator.rank()), messages_of(map, stride), stride, sums) {}
  ~PeerExchange() override {
    if (std::uncaught_exceptions() > 0) return;
    cudaStreamSynchronize(cuda::stream());  // kernels may still write to peers
    peers_.clear();
    communicator_.sum(0.0);  // peers have closed this process's memory before it is freed
  }

  void send(const T* contributions) override {
    const std::int64_t numbers = rows_ * stride_;
    cuda::launch_early(send_kernel<T>, std::max<std::int64_t>(1, blocks(numbers)), block_threads, 0, neighbours_,
                       header(), communicator_.rank(), numbers, stride_, contributions, plan_.places.data(),
                       arrived_.data());
  }
  void receive(const InterfaceRows<T>& rows, const Summands& summands) override {
    const Sums<T> sums{stride_, reinterpret_cast<const T*>(memory_.data() + header_bytes), rows_, plan_.offsets.data(),
                       plan_.terms.data()};
    cuda::launch_early(receive_kernel<T>, 1 + blocks(rows.count), block_threads, 0, neighbours_, header(), sums, rows,
                       sums_.memories(), summands);
  }
  std::int64_t epochs() const override {
    Epoch epoch = 0;
    copy_bytes(&header()->epoch, Device::cuda, &epoch, Device::host, sizeof epoch);
    return static_cast<std::int64_t>(epoch);
  }

 private:
  PeerExchange(const Communicator& communicator, const InterfacePlan& plan, std::span<const Message> messages,
               int stride, const GpuSums& sums)
      : communicator_(communicator),
        sums_(sums),
        stride_(stride),
        rows_(std::ssize(plan.places)),
        plan_(plan),
        arrived_(zeros_on_gpu<unsigned>(1)),
        memory_(header_bytes + 2 * rows_ * stride * std::int64_t{sizeof(T)}) {
    const auto handles = communicator.gathered(memory_.handle());
    std::vector<std::int64_t> firsts(communicator.size(), -1);
    for (const Message& message : messages) firsts[message.rank] = message.first;
    const auto all_firsts = communicator.gathered(firsts);
    const auto all_numbers = communicator.gathered(std::vector{rows_ * stride});
    for (const Message& message : messages) {
      const cuda::PeerMemory& peer = peers_.emplace_back(handles[message.rank]);
      if (peer.data() == nullptr) throw std::runtime_error("a GPU cannot write into the memory of another process's");
      const int k = neighbours_.count++;
      neighbours_.rank[k] = message.rank;
      neighbours_.header[k] = reinterpret_cast<Header*>(peer.data());
      neighbours_.received[k] = reinterpret_cast<T*>(peer.data() + header_bytes);
      neighbours_.first[k] = message.first;
      neighbours_.to[k] = all_firsts[message.rank][communicator.rank()];
      neighbours_.turn[k] = all_numbers[message.rank].front();
    }
    communicator.sum(0.0);  // all have opened the memory before it is written to
  }
  const Header* header() const { return reinterpret_cast<const Header*>(memory_.data()); }
  Header* header() { return reinterpret_cast<Header*>(memory_.data()); }

  const Communicator& communicator_;
  const GpuSums& sums_;
  int stride_;
  std::int64_t rows_;  ///< sent, and as many received
  PlanOnGpu plan_;
  Vector<unsigned> arrived_;
  cuda::SharedMemory memory_;  ///< header, and two buffers of received values
  std::vector<cuda::PeerMemory> peers_;
  Neighbours<T> neighbours_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<GpuExchange<T>> make_gpu_exchange(const Communicator& communicator, const IndexMap& map, int stride,
                                                  const GpuSums& sums) {
  return std::make_unique<PeerExchange<T>>(communicator, map, stride, sums);
}

template std::unique_ptr<GpuExchange<double>> make_gpu_exchange(const Communicator&, const IndexMap&, int,
                                                                const GpuSums&);
template std::unique_ptr<GpuExchange<float>> make_gpu_exchange(const Communicator&, const IndexMap&, int,
                                                               const GpuSums&);

}  // namespace femcg::operators
