#include "operators/stored/sell/sell_matrix.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Sorts the whole chunks of [first, last) by their first rows, then those of each run by length.
template <class Length>
void sort_chunks(std::int32_t* first, std::int32_t* last, std::int64_t chunk_rows, const Length& length) {
  const std::vector<std::int32_t> from(first, last);
  std::vector<std::int32_t> begins;  // of chunks, in `from`
  for (std::int64_t at = 0; at + chunk_rows <= last - first; at += chunk_rows) begins.push_back(at);
  std::ranges::sort(begins, {}, [&](std::int32_t begin) { return from[begin]; });
  const std::int64_t chunks = std::ssize(begins), chunks_per_run = rows_per_run / chunk_rows;
  for (std::int64_t run = 0; run < chunks; run += chunks_per_run)
    std::stable_sort(begins.begin() + run, begins.begin() + std::min(chunks, run + chunks_per_run),
                     [&](std::int32_t a, std::int32_t b) { return length(from[a]) > length(from[b]); });
  for (const std::int32_t begin : begins) first = std::copy_n(from.begin() + begin, chunk_rows, first);
}

template <std::floating_point T>
void sort_rows(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma, Vector<std::int32_t>& places) {
  places = Vector<std::int32_t>(matrix.rows);
  std::iota(places.data(), places.data() + matrix.rows, 0);
  const auto length = [&](std::int32_t row) { return matrix.row_offsets[row + 1] - matrix.row_offsets[row]; };
  const auto longer = [&](std::int32_t a, std::int32_t b) { return length(a) > length(b); };
  const std::int64_t windows = (matrix.rows + sigma - 1) / sigma;
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(static) if (windows > 1)
  for (std::int64_t window = 0; window < windows; ++window)
    failure.guard(window, [&] {
      std::int32_t* const first = places.data() + window * sigma;
      std::int32_t* const last = places.data() + std::min<std::int64_t>(matrix.rows, (window + 1) * sigma);
      std::stable_sort(first, last, longer);
      if (windows > 1) sort_chunks(first, last, chunk_rows, length);
    });
  failure.rethrow();
}

template <std::floating_point T>
void set_offsets(const CsrMatrix<T>& matrix, SellMatrix<T>& to) {
  to.offsets = Vector<std::int64_t>(to.chunks() + 1);
  to.offsets[0] = 0;
#pragma omp parallel for schedule(static)
  for (std::int64_t chunk = 0; chunk < to.chunks(); ++chunk) {
    std::int64_t longest = 0;
    for (std::int64_t position = chunk * to.chunk_rows;
         position < std::min<std::int64_t>(matrix.rows, (chunk + 1) * to.chunk_rows); ++position) {
      const std::int64_t row = to.row_at(position);
      longest = std::max(longest, matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
    }
    to.offsets[chunk + 1] = longest * to.chunk_rows;
  }
  std::partial_sum(to.offsets.data(), to.offsets.data() + to.offsets.size(), to.offsets.data());
}

}  // namespace

template <std::floating_point T>
SellMatrix<T> lists_of_sell(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma) {
  SellMatrix<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.chunk_rows = chunk_rows;
  to.sigma = sigma;
  if (sigma > 1) sort_rows(matrix, chunk_rows, sigma, to.places);
  set_offsets(matrix, to);
  to.entries = to.offsets[to.chunks()];
  return to;
}

template <std::floating_point T>
SellMatrix<T> to_sell(const CsrMatrix<T>& matrix, std::int64_t chunk_rows, std::int64_t sigma) {
  SellMatrix<T> to = lists_of_sell(matrix, chunk_rows, sigma);
  allocate_on(to, Device::host);
  const Entries<T> source = entries_of(matrix);
  to.move_entries(source, [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
    move_on_host(threads, map, source, columns, values);
  });
  return to;
}

template <std::floating_point T>
Vector<T> diagonal_at_positions(const Vector<T>& of_rows, const Vector<std::int32_t>& places) {
  Vector<T> diagonal(of_rows.size());
  gather(of_rows, places, diagonal);
  return diagonal;
}

Vector<std::int32_t> positions_of(const Vector<std::int32_t>& rows) {
  Vector<std::int32_t> positions(rows.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t position = 0; position < rows.size(); ++position)
    positions[rows[position]] = static_cast<std::int32_t>(position);
  return positions;
}

template <std::floating_point T>
void enter_own_ordering(SellMatrix<T>& a) {
  const Vector<std::int32_t> positions = positions_of(a.places);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < a.columns.size(); ++k) a.columns[k] = positions[a.columns[k]];
  a.ordering = std::move(a.places);
}

template Vector<double> diagonal_at_positions(const Vector<double>&, const Vector<std::int32_t>&);
template Vector<float> diagonal_at_positions(const Vector<float>&, const Vector<std::int32_t>&);
template void enter_own_ordering(SellMatrix<double>&);
template void enter_own_ordering(SellMatrix<float>&);
template SellMatrix<double> lists_of_sell(const CsrMatrix<double>&, std::int64_t, std::int64_t);
template SellMatrix<float> lists_of_sell(const CsrMatrix<float>&, std::int64_t, std::int64_t);
template SellMatrix<double> to_sell(const CsrMatrix<double>&, std::int64_t, std::int64_t);
template SellMatrix<float> to_sell(const CsrMatrix<float>&, std::int64_t, std::int64_t);

}  // namespace femcg::operators
