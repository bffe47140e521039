// One block. A thread writes one number for one process, then one tells each process of it and waits for what that one
// tells. Numbers lie in one of two places in turn: who is told of a round has added up the one before, as the GPU
// that tells it has been told of that.

#include <exception>
#include <set>
#include <vector>

#include "operators/distributed/gpu_interface.hpp"
#include "operators/distributed/gpu_sums.hpp"
#include "operators/distributed/machines.hpp"
#include "operators/distributed/peer_memory.cuh"

namespace femcg::operators {

namespace {

using cuda::most_processes;
using cuda::Round;

constexpr int sum_threads = 128;

/// What lies in the memory of each.
struct SumMemory {
  Round round;                                               ///< the last, of this GPU's own
  Round told[most_processes];                                ///< the last that each process has told of
  double numbers[2][most_processes][GpuSums::most_numbers];  ///< of each process
};
struct SumMemories {
  SumMemory* of[most_processes];
};

__global__ void __launch_bounds__(sum_threads)
    sum_kernel(SumMemories memories, int processes, int rank, const double* a, const double* b, int count, double* sums,
               double* more, int more_count) {
  SumMemory& mine = *memories.of[rank];
  __shared__ Round round;
  if (threadIdx.x == 0) round = ++mine.round;
  __syncthreads();
  const int numbers = count + more_count, turn = static_cast<int>(round & 1);
  for (int i = static_cast<int>(threadIdx.x); i < numbers * processes; i += sum_threads) {
    const int k = i % numbers;
    const double number = k >= count ? more[k - count] : b != nullptr ? a[k] + b[k] : a[k];
    *static_cast<volatile double*>(&memories.of[i / numbers]->numbers[turn][rank][k]) = number;
  }
  __threadfence_system();
  __syncthreads();
  if (const int process = static_cast<int>(threadIdx.x); process < processes) {
    cuda::tell(&memories.of[process]->told[rank], round);
    cuda::wait_for(&mine.told[process], round);
  }
  __threadfence_system();
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < numbers; k += sum_threads) {
    double sum = 0;
    for (int process = 0; process < processes; ++process)
      sum += *static_cast<const volatile double*>(&mine.numbers[turn][process][k]);
    (k < count ? sums[k] : more[k - count]) = sum;
  }
}

class PeerSums final : public GpuSums {
 public:
  explicit PeerSums(const Communicator& communicator) : communicator_(communicator), mine_(sizeof(SumMemory)) {
    const std::string handle = mine_.handle();
    for (const std::string& other : communicator.gathered(handle)) {
      const auto rank = static_cast<int>(std::ssize(peers_));
      const cuda::PeerMemory& peer = peers_.emplace_back(rank == communicator.rank() ? "" : other);
      memories_.of[rank] = reinterpret_cast<SumMemory*>(rank == communicator.rank() ? mine_.data() : peer.data());
      opened_ = opened_ && memories_.of[rank] != nullptr;
    }
  }
  ~PeerSums() override {
    if (std::uncaught_exceptions() > 0) return;
    cudaStreamSynchronize(cuda::stream());
    peers_.clear();
    communicator_.sum(0.0);  // memory that others write to goes after they have closed it
  }
  bool opened() const { return opened_; }

  void sum(const double* a, const double* b, int count, double* sums, double* more, int more_count) override {
    cuda::launch(sum_kernel, 1, sum_threads, 0, memories_, communicator_.size(), communicator_.rank(), a, b, count,
                 sums, more, more_count);
  }

 private:
  const Communicator& communicator_;
  cuda::SharedMemory mine_;
  std::vector<cuda::PeerMemory> peers_;
  SumMemories memories_{};
  bool opened_ = true;
};

}  // namespace

bool gpus_are_beside_each_other(const Communicator& communicator) {
  const auto gpus = communicator.gathered(cuda_uuids().at(cuda_device_in_use().value()));
  return communicator.size() <= most_processes && on_one_machine(communicator) &&
         std::set(gpus.begin(), gpus.end()).size() == gpus.size();
}

std::unique_ptr<GpuSums> make_gpu_sums(const Communicator& communicator) {
  if (!gpus_are_beside_each_other(communicator)) return nullptr;
  auto sums = std::make_unique<PeerSums>(communicator);
  if (communicator.sum(sums->opened() ? 0.0 : 1.0) > 0) sums.reset();
  return sums;
}

}  // namespace femcg::operators
