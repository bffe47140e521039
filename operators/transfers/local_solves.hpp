#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/backend/multi_vector.hpp"

namespace femcg::operators {

/// Dense inverses A_b^-1 of small, possibly overlapping diagonal blocks of a matrix. On the host.
struct BlockInverses {
  std::vector<std::int32_t> begin{0};  ///< [blocks + 1]: begin of each block's unknowns
  std::vector<std::int32_t> unknowns;
  std::vector<std::int64_t> values_begin{0};  ///< [blocks + 1]
  std::vector<float> values;                  ///< per block [unknowns][unknowns]

  std::int32_t count() const { return static_cast<std::int32_t>(begin.size()) - 1; }
};

/// The positions of each unknown in BlockInverses::unknowns, ascending, so that sums over blocks have a fixed order.
struct PlacesInBlocks {
  explicit PlacesInBlocks(const BlockInverses& blocks);

  std::vector<std::int32_t> unknowns;  ///< of all blocks, each once
  std::vector<std::int32_t> begin;     ///< [unknowns + 1]
  std::vector<std::int32_t> places;
};

/// The blockwise part of a smoother's step: B = sum_b R_b' A_b^-1 R_b (additive Schwarz; block Jacobi if blocks do not
/// overlap).
template <std::floating_point T>
class LocalSolves {
 public:
  virtual ~LocalSolves() = default;
  LocalSolves(const LocalSolves&) = delete;
  LocalSolves& operator=(const LocalSolves&) = delete;

  /// d += factor B (r - q); x += factor B (r - q). q may be null.
  void add(T factor, const Vector<T>& r, const Vector<T>* q, Vector<T>& d, Vector<T>& x) const {
    add_rows(factor, r, q, 1, d, x);
  }
  void add(T factor, const MultiVector<T>& r, const MultiVector<T>* q, MultiVector<T>& d, MultiVector<T>& x) const {
    add_rows(factor, r.entries(), q != nullptr ? &q->entries() : nullptr, r.stride(), d.entries(), x.entries());
  }
  virtual std::int64_t stored_bytes() const = 0;
  virtual std::int64_t count() const = 0;

 protected:
  LocalSolves() = default;

 private:
  /// The same for rows of `stride` values.
  virtual void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                        Vector<T>& x) const = 0;
};

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_local_solves(BlockInverses inverses, Device device);
template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_cuda_local_solves(const BlockInverses& inverses);

}  // namespace femcg::operators
