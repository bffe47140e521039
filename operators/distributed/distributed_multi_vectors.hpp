#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/passes/block_cg_kernels.hpp"
#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/distributed/distributed_vectors.hpp"

namespace femcg::operators {

/// Vector kernels of CG on several systems over several processes, as DistributedVectors for one system: they run on
/// all entries, ghosts included, and sums run over the owned entries and then over the processes, on the GPUs if these
/// sum those of vectors.
template <std::floating_point T>
class DistributedMultiVectors final : public MultiVectorKernels<T> {
 public:
  /// Vectors and map must outlive it.
  DistributedMultiVectors(const DistributedVectors<T>& vectors, const IndexMap& map, Device device);

  void start(const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal, MultiVector<T>& p,
             CgMultiScalars& first) const override;
  void update(const CgMultiScalars& now, const MultiVector<T>& q, const InverseDiagonal* inverse_diagonal,
              MultiVector<T>& r, CgMultiScalars& next) const override;
  void dot(const MultiVector<T>& a, const MultiVector<T>& b, MultiScalar& result) const override;

  void direction(const CgMultiScalars& now, const CgMultiScalars& next, const MultiVector<T>& r,
                 const InverseDiagonal* inverse_diagonal, MultiVector<T>& p, MultiVector<T>& x) const override {
    all_.direction(now, next, r, inverse_diagonal, p, x);
  }
  const DelayedUpdate<MultiVector<T>>* delayed_update() const override { return all_.delayed_update(); }

 private:
  template <class Pass>
  void on_both(CgMultiScalars& sums, const Pass& pass) const;
  void add_up(double* sums, int count) const;

  const DistributedVectors<T>* vectors_;
  const IndexMap* map_;
  std::unique_ptr<MultiVectorKernels<T>> on_gpu_;  ///< null on the host
  const MultiVectorKernels<T>& all_;
};

/// The same for block CG; its sums go through the host.
template <std::floating_point T>
class DistributedBlocks final : public BlockCgKernels<T> {
 public:
  DistributedBlocks(const DistributedVectors<T>& vectors, const IndexMap& map, Device device)
      : vectors_(&vectors), map_(&map), all_(make_block_cg_kernels<T>(device)) {}

  SmallMatrix product(const MultiVector<T>& a, const MultiVector<T>& b) override;
  BlockNorms update(const MultiVector<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                    MultiVector<T>& w) override;
  void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const MultiVector<T>* z,
               MultiVector<T>& w, MultiVector<T>& s, MultiVector<T>& x) override {
    all_->advance(step, inverse_diagonal, z, w, s, x);
  }

 private:
  const DistributedVectors<T>* vectors_;
  const IndexMap* map_;
  std::unique_ptr<BlockCgKernels<T>> all_;
};

extern template class DistributedMultiVectors<double>;
extern template class DistributedMultiVectors<float>;
extern template class DistributedBlocks<double>;
extern template class DistributedBlocks<float>;

}  // namespace femcg::operators
