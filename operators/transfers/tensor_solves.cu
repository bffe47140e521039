// B of TensorInverse on a GPU. The N points of the lattice are a tensor [z][y][x] in two work vectors. S along x is one
// matrix product, [n][n] times [n][N / n]; along y and z one per slab, [n_x][n] or [n_x n_y][n] times [n][n]: 2 N n
// operations each by cuBLAS, which reads and writes the points once. The kernels here have one thread a point: the
// gather reads an index (4 bytes) and r, the division reads the six short diagonals from the cache.

#include "operators/backend/cuda/cublas.cuh"
#include "operators/backend/launch.cuh"
#include "operators/transfers/places_of_nodes.cuh"
#include "operators/transfers/tensor_solves.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

/// Diagonals of the axes, and the lower bound of their sum.
struct Diagonals {
  std::int32_t size[3];
  const double *stiffness[3], *mass[3];
  double least;
  bool drops_constants;
};

/// to_i = E_i (r - q) at the unknown of point i; q may be null. One thread a point.
template <class T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(std::int64_t points, const std::int32_t* unknowns, const float* scale, int stride, const T* r,
                  const T* q, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i >= points) return;
  const std::int64_t at = std::int64_t{unknowns[i]} * stride;
  T value = 0;
  if (at >= 0) value = q != nullptr ? r[at] - q[at] : r[at];
  to[i] = scale != nullptr ? static_cast<T>(scale[i]) * value : value;
}

template <class T>
__global__ void __launch_bounds__(block_threads) divide_kernel(std::int64_t points, Diagonals of, T* values) {
  const std::int64_t point = cuda::thread_number();
  if (point >= points) return;
  const std::int64_t line = point / of.size[0], i = point - line * of.size[0], k = line / of.size[1],
                     j = line - k * of.size[1];
  const double my = of.mass[1][j], mz = of.mass[2][k], mx = of.mass[0][i];
  const double sum = of.stiffness[0][i] * my * mz + mx * (of.stiffness[1][j] * mz + my * of.stiffness[2][k]);
  values[point] = of.drops_constants && sum < of.least ? T(0) : values[point] / static_cast<T>(fmax(sum, of.least));
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    scatter_kernel(std::int64_t points, const std::int32_t* unknowns, const float* scale, const T* values, T* z) {
  const std::int64_t i = cuda::thread_number();
  if (i >= points || unknowns[i] < 0) return;
  z[unknowns[i]] = scale != nullptr ? static_cast<T>(scale[i]) * values[i] : values[i];
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    scatter_added_kernel(std::int64_t points, const std::int32_t* unknowns, const float* scale, const T* values,
                         T factor, int stride, T* d, T* x) {
  const std::int64_t i = cuda::thread_number();
  if (i >= points || unknowns[i] < 0) return;
  const T step = factor * (scale != nullptr ? static_cast<T>(scale[i]) * values[i] : values[i]);
  const std::int64_t at = std::int64_t{unknowns[i]} * stride;
  d[at] += step;
  x[at] += step;
}

struct PointsOnGpu {
  cuda::PlacesOfNodes::Pointers nodes;
  const std::int32_t* node_at;
  int degree;
  std::int32_t cells[3], first[3], size[3];
};

/// Finds the entry of the vectors of each point, by the cell whose first point it is, or the last cell. One thread a
/// point.
__global__ void __launch_bounds__(block_threads)
    places_of_points_kernel(std::int64_t points, PointsOnGpu of, std::int32_t* places) {
  const std::int64_t point = cuda::thread_number();
  if (point >= points) return;
  const std::int64_t line = point / of.size[0];
  const std::int32_t at[3] = {static_cast<std::int32_t>(point % of.size[0]),
                              static_cast<std::int32_t>(line % of.size[1]),
                              static_cast<std::int32_t>(line / of.size[1])};
  std::int32_t cell = 0, place = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const std::int32_t i = of.first[axis] + at[axis], along = min(i / of.degree, of.cells[axis] - 1);
    cell = cell * of.cells[axis] + along;
    place = place * (of.degree + 1) + i - along * of.degree;
  }
  places[point] = of.nodes(cell, of.node_at[place]);
}

template <std::floating_point T>
class CudaTensorSolves final : public TensorSolves<T> {
 public:
  explicit CudaTensorSolves(const TensorInverse& of)
      : handle_(CUBLAS_POINTER_MODE_HOST, 32 << 20),
        unknowns_(copied(of.unknowns, Device::cuda)),
        scale_(copied(of.scale, Device::cuda)),
        one_(of.points(), Device::cuda),
        other_(of.points(), Device::cuda) {
    diagonals_.least = of.least;
    diagonals_.drops_constants = of.drops_constants;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const TensorAxis& from = of.axes[axis];
      diagonals_.size[axis] = from.size;
      stiffness_[axis] = on_gpu<double>(from.stiffness);
      mass_[axis] = on_gpu<double>(from.mass);
      vectors_[axis] = on_gpu<T>(from.vectors);
      diagonals_.stiffness[axis] = stiffness_[axis].data();
      diagonals_.mass[axis] = mass_[axis].data();
      if (from.vectors.empty()) count_ *= from.size;
    }
    const Vector<T> zeros = zeros_on_gpu<T>(of.points());
    solve(zeros.data(), nullptr, 1);  // makes cuBLAS load its kernels
  }

  void apply(const Vector<T>& r, Vector<T>& z) const override {
    solve(r.data(), nullptr, 1);
    launch(scatter_kernel<T>, unknowns_.data(), scale(), one_.data(), z.data());
  }
  std::int64_t stored_bytes() const override {
    std::int64_t sum = unknowns_.bytes() + scale_.bytes() + one_.bytes() + other_.bytes();
    for (const Vector<T>& vectors : vectors_) sum += vectors.bytes();
    return sum;
  }
  std::int64_t count() const override { return count_; }

 private:
  /// Solves for one vector after the other.
  void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                Vector<T>& x) const override {
    for (int c = 0; c < stride; ++c) {
      solve(r.data() + c, q != nullptr ? q->data() + c : nullptr, stride);
      launch(scatter_added_kernel<T>, unknowns_.data(), scale(), one_.data(), factor, stride, d.data() + c,
             x.data() + c);
    }
  }
  template <class To>
  static Vector<To> on_gpu(const std::vector<double>& numbers) {
    Vector<To> rounded(std::ssize(numbers));
    for (std::int64_t i = 0; i < rounded.size(); ++i) rounded[i] = static_cast<To>(numbers[i]);
    return copied(rounded, Device::cuda);
  }
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(std::int64_t, Parameters...), Arguments... arguments) const {
    cuda::launch(kernel, cuda::blocks_of(unknowns_.size(), block_threads), block_threads, 0, unknowns_.size(),
                 arguments...);
  }
  const float* scale() const { return scale_.size() == 0 ? nullptr : scale_.data(); }

  /// one_ = S (...)^-1 S' E R' (r - q), for r and q with `stride` values from entry to entry.
  void solve(const T* r, const T* q, int stride) const {
    launch(gather_kernel<T>, unknowns_.data(), scale(), stride, r, q, one_.data());
    for (std::size_t axis = 0; axis < 3; ++axis) multiply(axis, true);
    launch(divide_kernel<T>, diagonals_, one_.data());
    for (std::size_t axis = 0; axis < 3; ++axis) multiply(axis, false);
  }
  /// Multiplies by S' or S along one axis.
  void multiply(std::size_t axis, bool transposed) const {
    const std::int64_t size = diagonals_.size[axis], points = unknowns_.size();
    if (vectors_[axis].size() == 0 || points == 0) return;
    const std::int64_t before = axis == 0   ? 1
                                : axis == 1 ? diagonals_.size[0]
                                            : std::int64_t{diagonals_.size[0]} * diagonals_.size[1],
                       after = points / (before * size);
    const cuda::Cublas& cublas = cuda::Cublas::get();
    const auto gemm = cuda::of_precision<T>(cublas.dgemms, cublas.sgemms);
    const T one = 1, zero = 0, *s = vectors_[axis].data();
    cuda::Cublas::check(
        axis == 0
            ? gemm(handle_.get(), transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, size, after, size, &one, s, size,
                   0, one_.data(), size, 0, &zero, other_.data(), size, 0, 1)
            : gemm(handle_.get(), CUBLAS_OP_N, transposed ? CUBLAS_OP_N : CUBLAS_OP_T, before, size, size, &one,
                   one_.data(), before, before * size, s, size, 0, &zero, other_.data(), before, before * size, after),
        "a product of matrices in cuBLAS");
    std::swap(one_, other_);
  }

  cuda::CublasHandle handle_;
  Vector<std::int32_t> unknowns_;
  Vector<float> scale_;
  std::array<Vector<double>, 3> stiffness_, mass_;
  std::array<Vector<T>, 3> vectors_;
  Diagonals diagonals_{};
  std::int64_t count_ = 1;
  mutable Vector<T> one_, other_;
};

}  // namespace

Vector<std::int32_t> cuda_places_of_points(const BoxPoints& points, const LevelOrdering& ordering) {
  const std::int32_t cells = points.cells[0] * points.cells[1] * points.cells[2];
  const cuda::PlacesOfNodes nodes(points.nodes, cells, ordering);
  const Vector<std::int32_t> node_at = copied(std::span<const std::int32_t>(points.node_at), Device::cuda);
  PointsOnGpu of{nodes.pointers(), node_at.data(), points.degree, {}, {}, {}};
  std::ranges::copy(points.cells, of.cells);
  std::ranges::copy(points.first, of.first);
  std::ranges::copy(points.size, of.size);
  Vector<std::int32_t> places(points.count(), Device::cuda);
  cuda::launch(places_of_points_kernel, cuda::blocks_of(places.size(), block_threads), block_threads, 0, places.size(),
               of, places.data());
  synchronize(Device::cuda);  // before `nodes` is freed
  return places;
}

template <std::floating_point T>
std::unique_ptr<TensorSolves<T>> make_cuda_tensor_solves(const TensorInverse& of) {
  return std::make_unique<CudaTensorSolves<T>>(of);
}

template std::unique_ptr<TensorSolves<double>> make_cuda_tensor_solves(const TensorInverse&);
template std::unique_ptr<TensorSolves<float>> make_cuda_tensor_solves(const TensorInverse&);

}  // namespace femcg::operators
