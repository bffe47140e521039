#pragma once

// K_e = sum_q G_q' D_q G_q in double precision, one group of threads a cell, as many as its matrix occupies. For a few
// quadrature points at a time D_q and then S_q = D_q G_q, [axes][dofs], go to shared memory, and every thread adds
// sum_q G_q' S_q to its entries of the lower triangle. Only the mesh is read, and only matrices are written:
// layout.index(matrix, i, j) is the position of entry (i, j <= i).

#include <algorithm>

#include "operators/forms/cell_factors.cuh"

namespace femcg::operators::cuda {

constexpr int assembly_threads = 128;
constexpr int most_scaled = 1536;  // values of S in shared memory, for all cells of a block

/// Number of cells of a block, and of quadrature points processed at a time.
struct AssemblyShape {
  int dofs;
  int cell_threads;  ///< threads of a cell: 32, 64 or 128
  int pass_points;   ///< quadrature points at a time

  int cells_per_block() const { return assembly_threads / cell_threads; }
};

inline AssemblyShape assembly_shape(int dofs, int dimension, int points) {
  const int packed = dofs * (dofs + 1) / 2, cell_threads = packed <= 64 ? 32 : packed <= 256 ? 64 : 128;
  const int cells = assembly_threads / cell_threads;
  return {dofs, cell_threads, std::clamp(most_scaled / (cells * dimension * dofs), 1, points)};
}

/// Row of an entry of the packed lower triangle.
__device__ inline int row_of(int entry) {
  int i = static_cast<int>((sqrtf(8.0F * static_cast<float>(entry) + 1.0F) - 1.0F) * 0.5F);
  while (i * (i + 1) / 2 > entry) --i;
  while ((i + 1) * (i + 2) / 2 <= entry) ++i;
  return i;
}

/// Computes S_q = D_q G_q at the points [first, last) by the `threads` threads of a cell.
template <int d>
__device__ void scale_gradients(const double* gradients, const double* factors, int dofs, int first, int last,
                                int thread, int threads, double* scaled) {
  constexpr int entries = d * (d + 1) / 2;
  for (int k = thread; k < (last - first) * d * dofs; k += threads) {
    const int q = k / (d * dofs), a = k / dofs % d, i = k % dofs;
    double sum = 0;
#pragma unroll
    for (int b = 0; b < d; ++b)
      sum += factors[q * entries + upper_index(a, b, d)] * __ldg(gradients + ((first + q) * d + b) * dofs + i);
    scaled[k] = sum;
  }
}

template <class T, int d, class Layout>
__global__ void __launch_bounds__(assembly_threads)
    assembly_kernel(AssemblyShape shape, Layout layout, FactorSource source, const double* gradients,
                    const std::int32_t* cell_of_matrix, std::int64_t matrices, T* values) {
  extern __shared__ double shared_memory[];
  constexpr int entries = d * (d + 1) / 2;
  const int n = shape.dofs, packed = n * (n + 1) / 2, pass = shape.pass_points;
  const int thread = static_cast<int>(threadIdx.x) % shape.cell_threads;
  const int cell_in_block = static_cast<int>(threadIdx.x) / shape.cell_threads;
  double* sums = shared_memory + cell_in_block * (packed + pass * (entries + d * n));
  double* factors = sums + packed;
  double* scaled = factors + pass * entries;

  const std::int64_t matrix = std::int64_t{blockIdx.x} * (assembly_threads / shape.cell_threads) + cell_in_block;
  const std::int64_t cell = matrix >= matrices ? -1 : cell_of_matrix != nullptr ? cell_of_matrix[matrix] : matrix;
  for (int entry = thread; entry < packed; entry += shape.cell_threads) sums[entry] = 0;
  for (int first = 0; first < source.points; first += pass) {
    const int last = min(first + pass, source.points);
    for (int q = first + thread; q < last && cell >= 0; q += shape.cell_threads) {
      double of_point[entries];
      factors_at<d>(source, cell, q, of_point);
#pragma unroll
      for (int e = 0; e < entries; ++e) factors[(q - first) * entries + e] = of_point[e];
    }
    __syncthreads();
    if (cell >= 0) scale_gradients<d>(gradients, factors, n, first, last, thread, shape.cell_threads, scaled);
    __syncthreads();
    for (int entry = thread; entry < packed && cell >= 0; entry += shape.cell_threads) {
      const int i = row_of(entry), j = entry - i * (i + 1) / 2;
      double sum = 0;
      for (int k = 0; k < (last - first) * d; ++k)
        sum += __ldg(gradients + (first * d + k) * n + i) * scaled[k * n + j];
      sums[entry] += sum;
    }
    __syncthreads();
  }
  for (int entry = thread; entry < packed && matrix < matrices; entry += shape.cell_threads) {
    const int i = row_of(entry), j = entry - i * (i + 1) / 2;
    values[layout.index(matrix, i, j)] = static_cast<T>(sums[entry]);
  }
}

/// Overwrites whole matrices, one thread an entry, in a grid-stride loop.
template <class T, class Layout>
__global__ void replace_kernel(Layout layout, int packed, std::int64_t count, const std::int64_t* places,
                               const double* matrices, T* values) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = cuda::thread_number(); k < count * packed; k += stride) {
    const int entry = static_cast<int>(k % packed), i = row_of(entry), j = entry - i * (i + 1) / 2;
    values[layout.index(places[k / packed], i, j)] = static_cast<T>(matrices[k]);
  }
}

/// Computes the matrices of the cells `cell_of_matrix`, -1 for none; if null, of the cells 0 to `matrices` - 1.
template <class T, class Layout>
void launch_element_matrices(const FactorInputs& factors, const Vector<double>& gradients, int dofs,
                             const Layout& layout, const std::int32_t* cell_of_matrix, std::int64_t matrices,
                             T* values) {
  const AssemblyShape shape = assembly_shape(dofs, factors.dimension, factors.points);
  const std::int64_t shared =
      std::int64_t{shape.cells_per_block()} *
      (dofs * (dofs + 1) / 2 + shape.pass_points * (factors.entries() + factors.dimension * dofs)) *
      static_cast<std::int64_t>(sizeof(double));
  const auto kernel = factors.dimension == 2 ? assembly_kernel<T, 2, Layout> : assembly_kernel<T, 3, Layout>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "asking for shared memory");
  launch(kernel, blocks_of(matrices, shape.cells_per_block()), assembly_threads, static_cast<std::size_t>(shared),
         shape, layout, pointers(factors), gradients.data(), cell_of_matrix, matrices, values);
}

/// Overwrites the matrices at `places` by matrices of the host, packed as in CellEvaluator::matrix.
template <class T, class Layout>
void replace_element_matrices(const Layout& layout, int dofs, const Vector<std::int64_t>& places,
                              const Vector<double>& matrices, T* values) {
  const Vector<std::int64_t> places_there = copied(places, Device::cuda);
  const Vector<double> there = copied(matrices, Device::cuda);
  launch(replace_kernel<T, Layout>, blocks_of(there.size(), 256), 256, 0, layout, dofs * (dofs + 1) / 2,
         places_there.size(), places_there.data(), there.data(), values);
  synchronize(Device::cuda);  // before places and matrices are freed
}

}  // namespace femcg::operators::cuda
