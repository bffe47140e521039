#pragma once

#include <cassert>
#include <concepts>
#include <memory>
#include <span>
#include <vector>

#include "operators/backend/columns.hpp"
#include "operators/backend/passes/inverse_diagonal.hpp"

namespace femcg::operators {

/// A dense matrix for the columns of Columns, `stride` x `stride` numbers on the host, row by row; 0 at first.
class SmallMatrix {
 public:
  explicit SmallMatrix(int stride) : stride_(stride), entries_(static_cast<std::size_t>(stride * stride), 0.0) {
    assert(stride <= Columns<double>::most);
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

/// W'W and W'M^-1 W.
struct BlockNorms {
  SmallMatrix plain, preconditioned;
};

/// What a pass over the vectors of block CG makes of them.
struct BlockStep {
  SmallMatrix correction;  ///< X += S correction
  SmallMatrix normaliser;  ///< W = W normaliser
  SmallMatrix direction;   ///< S = M^-1 W + S direction, with the new W
};

/// The vector passes of block CG (solver/krylov/block_cg.hpp), whose scalars are small dense matrices. Products with
/// them are in the working precision, sums over rows in double precision, in a fixed order. As ColumnOperations: M is
/// diagonal, `inverse_diagonal` is M^-1, or null for M = I. All vectors have one stride.
template <std::floating_point T>
class BlockOperations {
 public:
  virtual ~BlockOperations() = default;

  /// A'B.
  virtual SmallMatrix product(const Columns<T>& a, const Columns<T>& b) = 0;
  /// W -= Q step; the products of the new W.
  virtual BlockNorms update(const Columns<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                            Columns<T>& w) = 0;
  /// X, then W and S, as BlockStep has it; where `z` is not null, it is M^-1 W of the old W.
  virtual void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const Columns<T>* z,
                       Columns<T>& w, Columns<T>& s, Columns<T>& x) = 0;
};

template <std::floating_point T>
std::unique_ptr<BlockOperations<T>> make_block_operations(Device device);

/// Those of the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
std::unique_ptr<BlockOperations<T>> make_cuda_block_operations();

}  // namespace femcg::operators
