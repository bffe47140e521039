// One thread per cell and quadrature point; adjacent threads have adjacent points of one cell.

#include <algorithm>

#include "operators/aggregation/on_gpu.cuh"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/cell_factors.cuh"
#include "operators/forms/programs/point_programs.cuh"

namespace femcg::operators {

namespace {

using namespace cuda;

constexpr int block_threads = 128;

/// Properties of the values at all points of all cells.
struct Findings {
  int wrong;           ///< 1 if a value is not > 0 or not finite
  int differ_in_cell;  ///< 1 if values of one cell differ
  int differ;          ///< 1 if values of different cells differ
};

/// Evaluates the diffusion at all points. `tables`: the geometry's basis functions there, [points][nodes].
template <int d>
__global__ void __launch_bounds__(block_threads)
    diffusion_kernel(FactorSource from, const double* tables, const PointProgramOnGpu* programs,
                     CoordinateRounding rounded, const std::int32_t* regions, std::int64_t count, double* values,
                     Findings* found) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = cuda::thread_number(); k < count; k += stride) {
    const std::int64_t cell = k / from.points;
    const double* table = tables + k % from.points * from.nodes;
    double point[d] = {};
    for (int a = 0; a < from.nodes; ++a) {
      double at[d];
      from.node_points(cell, a, at);
#pragma unroll
      for (int i = 0; i < d; ++i) point[i] += __ldg(table + a) * at[i];
    }
#pragma unroll
    for (int i = 0; i < d; ++i) point[i] = rounded(point[i]);
    double value[1];
    programs[__ldg(regions + cell)](point, value);
    values[k] = value[0];
    if (!(value[0] > 0) || !isfinite(value[0])) found->wrong = 1;
  }
}

/// Compares each value with the first one of its cell, and that with the first one of all.
__global__ void __launch_bounds__(block_threads)
    differences_kernel(const double* values, int points, std::int64_t count, Findings* found) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = cuda::thread_number(); k < count; k += stride) {
    if (values[k] != __ldg(values + k / points * points)) found->differ_in_cell = 1;
    if (values[k] != __ldg(values)) found->differ = 1;
  }
}

/// Copies the first value of each of `count` cells. One thread a cell.
__global__ void __launch_bounds__(block_threads)
    firsts_kernel(const double* values, int points, std::int64_t count, double* firsts) {
  const std::int64_t cell = cuda::thread_number();
  if (cell < count) firsts[cell] = values[cell * points];
}

struct HasJump {
  const double* values;
  int points;
  JumpRange range;

  constexpr bool operator()(std::int64_t cell) const { return range.contains(values + cell * points, points); }
};

}  // namespace

bool cuda_set_diffusion(const BilinearForm& form, const Vector<double>& geometry_values, FactorInputs& inputs) {
  if (!PointPrograms::fit(form.diffusion.by_region)) return false;
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t cells = form.cells(), count = cells * inputs.points;
  const PointPrograms programs(form.diffusion.by_region);
  const Vector<std::int32_t> regions = copied(std::span<const std::int32_t>(mesh.cell_regions), Device::cuda);
  Vector<double> values(count, Device::cuda);
  Vector<Findings> found = zeros_on_gpu<Findings>(1);
  const std::int64_t blocks = cuda::blocks_of(count, block_threads);
  const auto kernel = inputs.dimension == 2 ? diffusion_kernel<2> : diffusion_kernel<3>;
  launch(kernel, std::min(blocks, 4 * resident_blocks(kernel, block_threads)), block_threads, 0, pointers(inputs),
         geometry_values.data(), programs.by_region(), form.diffusion.rounding, regions.data(), count, values.data(),
         found.data());
  launch(differences_kernel, std::min(blocks, resident_blocks(differences_kernel, block_threads)), block_threads, 0,
         values.data(), inputs.points, count, found.data());
  Findings are{};
  copy_bytes(found.data(), Device::cuda, &are, Device::host, sizeof are);
  if (are.wrong != 0) return false;  // the host's evaluation says which value, and where
  const bool constant = are.differ_in_cell == 0;
  if (constant) {
    const std::int64_t kept = are.differ != 0 ? cells : 1;
    inputs.diffusion = Vector<double>(kept, Device::cuda);
    launch(firsts_kernel, cuda::blocks_of(kept, block_threads), block_threads, 0, values.data(), inputs.points, kept,
           inputs.diffusion.data());
    inputs.diffusion_per_cell = are.differ != 0 ? 1 : 0;
    synchronize(Device::cuda);  // before `values` is freed
    return true;
  }
  inputs.diffusion = std::move(values);
  inputs.diffusion_per_cell = inputs.points;
  inputs.diffusion_per_point = 1;
  return true;
}

std::vector<std::int32_t> cuda_cells_with_jumps(const Vector<double>& values, int points, const JumpRange& range) {
  return OnGpu().numbers_with(values.size() / points, HasJump{values.data(), points, range});
}

}  // namespace femcg::operators
