// A block has several cells: coefficients and nodes go to shared memory, then one thread per cell and point computes
// its terms of the integrals, then one warp per cell adds these up, in a fixed order.

#include "operators/forms/check/cell_integrals.hpp"

#include <algorithm>
#include <limits>

#include "operators/backend/copied_values.hpp"
#include "operators/forms/cell_factors.cuh"
#include "operators/forms/programs/point_programs.cuh"

namespace femcg::operators {

namespace {

using namespace cuda;

constexpr int block_threads = 128;

/// The dofs of cells: by the tables of a structured grid, or explicit.
struct DofsOfCells {
  mesh::GridDofTables grid;
  const std::int32_t* listed;  ///< [cells][dofs]; null where the grid tells them
  int dofs;                    ///< of a cell

  __device__ std::int32_t operator()(std::int32_t cell, int a) const {
    return listed != nullptr ? __ldg(listed + std::int64_t{cell} * dofs + a) : grid(cell, a);
  }
};

/// IntegralTables as plain pointers.
struct Tables {
  FactorSource geometry;
  int dofs;  ///< of a cell
  const double* values;
};

/// J of a cell at point q; `nodes` are those of this cell, [nodes][d].
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

/// The integrands 1 and u.
struct Values {
  static constexpr int sums = 2;
  Tables tables;

  /// Terms of point q of a cell in the integrals.
  template <int d>
  __device__ void at(std::int32_t, int q, const double* coefficients, const double* nodes,
                     double (&terms)[sums]) const {
    double u = 0;
    for (int a = 0; a < tables.dofs; ++a) u += coefficients[a] * __ldg(tables.values + a * tables.geometry.points + q);
    double jacobian[d * d], inverse[d * d];
    jacobian_at<d>(tables.geometry, q, nodes, jacobian);
    const double measure = __ldg(tables.geometry.weights + q) * invert(jacobian, inverse);
    terms[0] = measure;
    terms[1] = measure * u;
  }
};

/// The integrands of cuda_error_squares.
struct ErrorSquares {
  static constexpr int sums = 4;
  Tables tables;
  const double *positions, *slopes;  ///< ErrorTables
  const PointProgramOnGpu* exact;
  const std::int32_t* regions;

  template <int d>
  __device__ void at(std::int32_t cell, int q, const double* coefficients, const double* nodes,
                     double (&terms)[sums]) const {
    const int points = tables.geometry.points;
    double point[d] = {};
    for (int a = 0; a < tables.geometry.nodes; ++a) {
      const double value = __ldg(positions + a * points + q);
#pragma unroll
      for (int i = 0; i < d; ++i) point[i] += value * nodes[a * d + i];
    }
    double u_exact[sums];  // and its derivatives
    exact[__ldg(regions + cell)](point, u_exact);
    double u = 0, slope_of[d] = {};
    for (int a = 0; a < tables.dofs; ++a) {
      u += coefficients[a] * __ldg(tables.values + a * points + q);
#pragma unroll
      for (int k = 0; k < d; ++k) slope_of[k] += coefficients[a] * __ldg(slopes + (k * tables.dofs + a) * points + q);
    }
    double jacobian[d * d], inverse[d * d];
    jacobian_at<d>(tables.geometry, q, nodes, jacobian);
    const double measure = __ldg(tables.geometry.weights + q) * invert(jacobian, inverse);
    const double error = u - u_exact[0];
    terms[0] = measure * error * error;
    terms[1] = terms[3] = 0;
    terms[2] = measure * u_exact[0] * u_exact[0];
#pragma unroll
    for (int i = 0; i < d; ++i) {
      double slope = 0;
#pragma unroll
      for (int k = 0; k < d; ++k) slope += inverse[k * d + i] * slope_of[k];
      const double difference = slope - u_exact[i + 1];
      terms[1] += measure * difference * difference;
      terms[3] += measure * u_exact[i + 1] * u_exact[i + 1];
    }
  }
};

/// Integrals over all cells, `together` a block of threads; to [cells][Integrand::sums].
template <int d, class Integrand>
__global__ void __launch_bounds__(block_threads)
    integrals_kernel(Integrand of, DofsOfCells cell_dofs, std::int32_t cells, int together, const double* dofs,
                     double* result) {
  constexpr int sums = Integrand::sums;
  extern __shared__ double shared[];
  const int mine = static_cast<int>(threadIdx.x), n = of.tables.dofs, points = of.tables.geometry.points,
            nodes = of.tables.geometry.nodes;
  double* const coefficients = shared;                                          // together x n
  double* const at_nodes = coefficients + together * n;                         // together x nodes x d
  double* const terms = at_nodes + together * nodes * d;                        // sums x together x points
  const std::int32_t begin = static_cast<std::int32_t>(blockIdx.x) * together;  // of the block's cells
  const int here = min(together, cells - begin);
  for (int i = mine; i < here * n; i += block_threads) coefficients[i] = __ldg(dofs + cell_dofs(begin + i / n, i % n));
  for (int i = mine; i < here * nodes; i += block_threads) {
    double at[d];
    of.tables.geometry.node_points(begin + i / nodes, i % nodes, at);
#pragma unroll
    for (int axis = 0; axis < d; ++axis) at_nodes[i * d + axis] = at[axis];
  }
  __syncthreads();
  for (int i = mine; i < here * points; i += block_threads) {
    const int cell = i / points;
    double found[sums];
    of.template at<d>(begin + cell, i % points, coefficients + cell * n, at_nodes + cell * nodes * d, found);
#pragma unroll
    for (int k = 0; k < sums; ++k) terms[k * together * points + i] = found[k];
  }
  __syncthreads();
  const int lane = mine % threads_per_warp;
  for (int i = mine / threads_per_warp; i < sums * here; i += block_threads / threads_per_warp) {
    const int cell = i / sums, k = i % sums;
    double sum = 0;
    for (int q = lane; q < points; q += threads_per_warp) sum += terms[(k * together + cell) * points + q];
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(all_lanes, sum, distance);
    if (lane == 0) result[(std::int64_t{begin} + cell) * sums + k] = sum;
  }
}

/// The integrals over all cells.
template <class Integrand>
std::vector<double> integrals(const FunctionOnGpu& u, const Integrand& of) {
  constexpr int sums = Integrand::sums;
  const mesh::FunctionSpace& space = u.space();
  const FactorSource& geometry = of.tables.geometry;
  const std::int64_t cells = space.mesh().cell_count(), n = space.dofs_per_cell();
  const int d = space.mesh().dimension(), together = std::max(1, block_threads / geometry.points);
  const std::int64_t shared = together * (n + geometry.nodes * d + sums * geometry.points) * sizeof(double);
  const auto kernel = d == 2 ? integrals_kernel<2, Integrand> : integrals_kernel<3, Integrand>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "asking for shared memory");
  Vector<double> found(cells * sums, Device::cuda);
  const DofsOfCells dofs{
      space.grid() != nullptr ? space.grid()->tables(u.grid_numbers().data()) : mesh::GridDofTables{},
      space.grid() != nullptr ? nullptr : u.cell_dofs().data(), static_cast<int>(n)};
  launch(kernel, (cells + together - 1) / together, block_threads, static_cast<std::size_t>(shared), of, dofs,
         static_cast<std::int32_t>(cells), together, u.dofs().data(), found.data());
  std::vector<double> result(static_cast<std::size_t>(cells * sums));
  copy_bytes(found.data(), Device::cuda, result.data(), Device::host, found.bytes());
  return result;
}

Tables pointers(const FunctionOnGpu& u, const IntegralTables& tables) {
  return {cuda::pointers(tables.geometry), u.space().dofs_per_cell(), tables.values.data()};
}

/// Least and greatest value of each thread block, [blocks][2], in a grid-stride loop.
__global__ void __launch_bounds__(block_threads) extremes_kernel(std::int64_t size, const double* u, double* of_block) {
  __shared__ double of_warp[2 * (block_threads / threads_per_warp)];
  double least = std::numeric_limits<double>::infinity(), greatest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = cuda::thread_number(); i < size; i += std::int64_t{gridDim.x} * block_threads) {
    least = fmin(least, u[i]);
    greatest = fmax(greatest, u[i]);
  }
  for (int distance = threads_per_warp / 2; distance > 0; distance /= 2) {
    least = fmin(least, __shfl_xor_sync(all_lanes, least, distance));
    greatest = fmax(greatest, __shfl_xor_sync(all_lanes, greatest, distance));
  }
  if (threadIdx.x % threads_per_warp == 0) {
    of_warp[threadIdx.x / threads_per_warp * 2] = least;
    of_warp[threadIdx.x / threads_per_warp * 2 + 1] = greatest;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < block_threads / threads_per_warp; ++warp) {
    least = fmin(least, of_warp[2 * warp]);
    greatest = fmax(greatest, of_warp[2 * warp + 1]);
  }
  of_block[2 * blockIdx.x] = least;
  of_block[2 * blockIdx.x + 1] = greatest;
}

}  // namespace

Extremes cuda_extremes(const FunctionOnGpu& u) {
  const std::int64_t blocks = resident_blocks(extremes_kernel, block_threads);
  Vector<double> of_blocks(2 * blocks, Device::cuda);
  launch(extremes_kernel, blocks, block_threads, 0, u.dofs().size(), u.dofs().data(), of_blocks.data());
  Extremes all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const Vector<double> found = copied(of_blocks, Device::host);
  for (std::int64_t block = 0; block < blocks; ++block) {
    all.least = std::min(all.least, found[2 * block]);
    all.greatest = std::max(all.greatest, found[2 * block + 1]);
  }
  return all;
}

std::vector<double> cuda_integrals(const FunctionOnGpu& u) { return integrals(u, Values{pointers(u, u.tables())}); }

bool cuda_takes(std::span<const PointProgram> programs) { return PointPrograms::fit(programs); }

std::vector<double> cuda_error_squares(const FunctionOnGpu& u, const ErrorTables& tables,
                                       std::span<const PointProgram> exact_by_region) {
  const Vector<std::int32_t> regions =
      copied(std::span<const std::int32_t>(u.space().mesh().cell_regions), Device::cuda);
  const PointPrograms programs(exact_by_region);
  return integrals(u, ErrorSquares{pointers(u, tables), tables.positions.data(), tables.slopes.data(),
                                   programs.by_region(), regions.data()});
}

}  // namespace femcg::operators
