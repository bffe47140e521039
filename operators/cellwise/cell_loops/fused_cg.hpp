#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Vector updates of a CG iteration before its product v = A p, row by row, fused into the product's own reads and
/// writes (Kronbichler et al. 2022):
///   x += along p + back M^-1 r, unless x waits;  r -= step v;  p = keep M^-1 r + beta p.
/// M is diagonal: `inverse_diagonal` is M^-1, or null for M = I. On the host.
template <std::floating_point T>
struct FusedStep {
  T along = 0, back = 0;
  T step = 0;
  T keep = 0, beta = 1;
  const float* inverse_diagonal = nullptr;
  T *x = nullptr, *r = nullptr, *p = nullptr, *v = nullptr;

  bool moves_x() const { return along != 0 || back != 0; }
};

/// Sums of an iteration after its product, with z = M^-1 r.
struct FusedSums {
  static constexpr int count = 7;
  double pv = 0, rz = 0, rr = 0, zv = 0, rv = 0, vz = 0, vv = 0;  ///< vz: v'M^-1 v
};

/// True if fusing is expected to be faster: vectors that fit in caches gain nothing.
inline bool fusing_pays(std::int64_t rows, std::int64_t word_bytes) {
  constexpr std::int64_t in_caches = 8 << 20, vectors = 4;
  return vectors * rows * word_bytes > in_caches;
}

/// The vector updates without a product, on all rows.
template <std::floating_point T>
void merged_passes(const FusedStep<T>& of, std::int64_t rows);

/// Vector updates fused into a sweep over patches of cells (PatchBatches).
template <std::floating_point T>
struct FusedVectors {
  static constexpr int count = 1, sums = FusedSums::count;
  const FusedStep<T>& of;

  void begin(std::span<const std::int32_t> rows) const;
  void load(int, std::int64_t first, std::int64_t rows, T* to) const;
  T value(int, std::int64_t row) const { return of.p[row]; }
  void store(int, std::int64_t first, std::int64_t rows, const T* p, const T* made, double* sums_of_rows) const;
  void put(int, std::span<const std::int32_t> rows, const T* made, double* sums_of_rows) const;
};

extern template struct FusedVectors<double>;
extern template struct FusedVectors<float>;

}  // namespace femcg::operators
