#include "operators/distributed/distributed_multi_vectors.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "operators/backend/passes/counted_kernels.hpp"

namespace femcg::operators {

namespace {

/// A view of some rows of a multi-vector.
template <class T>
MultiVector<T> rows_of(const MultiVector<T>& columns, std::int64_t first, std::int64_t count) {
  Vector<T>& entries = const_cast<Vector<T>&>(columns.entries());  // the view is returned as const
  return MultiVector<T>(part_of(entries, first * columns.stride(), count * columns.stride()), columns.count());
}

}  // namespace

template <std::floating_point T>
DistributedMultiVectors<T>::DistributedMultiVectors(const DistributedVectors<T>& vectors, const IndexMap& map,
                                                    Device device)
    : vectors_(&vectors),
      map_(&map),
      on_gpu_(device == Device::host ? nullptr
                                     : make_cuda_multi_vector_kernels<T>(
                                           map.owned, vectors.gpus_sum() ? &vectors.gpu_sums().memories() : nullptr)),
      all_(on_gpu_ ? *on_gpu_ : multi_vector_kernels<T>(Device::host)) {}

/// Calls pass(first, count, sums) on the owned rows and, with sums that are discarded, on the ghosts; on a GPU once on
/// all rows. Then adds up r'M^-1 r and r'r, which are contiguous, over the processes.
template <std::floating_point T>
template <class Pass>
void DistributedMultiVectors<T>::on_both(CgMultiScalars& sums, const Pass& pass) const {
  const int stride = sums.rz.stride();
  pass(std::int64_t{0}, std::int64_t{on_gpu_ ? map_->size() : map_->owned}, sums);
  if (!on_gpu_ && map_->ghosts() > 0) {
    Vector<double> numbers(CgMultiScalars::count * std::int64_t{stride});
    CgMultiScalars unused(numbers, 0, sums.running);
    pass(std::int64_t{map_->owned}, std::int64_t{map_->ghosts()}, unused);
  }
  add_up(sums.rz.data(), 2 * stride);
}

/// Replaces sums over this process by sums over all, unless the GPUs have done so.
template <std::floating_point T>
void DistributedMultiVectors<T>::add_up(double* sums, int count) const {
  if (vectors_->gpus_sum()) return;
  if (!on_gpu_) return vectors_->sum_with_request(std::span(sums, static_cast<std::size_t>(count)));
  std::vector<double> numbers(static_cast<std::size_t>(count));
  copy_bytes(sums, Device::cuda, numbers.data(), Device::host, count * std::int64_t{sizeof(double)});
  vectors_->sum_with_request(numbers);
  copy_bytes(numbers.data(), Device::host, sums, Device::cuda, count * std::int64_t{sizeof(double)});
}

template <std::floating_point T>
void DistributedMultiVectors<T>::start(const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal,
                                       MultiVector<T>& p, CgMultiScalars& first) const {
  on_both(first, [&](std::int64_t at, std::int64_t count, CgMultiScalars& sums) {
    MultiVector<T> p_rows = rows_of(p, at, count);
    all_.start(rows_of(r, at, count), DiagonalPart(inverse_diagonal, at, count).get(), p_rows, sums);
  });
}

template <std::floating_point T>
void DistributedMultiVectors<T>::update(const CgMultiScalars& now, const MultiVector<T>& q,
                                        const InverseDiagonal* inverse_diagonal, MultiVector<T>& r,
                                        CgMultiScalars& next) const {
  on_both(next, [&](std::int64_t at, std::int64_t count, CgMultiScalars& sums) {
    MultiVector<T> r_rows = rows_of(r, at, count);
    all_.update(now, rows_of(q, at, count), DiagonalPart(inverse_diagonal, at, count).get(), r_rows, sums);
  });
}

template <std::floating_point T>
void DistributedMultiVectors<T>::dot(const MultiVector<T>& a, const MultiVector<T>& b, MultiScalar& result) const {
  all_.dot(rows_of(a, 0, map_->owned), rows_of(b, 0, map_->owned), result);
  add_up(result.data(), result.stride());
}

template <std::floating_point T>
SmallMatrix DistributedBlocks<T>::product(const MultiVector<T>& a, const MultiVector<T>& b) {
  SmallMatrix sums = all_->product(rows_of(a, 0, map_->owned), rows_of(b, 0, map_->owned));
  vectors_->sum_with_request(sums.entries());
  return sums;
}

template <std::floating_point T>
BlockNorms DistributedBlocks<T>::update(const MultiVector<T>& q, const SmallMatrix& step,
                                        const InverseDiagonal* inverse_diagonal, MultiVector<T>& w) {
  const auto update_rows = [&](std::int64_t first, std::int64_t count) {
    MultiVector<T> w_rows = rows_of(w, first, count);
    return all_->update(rows_of(q, first, count), step, DiagonalPart(inverse_diagonal, first, count).get(), w_rows);
  };
  BlockNorms norms = update_rows(0, map_->owned);
  if (map_->ghosts() > 0) update_rows(map_->owned, map_->ghosts());  // their norms are discarded
  const auto plain = norms.plain.entries(), preconditioned = norms.preconditioned.entries();
  std::vector<double> numbers(plain.begin(), plain.end());
  numbers.insert(numbers.end(), preconditioned.begin(), preconditioned.end());
  vectors_->sum_with_request(numbers);
  std::copy_n(numbers.begin(), plain.size(), plain.begin());
  std::copy_n(numbers.begin() + std::ssize(plain), preconditioned.size(), preconditioned.begin());
  return norms;
}

template class DistributedMultiVectors<double>;
template class DistributedMultiVectors<float>;
template class DistributedBlocks<double>;
template class DistributedBlocks<float>;

}  // namespace femcg::operators
