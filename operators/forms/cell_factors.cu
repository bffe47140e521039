// One thread per slot and quadrature point. In the interleaved layout adjacent threads have adjacent slots and one
// point, so that writes are coalesced; in the cell-major layout adjacent points of one slot.

#include <algorithm>

#include "operators/forms/cell_factors.cuh"

namespace femcg::operators {

namespace {

using namespace cuda;

template <class T, int d>
__global__ void factors_kernel(FactorSource from, const std::int32_t* cell_of_slot, std::int64_t slots,
                               bool interleaved, T* factors) {
  constexpr int entries = d * (d + 1) / 2, group = slots_per_group, together = d == 2 ? 1 : 2;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = cuda::thread_number(); k < slots * from.points; k += stride) {
    const std::int64_t row = k / group;  // of the interleaved layout: a group and a point
    const int q = static_cast<int>(interleaved ? row % from.points : k % from.points);
    const std::int64_t slot = interleaved ? row / from.points * group + k % group : k / from.points;
    double values[entries] = {};
    if (const std::int32_t cell = cell_of_slot[slot]; cell >= 0) factors_at<d>(from, cell, q, values);
    T* of_cell =
        factors + (interleaved ? row * (entries * group) + k % group : slot * (std::int64_t{entries} * from.points));
#pragma unroll
    for (int e = 0; e < entries; ++e)
      of_cell[interleaved ? e * group : (e / together * from.points + q) * together + e % together] =
          static_cast<T>(values[e]);
  }
}

}  // namespace

template <std::floating_point T>
Vector<T> cuda_cell_factors(const FactorInputs& inputs, const Vector<std::int32_t>& cell_of_slot, CellLayout layout) {
  constexpr int threads = 128;
  const std::int64_t slots = cell_of_slot.size();
  Vector<T> factors(slots * inputs.points * inputs.entries(), Device::cuda);
  const auto kernel = inputs.dimension == 2 ? factors_kernel<T, 2> : factors_kernel<T, 3>;
  const std::int64_t blocks = (slots * inputs.points + threads - 1) / threads;
  cuda::launch(kernel, std::min(blocks, resident_blocks(kernel, threads)), threads, 0, cuda::pointers(inputs),
               cell_of_slot.data(), slots, layout == CellLayout::interleaved, factors.data());
  return factors;
}

template Vector<double> cuda_cell_factors(const FactorInputs&, const Vector<std::int32_t>&, CellLayout);
template Vector<float> cuda_cell_factors(const FactorInputs&, const Vector<std::int32_t>&, CellLayout);

}  // namespace femcg::operators
