// A block has some cells: their coefficients and nodes in shared memory, then a thread per cell and point what this has
// of the four integrals, and then a warp per cell their sums, always in the same order.

#include "operators/forms/error_squares.hpp"

#include <algorithm>

#include "operators/backend/copied_numbers.hpp"
#include "operators/forms/cell_factors.cuh"
#include "operators/forms/point_programs.cuh"

namespace femcg::operators {

namespace {

using namespace cuda;

constexpr int block_threads = 128, squares = 4;

/// ErrorTables as plain pointers.
struct Tables {
  FactorSource geometry;
  int dofs;  ///< of a cell
  const double *positions, *values, *slopes;
  const std::int32_t* regions;
};

/// J of a cell at point q; nodes are of this cell, axis by axis of each.
template <int d>
__device__ void jacobian_at(const FactorSource& from, int q, const double* nodes, double (&jacobian)[d * d]) {
  for (double& entry : jacobian) entry = 0;
  for (int a = 0; a < from.nodes; ++a)
#pragma unroll
    for (int j = 0; j < d; ++j) {
      const double slope = __ldg(from.gradients + (q * d + j) * from.nodes + a);
#pragma unroll
      for (int i = 0; i < d; ++i) jacobian[i * d + j] += nodes[a * d + i] * slope;
    }
}

/// What point q of a cell has of the integrals.
template <int d>
__device__ void squares_at(const Tables& of, const PointProgramOnGpu& exact, int q, const double* coefficients,
                           const double* nodes, double (&terms)[squares]) {
  const int points = of.geometry.points;
  double point[d] = {};
  for (int a = 0; a < of.geometry.nodes; ++a) {
    const double value = __ldg(of.positions + a * points + q);
#pragma unroll
    for (int i = 0; i < d; ++i) point[i] += value * nodes[a * d + i];
  }
  double u_exact[squares];  // and its derivatives
  exact(point, u_exact);
  double u = 0, slopes[d] = {};
  for (int a = 0; a < of.dofs; ++a) {
    u += coefficients[a] * __ldg(of.values + a * points + q);
#pragma unroll
    for (int k = 0; k < d; ++k) slopes[k] += coefficients[a] * __ldg(of.slopes + (k * of.dofs + a) * points + q);
  }
  double jacobian[d * d], inverse[d * d];
  jacobian_at<d>(of.geometry, q, nodes, jacobian);
  const double measure = __ldg(of.geometry.weights + q) * invert(jacobian, inverse);
  const double error = u - u_exact[0];
  terms[0] = measure * error * error;
  terms[1] = terms[3] = 0;
  terms[2] = measure * u_exact[0] * u_exact[0];
#pragma unroll
  for (int i = 0; i < d; ++i) {
    double slope = 0;
#pragma unroll
    for (int k = 0; k < d; ++k) slope += inverse[k * d + i] * slopes[k];
    const double difference = slope - u_exact[i + 1];
    terms[1] += measure * difference * difference;
    terms[3] += measure * u_exact[i + 1] * u_exact[i + 1];
  }
}

/// Of the cells first, first + 1, ..., `count` of them, `together` a block; `cell_dofs` are theirs.
template <int d>
__global__ void __launch_bounds__(block_threads)
    squares_kernel(Tables of, const PointProgramOnGpu* exact, const std::int32_t* cell_dofs, std::int32_t first,
                   std::int32_t count, int together, const double* dofs, double* result) {
  extern __shared__ double shared[];
  const int mine = static_cast<int>(threadIdx.x), points = of.geometry.points, nodes = of.geometry.nodes;
  double* const coefficients = shared;                                          // together x dofs
  double* const at_nodes = coefficients + together * of.dofs;                   // together x nodes x d
  double* const terms = at_nodes + together * nodes * d;                        // squares x together x points
  const std::int32_t begin = static_cast<std::int32_t>(blockIdx.x) * together;  // of those cells
  const int here = min(together, count - begin);
  for (int i = mine; i < here * of.dofs; i += block_threads)
    coefficients[i] = __ldg(dofs + __ldg(cell_dofs + std::int64_t{begin} * of.dofs + i));
  for (int i = mine; i < here * nodes; i += block_threads) {
    double at[d];
    of.geometry.node_points(first + begin + i / nodes, i % nodes, at);
#pragma unroll
    for (int axis = 0; axis < d; ++axis) at_nodes[i * d + axis] = at[axis];
  }
  __syncthreads();
  for (int i = mine; i < here * points; i += block_threads) {
    const int cell = i / points;
    double found[squares];
    squares_at<d>(of, exact[__ldg(of.regions + first + begin + cell)], i % points, coefficients + cell * of.dofs,
                  at_nodes + cell * nodes * d, found);
#pragma unroll
    for (int k = 0; k < squares; ++k) terms[k * together * points + i] = found[k];
  }
  __syncthreads();
  const int lane = mine % threads_per_warp;
  for (int i = mine / threads_per_warp; i < squares * here; i += block_threads / threads_per_warp) {
    const int cell = i / squares, k = i % squares;
    double sum = 0;
    for (int q = lane; q < points; q += threads_per_warp) sum += terms[(k * together + cell) * points + q];
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(all_lanes, sum, distance);
    if (lane == 0) result[std::int64_t{first + begin + cell} * squares + k] = sum;
  }
}

}  // namespace

bool cuda_takes(std::span<const PointProgram> programs) { return PointPrograms::fit(programs); }

std::vector<double> cuda_error_squares(const ErrorTables& tables, std::span<const PointProgram> exact_by_region,
                                       std::span<const double> dofs) {
  constexpr std::int64_t window_dofs = std::int64_t{1} << 25;
  const mesh::FunctionSpace& space = *tables.space;
  const std::int64_t cells = space.mesh().cell_count(), n = space.dofs_per_cell();
  const Vector<std::int32_t> regions = copied(std::span<const std::int32_t>(space.mesh().cell_regions), Device::cuda);
  const Vector<double> u = copied(dofs, Device::cuda);
  const PointPrograms programs(exact_by_region);
  const Tables pointers{cuda::pointers(tables.geometry),
                        static_cast<int>(n),
                        tables.positions.data(),
                        tables.values.data(),
                        tables.slopes.data(),
                        regions.data()};
  const int d = tables.geometry.dimension, points = tables.geometry.points;
  const int together = std::max(1, block_threads / points);
  const std::int64_t shared = together * (n + tables.geometry.nodes * d + squares * points) * sizeof(double);
  const auto kernel = d == 2 ? squares_kernel<2> : squares_kernel<3>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "asking for shared memory");
  Vector<double> found(cells * squares, Device::cuda);
  const std::int64_t window = std::min(std::max<std::int64_t>(window_dofs / n, 1), cells);
  mesh::Array<std::int32_t> of_window = mesh::unset<std::int32_t>(static_cast<std::size_t>(window * n));
  for (std::int64_t first = 0; first < cells; first += window) {
    const std::int64_t count = std::min(window, cells - first);
    space.list_dofs(static_cast<std::int32_t>(first), static_cast<std::int32_t>(count), of_window.data());
    const Vector<std::int32_t> cell_dofs =
        copied(std::span<const std::int32_t>(of_window).first(static_cast<std::size_t>(count * n)), Device::cuda);
    launch(kernel, (count + together - 1) / together, block_threads, static_cast<std::size_t>(shared), pointers,
           programs.by_region(), cell_dofs.data(), static_cast<std::int32_t>(first), static_cast<std::int32_t>(count),
           together, u.data(), found.data());
    synchronize(Device::cuda);  // cell_dofs goes
  }
  std::vector<double> result(static_cast<std::size_t>(cells * squares));
  copy_bytes(found.data(), Device::cuda, result.data(), Device::host, found.bytes());
  return result;
}

}  // namespace femcg::operators
