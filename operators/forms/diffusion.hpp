#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators {

/// Values of a coefficient at points of one cell; points are [count][3]. Called from several threads concurrently.
using Coefficient = std::function<void(std::int32_t cell, std::span<const double> points, std::span<double> values)>;

/// Rounds the coordinates of points at which a coefficient is evaluated. Their last bits depend on the order of sums,
/// and a coefficient that jumps at a point, x < 0.5 in the middle of a cell, would differ between operator and
/// preconditioner, GPU and processor.
class CoordinateRounding {
 public:
  /// Without rounding.
  CoordinateRounding() = default;
  /// To 2^-40 of the power of two above `largest_coordinate`.
  explicit CoordinateRounding(double largest_coordinate)
      : shift_(largest_coordinate > 0 ? std::ldexp(1.5, std::ilogb(largest_coordinate) + 13) : 0) {}
  constexpr double operator()(double x) const { return (x + shift_) - shift_; }

 private:
  double shift_ = 0;  ///< doubles near it are as far apart as rounded coordinates
};

/// Index of entry (i, j) in the upper triangle of a symmetric d x d matrix, row by row.
constexpr int upper_index(int i, int j, int d) {
  const int row = i < j ? i : j, column = i < j ? j : i;
  return row * d - row * (row - 1) / 2 + column - row;
}

/// Number of entries of the upper triangle of a d x d matrix.
constexpr int upper_size(int d) { return d * (d + 1) / 2; }

/// Computes K v for a symmetric tensor K, [upper_size(d)].
template <int d, class T>
constexpr void multiply_tensor(const T* k, const T* v, T* to) {
  for (int i = 0; i < d; ++i) {
    to[i] = k[upper_index(i, 0, d)] * v[0];
    for (int j = 1; j < d; ++j) to[i] += k[upper_index(i, j, d)] * v[j];
  }
}

/// Computes C K C' for a symmetric tensor K, [upper_size(d)], and a matrix C, row by row.
template <int d, class T>
constexpr void transform_tensor(const T* c, const T* k, T* to) {
  for (int a = 0; a < d; ++a) {
    T row[d];
    multiply_tensor<d>(k, c + a * d, row);
    for (int b = a; b < d; ++b) {
      T sum = row[0] * c[b * d];
      for (int j = 1; j < d; ++j) sum += row[j] * c[b * d + j];
      *to++ = sum;
    }
  }
}

/// Diffusion at a point: a multiple of the identity by its first entry, or the upper triangle of a symmetric tensor row
/// by row (2D: xx xy yy; 3D: xx xy xz yy yz zz). The form tells which.
struct DiffusionValue {
  static constexpr int most_entries = upper_size(3);

  DiffusionValue() = default;
  constexpr DiffusionValue(double multiple) : entries{multiple} {}  // NOLINT: a number is a diffusion
  bool operator==(const DiffusionValue&) const = default;

  std::array<double, most_entries> entries{};
};

/// The diffusion kappa of a form on the cells of a mesh.
struct Diffusion {
  int entries = 1;       ///< numbers at a point: 1 for a multiple of the identity, upper_size(d) for a symmetric tensor
  Coefficient evaluate;  ///< values are [points][entries]
  /// The value of a cell if it is known to be constant there, which saves evaluating it at every point. May be empty.
  /// Called from several threads concurrently.
  std::function<std::optional<DiffusionValue>(std::int32_t cell)> constant;
  /// Programs by region of the mesh, for evaluation on a GPU; empty if it is not given by programs, is constant in each
  /// region, or is a tensor.
  std::vector<PointProgram> by_region;
  CoordinateRounding rounding;  ///< of the points of these programs; `evaluate` rounds its own

  bool is_tensor() const { return entries > 1; }
};

/// Diffusion along an axis, e' kappa e, from its values at a point, [entries].
constexpr double along_axis(const double* values, int entries, int axis) {
  return entries == 1 ? values[0] : values[upper_index(axis, axis, entries == upper_size(2) ? 2 : 3)];
}

/// Replaces a gradient, [3], by kappa times it, for the values of kappa at a point, [entries].
constexpr void multiply_diffusion(const double* values, int entries, double* gradient) {
  double flux[3] = {values[0] * gradient[0], values[0] * gradient[1], values[0] * gradient[2]};
  if (entries == upper_size(2)) multiply_tensor<2>(values, gradient, flux);
  if (entries == upper_size(3)) multiply_tensor<3>(values, gradient, flux);
  for (int i = 0; i < 3; ++i) gradient[i] = flux[i];
}

/// Least eigenvalue of the diffusion at a point, whose values are [entries]: at most 0 or NaN if it is not positive
/// definite.
double least_eigenvalue(const double* values, int entries);

}  // namespace femcg::operators
