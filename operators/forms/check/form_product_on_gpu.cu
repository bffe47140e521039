// A block has several groups of cells. Coefficients of all dofs and nodes of the geometry go to shared memory; then one
// thread per quadrature point computes w kappa |J| J^-1 J^-T grad u, and one thread per dof the integral of this with
// the gradient of its basis function. Tables are read once for all cells of a group.

#include "operators/forms/check/form_product_on_gpu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/cuda/chunk_copies.cuh"
#include "operators/forms/cell_factors.cuh"
#include "operators/forms/check/product_numbers.hpp"

namespace femcg::operators {

namespace {

using namespace cuda;

constexpr int block_threads = 128;

/// Sums in fixed-point numbers: entry i is high[i] 2^(exponent - 42) + low[i] 2^(exponent - 84). Terms are below
/// 2^exponent, so that there is room for a million of them.
struct Sums {
  static constexpr int digits = 42;

  unsigned long long* high;  ///< null: only the greatest term is computed
  unsigned long long* low;
  int exponent;
  unsigned long long* greatest;  ///< bits of the greatest |term|; above those of infinity if a term is NaN
};

/// Adds one thread's terms to the sums.
class Adder {
 public:
  __device__ explicit Adder(const Sums& sums)
      : sums_(sums), to_high_(ldexp(1.0, Sums::digits - sums.exponent)), to_low_(ldexp(1.0, Sums::digits)) {}

  __device__ void add(std::int32_t i, double term) {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(fabs(term)));
    greatest_ = max(greatest_, bits);
    if (sums_.high == nullptr) return;
    const double scaled = term * to_high_, high = rint(scaled);
    atomicAdd(sums_.high + i, static_cast<unsigned long long>(__double2ll_rn(high)));
    atomicAdd(sums_.low + i, static_cast<unsigned long long>(__double2ll_rn((scaled - high) * to_low_)));
  }
  /// Updates the greatest term. Called by all threads of a warp, at the end.
  __device__ void tell_greatest() {
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
      greatest_ = max(greatest_, __shfl_xor_sync(all_lanes, greatest_, distance));
    if (threadIdx.x % threads_per_warp == 0 && greatest_ > *sums_.greatest) atomicMax(sums_.greatest, greatest_);
  }

 private:
  Sums sums_;
  double to_high_, to_low_;
  unsigned long long greatest_ = 0;
};

/// Data of the cells of a form on the GPU.
struct Cells {
  int points, nodes, dofs;        ///< of a cell; nodes of its geometry
  const double* slopes;           ///< gradients of the basis, [axes][dofs][points]
  const double* transposed;       ///< the same, [axes][points][dofs]
  const double* geometry_slopes;  ///< [points][axes][nodes]
  const double* weights;
  NodesOfCells node_points;
  const double* diffusion;  ///< FactorInputs
  int diffusion_entries;
  std::int64_t diffusion_per_cell, diffusion_per_point;
};

/// Computes C = |J| J^-1; returns |J|.
__device__ inline double cofactors(const double (&m)[2][2], double (&c)[2][2]) {
  c[0][0] = m[1][1];
  c[0][1] = -m[0][1];
  c[1][0] = -m[1][0];
  c[1][1] = m[0][0];
  return m[0][0] * c[0][0] + m[0][1] * c[1][0];
}
__device__ inline double cofactors(const double (&m)[3][3], double (&c)[3][3]) {
#pragma unroll
  for (int j = 0; j < 3; ++j)
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      c[j][i] = m[i1][j1] * m[i2][j2] - m[i1][j2] * m[i2][j1];
    }
  return m[0][0] * c[0][0] + m[0][1] * c[1][0] + m[0][2] * c[2][0];
}

/// Values of shared memory per group of cells: coefficients, nodes, fluxes.
template <int d, int together>
__host__ __device__ std::int64_t numbers_of_group(const Cells& of) {
  return std::int64_t{together} * (of.dofs + d * of.nodes + d * of.points);
}

/// Replaces g by w C kappa C' g / |J| at point q of a cell, with C = |J| J^-1; `nodes` are those of the cell,
/// [nodes][d], `stride` values apart.
template <int d>
__device__ void scale_gradient(const Cells& of, std::int32_t cell, int q, const double* nodes, int stride,
                               double (&g)[d]) {
  double jacobian[d][d] = {}, c[d][d], in_space[d];
  for (int node = 0; node < of.nodes; ++node)
#pragma unroll
    for (int k = 0; k < d; ++k) {
      const double slope = __ldg(of.geometry_slopes + (q * d + k) * of.nodes + node);
#pragma unroll
      for (int i = 0; i < d; ++i) jacobian[i][k] += nodes[(node * d + i) * stride] * slope;
    }
  const double determinant = cofactors(jacobian, c);
  const double* diffusion = of.diffusion + of.diffusion_per_cell * cell + of.diffusion_per_point * q;
  const bool is_tensor = of.diffusion_entries > 1;
  const double scale = __ldg(of.weights + q) * (is_tensor ? 1.0 : __ldg(diffusion)) / determinant;
#pragma unroll
  for (int i = 0; i < d; ++i) {
    in_space[i] = 0;
#pragma unroll
    for (int k = 0; k < d; ++k) in_space[i] += c[k][i] * g[k];
    in_space[i] *= scale;
  }
  if (is_tensor) {
    double tensor[upper_size(d)], flux[d];
#pragma unroll
    for (int e = 0; e < upper_size(d); ++e) tensor[e] = __ldg(diffusion + e);
    multiply_tensor<d>(tensor, in_space, flux);
#pragma unroll
    for (int i = 0; i < d; ++i) in_space[i] = flux[i];
  }
#pragma unroll
  for (int k = 0; k < d; ++k) {
    g[k] = 0;
#pragma unroll
    for (int i = 0; i < d; ++i) g[k] += c[k][i] * in_space[i];
  }
}

/// Adds A x of `count` cells from `first` on, `groups` groups of `together` cells a block; `unknowns` are theirs,
/// [cells][dofs], -1 for none.
template <int d, int together>
__global__ void __launch_bounds__(block_threads)
    cells_kernel(Cells of, const std::int32_t* unknowns, std::int32_t first, std::int32_t count, int groups,
                 const double* x, Sums sums) {
  extern __shared__ double shared[];
  const int mine = static_cast<int>(threadIdx.x), n = of.dofs, m = of.points;
  double* const coefficients = shared;                              // [groups][dofs][together]
  double* const nodes = coefficients + groups * n * together;       // [groups][nodes][d][together]
  double* const fluxes = nodes + groups * of.nodes * d * together;  // [groups][d][points][together]
  const std::int32_t begin = static_cast<std::int32_t>(blockIdx.x) * groups * together;  // in the window
  const auto place = [&](int cell, int row, int rows) {  // of a value of a cell of the block, `rows` values a cell
    return (cell / together * rows + row) * together + cell % together;
  };
  for (int i = mine; i < groups * together * n; i += block_threads) {
    const int cell = i / n;
    const std::int32_t unknown = begin + cell < count ? __ldg(unknowns + std::int64_t{begin} * n + i) : -1;
    coefficients[place(cell, i % n, n)] = unknown >= 0 ? __ldg(x + unknown) : 0.0;
  }
  for (int i = mine; i < groups * together * of.nodes; i += block_threads) {
    const int cell = i / of.nodes;  // cells beyond the last repeat it
    double at[d];
    of.node_points(first + min(begin + cell, count - 1), i % of.nodes, at);
#pragma unroll
    for (int axis = 0; axis < d; ++axis) nodes[place(cell, i % of.nodes * d + axis, of.nodes * d)] = at[axis];
  }
  __syncthreads();
  for (int i = mine; i < groups * m; i += block_threads) {
    const int group = i / m, q = i % m;
    const double* of_group = coefficients + group * n * together;
    double slopes[d][together] = {};
    for (int a = 0; a < n; ++a) {
      double table[d];
#pragma unroll
      for (int k = 0; k < d; ++k) table[k] = __ldg(of.slopes + (k * n + a) * m + q);
#pragma unroll
      for (int c = 0; c < together; ++c) {
        const double u = of_group[a * together + c];
#pragma unroll
        for (int k = 0; k < d; ++k) slopes[k][c] += table[k] * u;
      }
    }
#pragma unroll
    for (int c = 0; c < together; ++c) {
      double g[d];
#pragma unroll
      for (int k = 0; k < d; ++k) g[k] = slopes[k][c];
      const std::int32_t cell = min(begin + group * together + c, count - 1);
      scale_gradient<d>(of, first + cell, q, nodes + group * of.nodes * d * together + c, together, g);
#pragma unroll
      for (int k = 0; k < d; ++k) fluxes[((group * d + k) * m + q) * together + c] = g[k];
    }
  }
  __syncthreads();
  Adder adder(sums);
  for (int i = mine; i < groups * n; i += block_threads) {
    const int group = i / n, a = i % n;
    const double* of_group = fluxes + group * d * m * together;
    double terms[together] = {};
    for (int row = 0; row < d * m; ++row) {
      const double table = __ldg(of.transposed + row * n + a);
#pragma unroll
      for (int c = 0; c < together; ++c) terms[c] += table * of_group[row * together + c];
    }
#pragma unroll
    for (int c = 0; c < together; ++c) {
      const std::int32_t cell = begin + group * together + c;
      if (cell >= count) break;
      if (const std::int32_t unknown = __ldg(unknowns + std::int64_t{cell} * n + a); unknown >= 0)
        adder.add(unknown, terms[c]);
    }
  }
  __syncwarp();
  adder.tell_greatest();
}

/// Data of Robin facets on the GPU.
struct Facets {
  std::int64_t count;
  int points, nodes;
  const double* tables;          ///< of the reference cell's facets: [points][nodes]
  const std::int32_t* facets;    ///< of the reference cell
  const double* weights;         ///< alpha w |J|, [facets][points]
  const std::int32_t* unknowns;  ///< [facets][nodes]
};

/// Adds the Robin terms. One thread per node of a facet.
__global__ void __launch_bounds__(block_threads) robin_kernel(Facets of, const double* x, Sums sums) {
  const std::int64_t i = cuda::thread_number();
  Adder adder(sums);
  if (i < of.count * of.nodes && of.unknowns[i] >= 0) {
    const std::int64_t facet = i / of.nodes;
    const double* table = of.tables + std::int64_t{of.facets[facet]} * of.points * of.nodes;
    double sum = 0;
    for (int q = 0; q < of.points; ++q, table += of.nodes) {
      double u = 0;
      for (int b = 0; b < of.nodes; ++b)
        if (const std::int32_t unknown = of.unknowns[facet * of.nodes + b]; unknown >= 0) u += table[b] * x[unknown];
      sum += table[i % of.nodes] * of.weights[facet * of.points + q] * u;
    }
    adder.add(of.unknowns[i], sum);
  }
  __syncwarp();
  adder.tell_greatest();
}

/// r = b - sums; r overwrites sums.high. One thread an entry.
__global__ void __launch_bounds__(block_threads)
    residual_kernel(std::int64_t size, Sums sums, const double* b, double* r) {
  const std::int64_t i = cuda::thread_number();
  if (i >= size) return;
  const auto high = static_cast<double>(static_cast<long long>(sums.high[i]));
  const auto low = static_cast<double>(static_cast<long long>(sums.low[i]));
  r[i] = b[i] - ldexp(high, sums.exponent - Sums::digits) - ldexp(low, sums.exponent - 2 * Sums::digits);
}
__global__ void __launch_bounds__(block_threads) fill_kernel(std::int64_t size, double value, double* r) {
  const std::int64_t i = cuda::thread_number();
  if (i < size) r[i] = value;
}

std::int64_t blocks_of(std::int64_t threads) { return cuda::blocks_of(threads, block_threads); }

template <class T>
Vector<T> on_gpu(const std::vector<T>& numbers) {
  return copied(std::span<const T>(numbers), Device::cuda);
}

/// RobinNumbers on the GPU.
struct FacetData {
  explicit FacetData(const RobinNumbers& from)
      : points(from.points),
        nodes(from.nodes),
        tables(on_gpu(from.tables)),
        weights(on_gpu(from.weights)),
        facets(on_gpu(from.facets)),
        unknowns(on_gpu(from.unknowns)) {}
  Facets pointers() const {
    return {facets.size(), points, nodes, tables.data(), facets.data(), weights.data(), unknowns.data()};
  }

  int points, nodes;
  Vector<double> tables, weights;
  Vector<std::int32_t> facets, unknowns;
};

}  // namespace

class FormProductOnGpu::Products {
 public:
  Products(const BilinearForm& form, Unknowns unknowns)
      : form_(form),
        inputs_(factor_inputs(form, Device::cuda)),
        slopes_(on_gpu(slopes_of_functions(form, SlopeOrder::functions_points))),
        transposed_(on_gpu(slopes_of_functions(form, SlopeOrder::points_functions))),
        facets_(robin_numbers(form)),
        window_cells_(std::clamp<std::int64_t>(window_bytes / cell_bytes(), 1, std::max(1, form.cells()))),
        staging_(ChunkCopies::buffers * window_cells_ * cell_bytes()),
        copies_(window_cells_ * cell_bytes()),
        greatest_(1, Device::cuda),
        unknowns_(unknowns == Unknowns::kept ? form.cells() * std::int64_t{form.dofs_per_cell()} : 0, Device::cuda) {
    inputs_.dimension == 2 ? choose_groups<2>() : choose_groups<3>();
  }

  void residual(const double* x, const double* b, double* r, unsigned long long* low, std::int64_t size) {
    Sums sums{reinterpret_cast<unsigned long long*>(r), low, exponent_, greatest_.data()};
    if (!known_)
      sums.exponent = exponent_above(greatest_term(x, sums, std::min<std::int64_t>(window_cells_, form_.cells())));
    for (;;) {
      cuda_clear(r, size * std::int64_t{sizeof(double)});
      cuda_clear(low, size * std::int64_t{sizeof(double)});
      const double greatest = greatest_term(x, sums, form_.cells());
      if (!std::isfinite(greatest)) {
        launch(fill_kernel, blocks_of(size), block_threads, 0, size, std::numeric_limits<double>::quiet_NaN(), r);
        return;
      }
      known_ = greatest > 0;
      exponent_ = exponent_above(greatest);
      const bool fits = greatest <= std::ldexp(1.0, sums.exponent), fine = sums.exponent <= exponent_ + most_excess;
      if (greatest == 0 || (fits && fine) || sums.exponent == exponent_) break;
      sums.exponent = exponent_;
    }
    launch(residual_kernel, blocks_of(size), block_threads, 0, size, sums, b, r);
  }

  static constexpr std::int64_t window_bytes = std::int64_t{16} << 20;

 private:
  std::int64_t cell_bytes() const { return form_.dofs_per_cell() * std::int64_t{sizeof(std::int32_t)}; }
  Cells cells() const {
    return {inputs_.points,
            inputs_.nodes,
            form_.dofs_per_cell(),
            slopes_.data(),
            transposed_.data(),
            inputs_.gradients.data(),
            inputs_.weights.data(),
            nodes_of_cells(inputs_),
            inputs_.diffusion.data(),
            inputs_.diffusion_entries,
            inputs_.diffusion_per_cell,
            inputs_.diffusion_per_point};
  }

  /// Chooses many cells per load of the tables, if they fit, and enough groups for all threads of a block.
  template <int d>
  void choose_groups() {
    constexpr std::int64_t enough = 48 << 10;
    const auto bytes = [&](auto numbers) { return numbers(cells()) * std::int64_t{sizeof(double)}; };
    const std::int64_t of_many = bytes(numbers_of_group<d, many>), of_few = bytes(numbers_of_group<d, few>);
    many_ = of_many <= shared_bytes_of_block();
    const std::int64_t of_group = many_ ? of_many : of_few;
    groups_ = static_cast<int>(std::clamp<std::int64_t>(block_threads / std::max(inputs_.points, form_.dofs_per_cell()),
                                                        1, std::max<std::int64_t>(1, enough / of_group)));
    shared_bytes_ = groups_ * of_group;
    check(
        cudaFuncSetAttribute(kernel<d>(), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
        "asking for shared memory");
  }
  template <int d>
  auto kernel() const {
    return many_ ? cells_kernel<d, many> : cells_kernel<d, few>;
  }

  /// Spare bits of the exponent, for terms that grow from product to product.
  static constexpr int room = 20, most_excess = 10;
  static int exponent_above(double greatest) {
    constexpr int most = 900;
    return greatest > 0 && std::isfinite(greatest) ? std::clamp(std::ilogb(greatest) + room, -most, most) : 0;
  }

  /// Adds A x of the first `count` cells and of all Robin facets; returns the greatest term.
  double greatest_term(const double* x, const Sums& to, std::int64_t count) {
    Sums sums = to;
    if (count < form_.cells()) sums.high = nullptr;
    cuda_clear(greatest_.data(), greatest_.bytes());
    if (all_are_here_)
      add_cells(unknowns_.data(), 0, static_cast<std::int32_t>(count), x, sums);
    else
      send_and_add_cells(count, x, sums);
    const Facets facets = facets_.pointers();
    launch(robin_kernel, blocks_of(facets.count * facets.nodes), block_threads, 0, facets, x, sums);
    unsigned long long bits = 0;
    copy_bytes(greatest_.data(), Device::cuda, &bits, Device::host, sizeof bits);
    return std::bit_cast<double>(bits);
  }

  void send_and_add_cells(std::int64_t count, const double* x, const Sums& sums) {
    const std::int64_t n = form_.dofs_per_cell();
    copies_.begin();
    for (std::int64_t window = 0; window * window_cells_ < count; ++window) {
      const auto first = static_cast<std::int32_t>(window * window_cells_);
      const auto here = static_cast<std::int32_t>(std::min(window_cells_, count - first));
      if (window >= ChunkCopies::buffers) copies_.await_copied(window - ChunkCopies::buffers);
      char* const from = staging_.data() + window % ChunkCopies::buffers * window_cells_ * cell_bytes();
      write_unknowns(first, here, reinterpret_cast<std::int32_t*>(from));
      copies_.send(window, from, here * cell_bytes());
      copies_.await(window);
      const auto* unknowns = reinterpret_cast<const std::int32_t*>(copies_.buffer(window));
      if (unknowns_.size() > 0)
        copy_bytes(unknowns, Device::cuda, unknowns_.data() + first * n, Device::cuda, here * cell_bytes());
      add_cells(unknowns, first, here, x, sums);
      copies_.release(window);
    }
    all_are_here_ = unknowns_.size() > 0 && count == form_.cells();
  }

  void write_unknowns(std::int32_t first, std::int32_t count, std::int32_t* to) const {
    const std::int64_t n = form_.dofs_per_cell();
#pragma omp parallel for schedule(static)
    for (std::int32_t cell = 0; cell < count; ++cell)
      form_.for_nodes(first + cell, [&](int a, std::int32_t unknown) { to[cell * n + a] = unknown; });
  }

  void add_cells(const std::int32_t* unknowns, std::int32_t first, std::int32_t count, const double* x,
                 const Sums& sums) const {
    const std::int64_t cells_of_block = groups_ * (many_ ? many : few);
    launch(inputs_.dimension == 2 ? kernel<2>() : kernel<3>(), (count + cells_of_block - 1) / cells_of_block,
           block_threads, static_cast<std::size_t>(shared_bytes_), cells(), unknowns, first, count, groups_, x, sums);
  }

  static constexpr int many = 8, few = 2;  ///< cells of a group

  const BilinearForm& form_;
  FactorInputs inputs_;
  Vector<double> slopes_, transposed_;
  FacetData facets_;
  std::int64_t window_cells_;
  PageLocked staging_;  ///< destroyed after the streams whose copies read it
  ChunkCopies copies_;
  Vector<unsigned long long> greatest_;
  bool many_ = true;
  int groups_ = 1;
  std::int64_t shared_bytes_ = 0;
  Vector<std::int32_t> unknowns_;  ///< of all cells, if they are kept
  bool all_are_here_ = false;
  bool known_ = false;  ///< true if the exponent is that of a previous product
  int exponent_ = 0;
};

FormProductOnGpu::FormProductOnGpu(const BilinearForm& form, Unknowns unknowns)
    : products_(std::make_unique<Products>(form, unknowns)) {}
std::int64_t FormProductOnGpu::bytes(const BilinearForm& form, Unknowns unknowns) {
  const std::int64_t of_unknowns =
      form.cells() * std::int64_t{form.dofs_per_cell()} * std::int64_t{sizeof(std::int32_t)};
  return bytes_of_product(form) + ChunkCopies::buffers * Products::window_bytes +
         (unknowns == Unknowns::kept ? of_unknowns : 0);
}
FormProductOnGpu::~FormProductOnGpu() = default;

void FormProductOnGpu::residual(const Vector<double>& x, const Vector<double>& b, Vector<double>& r,
                                Vector<double>& scratch) const {
  products_->residual(x.data(), b.data(), r.data(), reinterpret_cast<unsigned long long*>(scratch.data()), x.size());
}

}  // namespace femcg::operators
