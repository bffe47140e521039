#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/passes/block_operations.hpp"
#include "operators/backend/passes/column_operations.hpp"
#include "operators/distributed/distributed_vectors.hpp"

namespace femcg::operators {

/// The passes of CG on several systems, as DistributedVectors makes them for one: on all entries, ghosts included, with
/// sums over those that are owned, and then over the processes, by the GPUs where these make those of vectors.
template <std::floating_point T>
class DistributedColumns final : public ColumnOperations<T> {
 public:
  /// Vectors and map must outlive it.
  DistributedColumns(const DistributedVectors<T>& vectors, const IndexMap& map, Device device);

  void start(const Columns<T>& r, const InverseDiagonal* inverse_diagonal, Columns<T>& p,
             CgColumnScalars& first) const override;
  void update(const CgColumnScalars& now, const Columns<T>& q, const InverseDiagonal* inverse_diagonal, Columns<T>& r,
              CgColumnScalars& next) const override;
  void dot(const Columns<T>& a, const Columns<T>& b, ColumnScalars& result) const override;

  void direction(const CgColumnScalars& now, const CgColumnScalars& next, const Columns<T>& r,
                 const InverseDiagonal* inverse_diagonal, Columns<T>& p, Columns<T>& x) const override {
    all_.direction(now, next, r, inverse_diagonal, p, x);
  }
  const DeferredUpdate<Columns<T>>* deferred() const override { return all_.deferred(); }

 private:
  template <class Pass>
  void on_both(CgColumnScalars& sums, const Pass& pass) const;
  void add_up(double* sums, int count) const;

  const DistributedVectors<T>* vectors_;
  const IndexMap* map_;
  std::unique_ptr<ColumnOperations<T>> on_gpu_;  ///< null on the host
  const ColumnOperations<T>& all_;
};

/// The passes of block CG likewise, whose sums go through the host.
template <std::floating_point T>
class DistributedBlocks final : public BlockOperations<T> {
 public:
  DistributedBlocks(const DistributedVectors<T>& vectors, const IndexMap& map, Device device)
      : vectors_(&vectors), map_(&map), all_(make_block_operations<T>(device)) {}

  SmallMatrix product(const Columns<T>& a, const Columns<T>& b) override;
  BlockNorms update(const Columns<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                    Columns<T>& w) override;
  void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const Columns<T>* z, Columns<T>& w,
               Columns<T>& s, Columns<T>& x) override {
    all_->advance(step, inverse_diagonal, z, w, s, x);
  }

 private:
  const DistributedVectors<T>* vectors_;
  const IndexMap* map_;
  std::unique_ptr<BlockOperations<T>> all_;
};

extern template class DistributedColumns<double>;
extern template class DistributedColumns<float>;
extern template class DistributedBlocks<double>;
extern template class DistributedBlocks<float>;

}  // namespace femcg::operators
