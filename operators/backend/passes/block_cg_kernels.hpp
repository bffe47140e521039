#pragma once

#include <cassert>
#include <concepts>
#include <memory>
#include <span>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/passes/inverse_diagonal.hpp"

namespace femcg::operators {

/// A dense matrix [stride][stride] on the host, for the columns of a MultiVector; row by row, 0 at first.
class SmallMatrix {
 public:
  explicit SmallMatrix(int stride) : stride_(stride), entries_(static_cast<std::size_t>(stride * stride), 0.0) {
    assert(stride <= MultiVector<double>::most);
  }
  int stride() const { return stride_; }
  double& operator()(int i, int j) { return entries_[static_cast<std::size_t>(i * stride_ + j)]; }
  double operator()(int i, int j) const { return entries_[static_cast<std::size_t>(i * stride_ + j)]; }
  std::span<double> entries() { return entries_; }
  double* data() { return entries_.data(); }
  const double* data() const { return entries_.data(); }

 private:
  int stride_;
  std::vector<double> entries_;
};

/// The matrices W'W and W'M^-1 W.
struct BlockNorms {
  SmallMatrix plain, preconditioned;
};

/// The small matrices of one update of block CG's vectors.
struct BlockStep {
  SmallMatrix correction;  ///< X += S correction
  SmallMatrix normaliser;  ///< W = W normaliser
  SmallMatrix direction;   ///< S = M^-1 W + S direction, with the new W
};

/// Vector kernels of block CG (solver/krylov/block_cg.hpp), whose scalars are small dense matrices. Products with these
/// are in the working precision, sums over rows in double precision, in a fixed order. As in MultiVectorKernels M is
/// diagonal: `inverse_diagonal` is M^-1, or null for M = I. All vectors have one stride.
template <std::floating_point T>
class BlockCgKernels {
 public:
  virtual ~BlockCgKernels() = default;

  /// Returns A'B.
  virtual SmallMatrix product(const MultiVector<T>& a, const MultiVector<T>& b) = 0;
  /// W -= Q step; returns the norms of the new W.
  virtual BlockNorms update(const MultiVector<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                            MultiVector<T>& w) = 0;
  /// Updates X, then W and S, as in BlockStep. If `z` is not null, it is M^-1 W of the old W.
  virtual void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const MultiVector<T>* z,
                       MultiVector<T>& w, MultiVector<T>& s, MultiVector<T>& x) = 0;
};

template <std::floating_point T>
std::unique_ptr<BlockCgKernels<T>> make_block_cg_kernels(Device device);

/// The version for the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
std::unique_ptr<BlockCgKernels<T>> make_cuda_block_cg_kernels();

}  // namespace femcg::operators
