#include "operators/distributed/distributed_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "operators/backend/passes/counted_operations.hpp"

namespace femcg::operators {

namespace {

/// Some rows of columns that are kept elsewhere.
template <class T>
Columns<T> rows_of(const Columns<T>& columns, std::int64_t first, std::int64_t count) {
  Vector<T>& entries = const_cast<Vector<T>&>(columns.entries());  // const as a whole
  return Columns<T>(part_of(entries, first * columns.stride(), count * columns.stride()), columns.count());
}

}  // namespace

template <std::floating_point T>
DistributedColumns<T>::DistributedColumns(const DistributedVectors<T>& vectors, const IndexMap& map, Device device)
    : vectors_(&vectors),
      map_(&map),
      on_gpu_(device == Device::host ? nullptr
                                     : make_cuda_column_operations<T>(
                                           map.owned, vectors.gpus_sum() ? &vectors.gpu_sums().memories() : nullptr)),
      all_(on_gpu_ ? *on_gpu_ : column_operations<T>(Device::host)) {}

/// Calls pass(first, count, sums) on the rows that are owned, and on the ghosts, whose sums nobody asks for; on a GPU
/// on all at once. Then adds up r'M^-1 r and r'r, which stand one behind the other.
template <std::floating_point T>
template <class Pass>
void DistributedColumns<T>::on_both(CgColumnScalars& sums, const Pass& pass) const {
  const int stride = sums.rz.stride();
  pass(std::int64_t{0}, std::int64_t{on_gpu_ ? map_->size() : map_->owned}, sums);
  if (!on_gpu_ && map_->ghosts() > 0) {
    Vector<double> numbers(CgColumnScalars::count * std::int64_t{stride});
    CgColumnScalars unused(numbers, 0, sums.running);
    pass(std::int64_t{map_->owned}, std::int64_t{map_->ghosts()}, unused);
  }
  add_up(sums.rz.data(), 2 * stride);
}

/// Sums of this process become those of all, where the GPUs have not made them so.
template <std::floating_point T>
void DistributedColumns<T>::add_up(double* sums, int count) const {
  if (vectors_->gpus_sum()) return;
  if (!on_gpu_) return vectors_->sum_with_request(std::span(sums, static_cast<std::size_t>(count)));
  std::vector<double> numbers(static_cast<std::size_t>(count));
  copy_bytes(sums, Device::cuda, numbers.data(), Device::host, count * std::int64_t{sizeof(double)});
  vectors_->sum_with_request(numbers);
  copy_bytes(numbers.data(), Device::host, sums, Device::cuda, count * std::int64_t{sizeof(double)});
}

template <std::floating_point T>
void DistributedColumns<T>::start(const Columns<T>& r, const InverseDiagonal* inverse_diagonal, Columns<T>& p,
                                  CgColumnScalars& first) const {
  on_both(first, [&](std::int64_t at, std::int64_t count, CgColumnScalars& sums) {
    Columns<T> p_rows = rows_of(p, at, count);
    all_.start(rows_of(r, at, count), DiagonalPart(inverse_diagonal, at, count).get(), p_rows, sums);
  });
}

template <std::floating_point T>
void DistributedColumns<T>::update(const CgColumnScalars& now, const Columns<T>& q,
                                   const InverseDiagonal* inverse_diagonal, Columns<T>& r,
                                   CgColumnScalars& next) const {
  on_both(next, [&](std::int64_t at, std::int64_t count, CgColumnScalars& sums) {
    Columns<T> r_rows = rows_of(r, at, count);
    all_.update(now, rows_of(q, at, count), DiagonalPart(inverse_diagonal, at, count).get(), r_rows, sums);
  });
}

template <std::floating_point T>
void DistributedColumns<T>::dot(const Columns<T>& a, const Columns<T>& b, ColumnScalars& result) const {
  all_.dot(rows_of(a, 0, map_->owned), rows_of(b, 0, map_->owned), result);
  add_up(result.data(), result.stride());
}

template <std::floating_point T>
SmallMatrix DistributedBlocks<T>::product(const Columns<T>& a, const Columns<T>& b) {
  SmallMatrix sums = all_->product(rows_of(a, 0, map_->owned), rows_of(b, 0, map_->owned));
  vectors_->sum_with_request(sums.entries());
  return sums;
}

template <std::floating_point T>
BlockNorms DistributedBlocks<T>::update(const Columns<T>& q, const SmallMatrix& step,
                                        const InverseDiagonal* inverse_diagonal, Columns<T>& w) {
  const auto update_rows = [&](std::int64_t first, std::int64_t count) {
    Columns<T> w_rows = rows_of(w, first, count);
    return all_->update(rows_of(q, first, count), step, DiagonalPart(inverse_diagonal, first, count).get(), w_rows);
  };
  BlockNorms norms = update_rows(0, map_->owned);
  if (map_->ghosts() > 0) update_rows(map_->owned, map_->ghosts());  // whose sums nobody asks for
  const auto plain = norms.plain.entries(), preconditioned = norms.preconditioned.entries();
  std::vector<double> numbers(plain.begin(), plain.end());
  numbers.insert(numbers.end(), preconditioned.begin(), preconditioned.end());
  vectors_->sum_with_request(numbers);
  std::copy_n(numbers.begin(), plain.size(), plain.begin());
  std::copy_n(numbers.begin() + std::ssize(plain), preconditioned.size(), preconditioned.begin());
  return norms;
}

template class DistributedColumns<double>;
template class DistributedColumns<float>;
template class DistributedBlocks<double>;
template class DistributedBlocks<float>;

}  // namespace femcg::operators
