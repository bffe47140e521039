#include "operators/transfers/tensor_solves.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <std::floating_point T>
class HostTensorSolves final : public TensorSolves<T> {
 public:
  explicit HostTensorSolves(TensorInverse of) : of_(std::move(of)), one_(of_.points()), other_(of_.points()) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const TensorAxis& from = of_.axes[axis];
      if (!from.vectors.empty())
        vectors_[axis] = Eigen::Map<const Matrix<double>>(from.vectors.data(), from.size, from.size).cast<T>();
    }
  }

  void apply(const Vector<T>& r, Vector<T>& z) const override {
    solve(r, nullptr, 1, 0);
    for_points([&](std::int64_t point, std::int32_t unknown) { z[unknown] = scaled(point, one_[point]); });
  }
  std::int64_t stored_bytes() const override {
    std::int64_t sum = of_.unknowns.bytes() + of_.scale.bytes() + one_.bytes() + other_.bytes();
    for (const Matrix<T>& vectors : vectors_) sum += vectors.size() * std::int64_t{sizeof(T)};
    return sum;
  }
  /// Number of blocks: points of the axes that are not solved.
  std::int64_t count() const override {
    std::int64_t blocks = 1;
    for (const TensorAxis& axis : of_.axes) blocks *= axis.vectors.empty() ? axis.size : 1;
    return blocks;
  }

 private:
  /// Solves for one vector after the other.
  void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                Vector<T>& x) const override {
    for (int c = 0; c < stride; ++c) {
      solve(r, q, stride, c);
      for_points([&](std::int64_t point, std::int32_t unknown) {
        const T step = factor * scaled(point, one_[point]);
        d[std::int64_t{unknown} * stride + c] += step;
        x[std::int64_t{unknown} * stride + c] += step;
      });
    }
  }
  template <class Work>
  void for_points(const Work& work) const {
    for_each_row(of_.points(), [&](std::int64_t point) {
      if (of_.unknowns[point] >= 0) work(point, of_.unknowns[point]);
    });
  }
  T scaled(std::int64_t point, T value) const {
    return of_.scale.size() == 0 ? value : static_cast<T>(of_.scale[point]) * value;
  }

  /// one_ = S (...)^-1 S' E R' (r - q), for value c of rows of `stride` values.
  void solve(const Vector<T>& r, const Vector<T>* q, int stride, int c) const {
    for_each_row(of_.points(), [&](std::int64_t point) {
      const std::int64_t at = std::int64_t{of_.unknowns[point]} * stride + c;
      one_[point] = of_.unknowns[point] < 0 ? T(0) : scaled(point, q != nullptr ? r[at] - (*q)[at] : r[at]);
    });
    for (std::size_t axis = 0; axis < 3; ++axis) multiply<true>(axis);
    divide();
    for (std::size_t axis = 0; axis < 3; ++axis) multiply<false>(axis);
  }
  /// Multiplies by S' or S along one axis. The points are contiguous matrices [before][size].
  template <bool transposed>
  void multiply(std::size_t axis) const {
    if (vectors_[axis].size() == 0) return;
    constexpr std::int64_t rows_at_once = 128;
    const Matrix<T>& s = vectors_[axis];
    const std::int64_t size = s.rows(),
                       before = axis == 0   ? 1
                                : axis == 1 ? size_of(0)
                                            : size_of(0) * size_of(1),
                       after = of_.points() / (before * size), rows = axis == 0 ? after : before,
                       slabs = axis == 0 ? 1 : after, pieces = (rows + rows_at_once - 1) / rows_at_once;
#pragma omp parallel for schedule(static)  // within which Eigen starts no threads of its own
    for (std::int64_t task = 0; task < slabs * pieces; ++task) {
      const std::int64_t slab = task / pieces, first = task % pieces * rows_at_once,
                         count = std::min(rows_at_once, rows - first);
      if (axis == 0) {
        const Eigen::Map<const Matrix<T>> from(one_.data() + first * size, size, count);
        Eigen::Map<Matrix<T>> to(other_.data() + first * size, size, count);
        if constexpr (transposed)
          to.noalias() = s.transpose() * from;
        else
          to.noalias() = s * from;
      } else {
        const Eigen::OuterStride<> stride(before);
        const std::int64_t begin = slab * before * size + first;
        const Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>> from(one_.data() + begin, count, size, stride);
        Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>> to(other_.data() + begin, count, size, stride);
        if constexpr (transposed)
          to.noalias() = from * s;
        else
          to.noalias() = from * s.transpose();
      }
    }
    std::swap(one_, other_);
  }
  void divide() const {
    const auto& [x, y, z] = of_.axes;
    for_each_row(std::int64_t{y.size} * z.size, [&](std::int64_t line) {
      const std::int64_t j = line % y.size, k = line / y.size;
      const double mass = y.mass[j] * z.mass[k], stiffness = y.stiffness[j] * z.mass[k] + y.mass[j] * z.stiffness[k];
      T* points = one_.data() + line * x.size;
      for (std::int32_t i = 0; i < x.size; ++i) {
        const double sum = x.stiffness[i] * mass + x.mass[i] * stiffness;
        if (of_.drops_constants && sum < of_.least)
          points[i] = 0;
        else
          points[i] /= static_cast<T>(std::max(sum, of_.least));
      }
    });
  }
  std::int64_t size_of(int axis) const { return of_.axes[axis].size; }

  TensorInverse of_;
  std::array<Matrix<T>, 3> vectors_;
  mutable Vector<T> one_, other_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<TensorSolves<T>> make_tensor_solves(TensorInverse of, Device device) {
  if (device == Device::cuda) return make_cuda_tensor_solves<T>(of);
  return std::make_unique<HostTensorSolves<T>>(std::move(of));
}

template std::unique_ptr<TensorSolves<double>> make_tensor_solves(TensorInverse, Device);
template std::unique_ptr<TensorSolves<float>> make_tensor_solves(TensorInverse, Device);

}  // namespace femcg::operators
