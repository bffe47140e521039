// A build without CUDA, where no GPUs make sums.

#include "operators/distributed/gpu/gpu_exchange.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<GpuExchange<T>> make_gpu_exchange(const Communicator&, const IndexMap&, int, const GpuSums&) {
  return nullptr;
}
template std::unique_ptr<GpuExchange<double>> make_gpu_exchange(const Communicator&, const IndexMap&, int,
                                                                const GpuSums&);
template std::unique_ptr<GpuExchange<float>> make_gpu_exchange(const Communicator&, const IndexMap&, int,
                                                               const GpuSums&);

}  // namespace femcg::operators
