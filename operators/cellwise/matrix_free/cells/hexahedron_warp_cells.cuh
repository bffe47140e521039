#pragma once

// Products of a thread block with the hexahedra of degree 3 of one patch in double precision, one warp a cell, by
// matrix instructions; shared memory has x and y only. With a matrix B of rows 2 a + f, where f = 0 stands for one of
// two matrices of a line and f = 1 for the other, one instruction applies both to eight lines of nodes. Its result for
// lines along x is distributed over the lanes as the next instruction needs it for lines along y (small_matrices.cuh),
// so that no data move between lanes. Along z a lane has whole lines. Lane l has
//   u(x, y, z)      x = l % 4, y = l / 8, z = 2 g + l / 4 % 2   g = 0, 1
//   v_f(a, y, z)    a = l / 8, f = l / 4 % 2, y = l % 4         all z     v = B u along x
//   w_fh(a, b, z)   a = l % 4, b = l / 8, h = l / 4 % 2         all z, f  w = B v along y
// Values of lane l ^ 4, those with the other h, are exchanged by shuffles.

#include "operators/backend/cuda/small_matrices.cuh"
#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_cells.cuh"

namespace femcg::operators::cuda {

/// Position of a thread in its warp.
struct WarpLane {
  static __device__ int number() { return static_cast<int>(threadIdx.x) % threads_per_warp; }
  static __device__ int x() { return number() % 4; }
  static __device__ int y() { return number() / 8; }
  static __device__ int h() { return number() / 4 % 2; }
  /// The value of the lane with the other h.
  static __device__ double other(double value) { return __shfl_xor_sync(all_lanes, value, 4); }

  /// Computes w from u and a lane's entry of B.
  static __device__ void along_x_and_y(double of_b, const double (&u)[2], double (&w)[4][2]) {
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      double v[2] = {0, 0};
      multiply_add(of_b, u[g], v);
#pragma unroll
      for (int z = 0; z < 2; ++z) {
        w[2 * g + z][0] = w[2 * g + z][1] = 0;
        multiply_add(of_b, v[z], w[2 * g + z]);
      }
    }
  }
};

/// K_e of box_cells.cuh, B = [M; S]: y_e = S c_z w_00 + M (c_x w_10 + c_y w_01) along z. Lanes with h = 1 compute the
/// first term, those with h = 0 the second, and each lane then has the sum at the z of its u.
struct WarpBox {
  static constexpr int n = 4;
  double of_b, along_z[2][n];  ///< rows 0 and 1, with the lane's z first; the other two are these reversed
  double own, other;           ///< c_x and c_y, or 0 and c_z: factors of w_1h, and of the other lane's w_0h

  __device__ explicit WarpBox(const LineMatrices<double, n>& of) : own(0), other(0) {
    const auto& m = WarpLane::h() == 0 ? of.mass : of.stiffness;
    of_b = m[WarpLane::y()][WarpLane::x()];
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int k = 0; k < n; ++k) along_z[row][k] = m[row ^ WarpLane::h()][k];
  }
  /// Takes a cell whose c_x, c_y and c_z are in the lanes 0, 1 and 2.
  __device__ void take(double along) {
    own = __shfl_sync(all_lanes, along, 0);
    other = __shfl_sync(all_lanes, along, 1 + WarpLane::h());
    if (WarpLane::h() == 1) own = 0;
  }
  __device__ void multiply(double (&u)[2]) const {
    double w[n][2], line[n];
    WarpLane::along_x_and_y(of_b, u, w);
#pragma unroll
    for (int z = 0; z < n; ++z) line[z] = own * w[z][1] + other * WarpLane::other(w[z][0]);
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      double sums[2] = {0, 0};  // at a z of the lane, and at one of the other's
#pragma unroll
      for (int k = 0; k < n; ++k)
#pragma unroll
        for (int row = 0; row < 2; ++row) sums[row] += along_z[g ^ row][k] * line[g == 0 ? k : n - 1 - k];
      u[g] = sums[0] + WarpLane::other(sums[1]);
    }
  }
};

/// Sum factorisation with B = [P; G], P the basis at the Gauss points and G its derivatives there. Along z the gradient
/// is P w_10, P w_01 and G w_00. Lanes with h = 0 compute the first and the last, those with h = 1 the second; after an
/// exchange each has all three at its two points, z = h and 3 - h. The transposed matrices are applied in reverse,
/// first along z.
struct WarpFactors {
  static constexpr int n = 4, points = n * n * n;
  double of_b, back[2];  ///< back: of P' and G', each of whose rows an instruction takes twice
  double p[2][n];        ///< rows h and 1 - h of P; rows 3 - h and 2 + h are these reversed
  double m[2][n], sign;  ///< the same of G (h = 0) or P (h = 1); reversed rows times the sign

  __device__ explicit WarpFactors(const LineTables<double, n>& of) : sign(WarpLane::h() == 0 ? -1 : 1) {
    const auto derivative = [&](int q, int a) {
      double sum = 0;
#pragma unroll
      for (int k = 0; k < n; ++k) sum += of.differentiate[q][k] * of.interpolate[k][a];
      return sum;
    };
    const int h = WarpLane::h(), x = WarpLane::x(), y = WarpLane::y();
    of_b = h == 0 ? of.interpolate[y][x] : derivative(y, x);
    back[0] = of.interpolate[x][y];
    back[1] = derivative(x, y);
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int k = 0; k < n; ++k) {
        p[row][k] = of.interpolate[row ^ h][k];
        m[row][k] = h == 0 ? derivative(row ^ h, k) : p[row][k];
      }
  }
  /// `factors`: of the cell's points, in the layout of load_factor.
  __device__ void multiply(const double* factors, double (&u)[2]) const {
    const bool second = WarpLane::h() == 1;
    double factor[2][6];
#pragma unroll
    for (int j = 0; j < 2; ++j)
      load_factor(factors, points,
                  ((j == 0 ? WarpLane::h() : n - 1 - WarpLane::h()) * n + WarpLane::y()) * n + WarpLane::x(),
                  factor[j]);
    double w[n][2];
    WarpLane::along_x_and_y(of_b, u, w);
    double by_p[2][2] = {}, by_m[2][2] = {};  // at the lane's points, and at the other's
#pragma unroll
    for (int k = 0; k < n; ++k)
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          by_p[row][j] += p[row][k] * w[j == 0 ? k : n - 1 - k][1];
          by_m[row][j] += m[row][k] * w[j == 0 ? k : n - 1 - k][0];
        }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const double side = j == 0 ? 1 : sign;
      by_m[0][j] *= side;
      const double others_p = WarpLane::other(by_p[1][j]), others_m = WarpLane::other(side * by_m[1][j]);
      double gradient[3] = {second ? others_p : by_p[0][j], second ? by_m[0][j] : others_m,
                            second ? others_m : by_m[0][j]};
      symmetric_times(factor[j], 1.0, gradient);
      by_p[1][j] = WarpLane::other(gradient[0]);
      by_m[1][j] = side * WarpLane::other(second ? gradient[2] : gradient[1]);
      by_p[0][j] = gradient[0];
      by_m[0][j] = side * (second ? gradient[1] : gradient[2]);
      if (second) by_p[0][j] = by_p[1][j] = 0;
    }
    double along_x[n][2];  // of y's w_00 and w_10 together, and of w_01
#pragma unroll
    for (int k = 0; k < n; ++k) {
      double of_p = 0, of_m = 0;
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          of_p += p[row][j == 0 ? k : n - 1 - k] * by_p[row][j];
          of_m += m[row][j == 0 ? k : n - 1 - k] * by_m[row][j];
        }
      along_x[k][0] = along_x[k][1] = 0;
      multiply_add(back[0], of_m, along_x[k]);
      multiply_add(back[1], of_p, along_x[k]);
    }
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      double sums[2] = {0, 0};  // at z = 2 g and 2 g + 1
#pragma unroll
      for (int f = 0; f < 2; ++f) multiply_add(back[f], second ? along_x[2 * g + 1][f] : along_x[2 * g][f], sums);
      u[g] = second ? sums[1] : sums[0];
    }
  }
};

/// One warp per hexahedron, several cells at a time.
template <CellGeometry kind>
struct WarpHexahedra {
  static_assert(kind == CellGeometry::boxes || kind == CellGeometry::stored);
  static constexpr bool boxes = kind == CellGeometry::boxes;
  static constexpr int n = 4, dofs = n * n * n;
  static constexpr int threads = 128, warps = threads / threads_per_warp;
  /// Cells of a warp, and of the block, at a time; measured on an H200: they hide each other's latency.
  static constexpr int together = boxes ? 4 : 2, wave = together * warps;
  static_assert(wave <= threads_per_warp);
  static constexpr int blocks_per_multiprocessor = boxes ? blocks_of_box_warps : 3;
  static constexpr int scratch_size = 0, shared_ahead = 8;
  using Geometry = TensorGeometry<double, 3, n, kind>;

  TablesOf<double, n, kind> tables;
  Geometry geometry;

  /// A lane's data of its warp's cells of a wave, loaded while other cells are processed.
  struct Ahead {
    std::uint8_t colour;  ///< of the cell of the wave with the lane's number
    std::uint16_t place[together][2];
    std::uint16_t class_of[together];  ///< if c are stored per congruence class of boxes
    double along[together];            ///< otherwise: one of c
  };
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const { return ahead(all, patch, 0); }

  __device__ void operator()(const Patches& all, const CellPatch& patch, const double* x, double* y, double*,
                             const Ahead& first_ahead) const {
    std::conditional_t<boxes, WarpBox, WarpFactors> cell(tables);
    Ahead next = first_ahead;
    int current = -1;
    for (int first = 0; first < patch.cells; first += wave) {
      const Ahead now = next;
      double u[together][2];
#pragma unroll
      for (int j = 0; j < together; ++j)
#pragma unroll
        for (int g = 0; g < 2; ++g) u[j][g] = x[now.place[j][g]];
      next = ahead(all, patch, first + wave);
#pragma unroll
      for (int j = 0; j < together; ++j) {
        if constexpr (!boxes) {
          cell.multiply(geometry.line(nullptr, patch.first_slot + slot(patch, first, j), 0, 0), u[j]);
        } else {
          if (geometry.classes == nullptr) {
            cell.take(now.along[j]);
          } else if (now.class_of[j] != current) {  // adjacent cells are mostly of one class
            current = now.class_of[j];
            cell.take(load_along(current, true));
          }
          cell.multiply(u[j]);
        }
      }
      const int cells = min(patch.cells - first, wave);
      int mine[together];
#pragma unroll
      for (int j = 0; j < together; ++j) {
        const int colour = __shfl_sync(all_lanes, now.colour, number(j));
        mine[j] = number(j) < cells ? colour : -1;
      }
      const WaveColours colours(__shfl_sync(all_lanes, now.colour, 0), __shfl_sync(all_lanes, now.colour, cells - 1));
      colours.one_by_one([&](int colour) {
#pragma unroll
        for (int j = 0; j < together; ++j)
          if (mine[j] == colour) add_at([&](int g) { return now.place[j][g]; }, u[j], y, patch.unknown_count);
      });
    }
  }

 private:
  /// Number in the wave of a warp's j-th cell; its slot, or that of the patch's last cell if there is none.
  static __device__ int number(int j) { return j * warps + static_cast<int>(threadIdx.x) / threads_per_warp; }
  static __device__ int slot(const CellPatch& patch, int first, int j) {
    return min(first + number(j), patch.cells - 1);
  }

  /// Loads c_x, c_y and c_z of a box or a class of boxes to the lanes 0, 1 and 2.
  __device__ double load_along(std::int64_t of, bool once) const {
    return load_number(geometry.data + of * Geometry::words + min(WarpLane::number(), Geometry::words - 1), once);
  }
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch, int first) const {
    Ahead of;
    of.colour = all.colours[patch.first_slot + min(first + WarpLane::number(), patch.cells - 1)];
    const std::uint16_t* local_indices =
        all.local_indices + patch.first_slot * dofs + ((WarpLane::h() * n + WarpLane::y()) * n + WarpLane::x());
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const int cell = slot(patch, first, j);
#pragma unroll
      for (int g = 0; g < 2; ++g) of.place[j][g] = __ldcs(local_indices + cell * dofs + 2 * g * n * n);
      if constexpr (boxes) {
        if (geometry.classes != nullptr)
          of.class_of[j] = __ldcs(geometry.classes + patch.first_slot + cell);
        else
          of.along[j] = load_along(patch.first_slot + cell, false);
      }
    }
    return of;
  }
};

}  // namespace femcg::operators::cuda
