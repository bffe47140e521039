#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/backend/multi_vector.hpp"

namespace femcg::operators {

/// Dense inverses A_b^-1 of small diagonal blocks of a matrix, which may overlap. On the host.
struct BlockInverses {
  std::vector<std::int32_t> begin{0};  ///< [blocks + 1]: where a block's unknowns begin
  std::vector<std::int32_t> unknowns;
  std::vector<std::int64_t> values_begin{0};  ///< [blocks + 1]
  std::vector<float> values;                  ///< of each block [unknowns][unknowns]

  std::int32_t count() const { return static_cast<std::int32_t>(begin.size()) - 1; }
};

/// The places at which each unknown stands in BlockInverses::unknowns, ascending, so that sums over blocks have one
/// order.
struct PlacesInBlocks {
  explicit PlacesInBlocks(const BlockInverses& blocks);

  std::vector<std::int32_t> unknowns;  ///< of any block, each once
  std::vector<std::int32_t> begin;     ///< [unknowns + 1]
  std::vector<std::int32_t> places;
};

/// The part of a smoother's step that is made block by block: B = sum_b R_b' A_b^-1 R_b (additive Schwarz; block Jacobi
/// where no blocks overlap).
template <std::floating_point T>
class LocalSolves {
 public:
  virtual ~LocalSolves() = default;
  LocalSolves(const LocalSolves&) = delete;
  LocalSolves& operator=(const LocalSolves&) = delete;

  /// d += factor B (r - q) and x += factor B (r - q). q may be null.
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
  /// Rows of `stride` numbers each.
  virtual void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                        Vector<T>& x) const = 0;
};

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_local_solves(BlockInverses inverses, Device device);
template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_cuda_local_solves(const BlockInverses& inverses);

}  // namespace femcg::operators
