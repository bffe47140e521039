// A build without CUDA.

#include "operators/distributed/gpu/gpu_interface.hpp"

#include <stdexcept>

namespace femcg::operators {

namespace {

[[noreturn]] void refuse() { throw std::runtime_error("this build has no CUDA"); }

}  // namespace

template <std::floating_point T>
std::unique_ptr<GpuInterface<T>> make_gpu_interface(const InterfacePlan&, int) {
  refuse();
}
template <std::floating_point T>
void cuda_add_contributions(const T*, std::int64_t, std::int64_t, int, const std::int32_t*, T*, T*) {
  refuse();
}
template <std::floating_point T>
void cuda_gather_rows(const T*, const Vector<std::int32_t>&, int, T*) {
  refuse();
}
template <std::floating_point T>
void cuda_scatter_rows(const T*, const Vector<std::int32_t>&, int, T*) {
  refuse();
}
void cuda_add_energies(const double*, const double*, int, double*) { refuse(); }
void cuda_give_numbers(std::span<const double>, double*) { refuse(); }
std::vector<std::string> cuda_uuids() { return {}; }
bool cuda_is_recording() { return false; }

struct GpuStopwatch::Events {};
GpuStopwatch::GpuStopwatch() { refuse(); }
GpuStopwatch::~GpuStopwatch() = default;
void GpuStopwatch::mark(int) { refuse(); }
double GpuStopwatch::seconds(int, int) const { refuse(); }

template std::unique_ptr<GpuInterface<double>> make_gpu_interface(const InterfacePlan&, int);
template std::unique_ptr<GpuInterface<float>> make_gpu_interface(const InterfacePlan&, int);
template void cuda_add_contributions(const double*, std::int64_t, std::int64_t, int, const std::int32_t*, double*,
                                     double*);
template void cuda_add_contributions(const float*, std::int64_t, std::int64_t, int, const std::int32_t*, float*,
                                     float*);
template void cuda_gather_rows(const double*, const Vector<std::int32_t>&, int, double*);
template void cuda_gather_rows(const float*, const Vector<std::int32_t>&, int, float*);
template void cuda_scatter_rows(const double*, const Vector<std::int32_t>&, int, double*);
template void cuda_scatter_rows(const float*, const Vector<std::int32_t>&, int, float*);

}  // namespace femcg::operators
