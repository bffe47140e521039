#include "operators/distributed/distributed_columns.hpp"

#include <cstddef>
#include <span>

namespace femcg::operators {

namespace {

/// Some rows of columns that are kept elsewhere.
template <class T>
Columns<T> rows_of(const Columns<T>& columns, std::int64_t first, std::int64_t count) {
  Vector<T>& entries = const_cast<Vector<T>&>(columns.entries());  // const as a whole
  return Columns<T>(part_of(entries, first * columns.stride(), count * columns.stride()), columns.count());
}

}  // namespace

/// Calls pass(first, count, sums) on the rows that are owned, and on the ghosts, whose sums nobody asks for; and adds
/// up r'M^-1 r and r'r, which stand one behind the other.
template <std::floating_point T>
template <class Pass>
void DistributedColumns<T>::on_both(CgColumnScalars& sums, const Pass& pass) const {
  const int stride = sums.rz.stride();
  pass(std::int64_t{0}, std::int64_t{map_->owned}, sums);
  if (map_->ghosts() > 0) {
    Vector<double> numbers(CgColumnScalars::count * std::int64_t{stride});
    CgColumnScalars unused(numbers, 0, stride);
    pass(std::int64_t{map_->owned}, std::int64_t{map_->ghosts()}, unused);
  }
  vectors_->sum_with_request(std::span(sums.rz.data(), static_cast<std::size_t>(2 * stride)));
}

template <std::floating_point T>
void DistributedColumns<T>::start(const Columns<T>& r, const Vector<T>* inverse_diagonal, Columns<T>& p,
                                  CgColumnScalars& first) const {
  on_both(first, [&](std::int64_t at, std::int64_t count, CgColumnScalars& sums) {
    Columns<T> p_rows = rows_of(p, at, count);
    all_.start(rows_of(r, at, count), DiagonalPart<T>(inverse_diagonal, at, count).get(), p_rows, sums);
  });
}

template <std::floating_point T>
void DistributedColumns<T>::update(const CgColumnScalars& now, const ColumnScalars& running, const Columns<T>& q,
                                   const Vector<T>* inverse_diagonal, Columns<T>& r, CgColumnScalars& next) const {
  on_both(next, [&](std::int64_t at, std::int64_t count, CgColumnScalars& sums) {
    Columns<T> r_rows = rows_of(r, at, count);
    all_.update(now, running, rows_of(q, at, count), DiagonalPart<T>(inverse_diagonal, at, count).get(), r_rows, sums);
  });
}

template <std::floating_point T>
void DistributedColumns<T>::dot(const Columns<T>& a, const Columns<T>& b, ColumnScalars& result) const {
  all_.dot(rows_of(a, 0, map_->owned), rows_of(b, 0, map_->owned), result);
  vectors_->sum_with_request(std::span(result.data(), static_cast<std::size_t>(result.stride())));
}

template class DistributedColumns<double>;
template class DistributedColumns<float>;

}  // namespace femcg::operators
