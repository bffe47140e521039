// A build without CUDA.

#include "operators/distributed/gpu/gpu_loop.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> make_gpu_loop(const Communicator&, const IndexMap&, const CompleteRows<T>&,
                                               std::span<const std::int32_t>, GpuExchange<T>&, PersistentFor) {
  return nullptr;
}

template std::unique_ptr<PersistentCg<double>> make_gpu_loop(const Communicator&, const IndexMap&,
                                                             const CompleteRows<double>&, std::span<const std::int32_t>,
                                                             GpuExchange<double>&, PersistentFor);
template std::unique_ptr<PersistentCg<float>> make_gpu_loop(const Communicator&, const IndexMap&,
                                                            const CompleteRows<float>&, std::span<const std::int32_t>,
                                                            GpuExchange<float>&, PersistentFor);

}  // namespace femcg::operators
