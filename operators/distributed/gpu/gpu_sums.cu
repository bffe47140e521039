#include <exception>
#include <set>
#include <vector>

#include "operators/backend/device.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/gpu/gpu_sums.hpp"
#include "operators/distributed/gpu/peer_memory.cuh"
#include "operators/distributed/messages/hosts.hpp"

namespace femcg::operators {

namespace {

using cuda::most_processes;
using cuda::ProcessNumbers;

/// True if all processes are on one host and each has its own GPU. Collective.
bool gpus_are_beside_each_other(const Communicator& communicator) {
  const auto gpus = communicator.gathered(cuda_uuids().at(cuda_device_in_use().value()));
  return communicator.size() <= most_processes && on_one_host(communicator) &&
         std::set(gpus.begin(), gpus.end()).size() == gpus.size();
}

class PeerSums final : public GpuSums {
 public:
  explicit PeerSums(const Communicator& communicator) : communicator_(communicator), mine_(sizeof(ProcessNumbers)) {
    memories_.processes = communicator.size();
    memories_.rank = communicator.rank();
    const std::string handle = mine_.handle();
    for (const std::string& other : communicator.gathered(handle)) {
      const auto rank = static_cast<int>(std::ssize(peers_));
      const cuda::PeerMemory& peer = peers_.emplace_back(rank == communicator.rank() ? "" : other);
      memories_.of[rank] = reinterpret_cast<ProcessNumbers*>(rank == communicator.rank() ? mine_.data() : peer.data());
      opened_ = opened_ && memories_.of[rank] != nullptr;
    }
  }
  ~PeerSums() override {
    if (std::uncaught_exceptions() > 0) return;
    cudaStreamSynchronize(cuda::stream());
    peers_.clear();
    communicator_.sum(0.0);  // peers have closed this process's memory before it is freed
  }
  bool opened() const { return opened_; }

  const cuda::ProcessSums& memories() const override { return memories_; }

 private:
  const Communicator& communicator_;
  cuda::SharedMemory mine_;
  std::vector<cuda::PeerMemory> peers_;
  cuda::ProcessSums memories_;
  bool opened_ = true;
};

}  // namespace

std::unique_ptr<GpuSums> make_gpu_sums(const Communicator& communicator) {
  if (!gpus_are_beside_each_other(communicator)) return nullptr;
  auto sums = std::make_unique<PeerSums>(communicator);
  if (communicator.sum(sums->opened() ? 0.0 : 1.0) > 0) sums.reset();
  return sums;
}

}  // namespace femcg::operators
