#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/backend/multi_vector.hpp"

namespace femcg::operators {

/// Dense inverses of small diagonal blocks of a matrix, of unknowns that no two blocks share. On the host.
struct BlockInverses {
  std::vector<std::int32_t> begin{0};  ///< [blocks + 1]: where a block's unknowns begin
  std::vector<std::int32_t> unknowns;
  std::vector<std::int64_t> values_begin{0};  ///< [blocks + 1]
  std::vector<float> values;                  ///< of each block [unknowns][unknowns]

  std::int32_t count() const { return static_cast<std::int32_t>(begin.size()) - 1; }
};

/// The part of a smoother's step that is made block by block (block Jacobi).
template <std::floating_point T>
class LocalSolves {
 public:
  virtual ~LocalSolves() = default;
  LocalSolves(const LocalSolves&) = delete;
  LocalSolves& operator=(const LocalSolves&) = delete;

  /// d += factor B (r - q) and x += factor B (r - q) with B the inverses of the blocks, 0 elsewhere. q may be null.
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
