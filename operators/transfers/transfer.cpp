#include "operators/transfers/transfer.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "mesh/base/counting.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/transfers/places_of_unknowns.hpp"

namespace femcg::operators {

PlacesOfUnknowns places_of_unknowns(const Vector<std::int32_t>& unknowns, std::int32_t count) {
  if (unknowns.size() > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("the coarse level has more than 2^31 - 1 nodes of cells; take fewer cells");
  PlacesOfUnknowns found{Vector<std::int64_t>(count + std::int64_t{1}), {}};
  fill(found.begin, std::int64_t{0});
  for_each_row(unknowns.size(), [&](std::int64_t place) {
    if (unknowns[place] >= 0) mesh::count_one(found.begin[unknowns[place]]);
  });
  mesh::sum_before(found.begin.span());
  found.places = Vector<std::int32_t>(found.begin[count]);
  Vector<std::int64_t> next = copied(found.begin, Device::host);
  for_each_row(unknowns.size(), [&](std::int64_t place) {
    if (unknowns[place] >= 0) found.places[mesh::count_one(next[unknowns[place]])] = static_cast<std::int32_t>(place);
  });
  for_each_row(count, [&](std::int64_t u) {  // threads came in any order
    std::sort(found.places.data() + found.begin[u], found.places.data() + found.begin[u + 1]);
  });
  return found;
}

RectangularMatrix transposed(const RectangularMatrix& matrix) {
  constexpr int parts = 8;  // of the rows, in parallel; what a part has goes behind that of the parts before
  const auto for_parts = [&](const auto& work) {
    for_shares([&](int share, int shares) {
      for (int part = parts * share / shares; part < parts * (share + 1) / shares; ++part)
        for (std::int64_t row = matrix.rows * std::int64_t{part} / parts;
             row < matrix.rows * (part + std::int64_t{1}) / parts; ++row)
          for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
            work(static_cast<std::int32_t>(row), k, std::int64_t{part} * matrix.columns + matrix.column[k]);
    });
  };
  RectangularMatrix result;
  result.rows = matrix.columns;
  result.columns = matrix.rows;
  Vector<std::int64_t> next(std::int64_t{parts} * matrix.columns);  // [parts][columns]
  fill(next, std::int64_t{0});
  for_parts([&](std::int32_t, std::int64_t, std::int64_t at) { ++next[at]; });
  result.row_offsets = Vector<std::int64_t>(matrix.columns + std::int64_t{1});
  std::int64_t sum = 0;
  for (std::int64_t column = 0; column < matrix.columns; ++column) {
    result.row_offsets[column] = sum;
    for (std::int64_t at = column; at < next.size(); at += matrix.columns) sum += std::exchange(next[at], sum);
  }
  result.row_offsets[matrix.columns] = sum;
  result.column = Vector<std::int32_t>(sum);
  result.value = Vector<double>(sum);
  for_parts([&](std::int32_t row, std::int64_t k, std::int64_t at) {
    const std::int64_t to = next[at]++;
    result.column[to] = row;
    result.value[to] = matrix.value[k];
  });
  return result;
}

namespace {

/// Calls work(n) with the number of a cell's coarse nodes, of degree 1 to 3, as a constant.
template <class Work>
void with_nodes(int nodes, const Work& work) {
  const auto is = [&]<int... n>(std::integer_sequence<int, n...>) {
    return ((nodes == n && (work(std::integral_constant<int, n>()), true)) || ...);
  };
  if (!is(std::integer_sequence<int, 3, 4, 6, 8, 9, 10, 16, 20, 27, 64>()))
    throw std::invalid_argument("no cell of degree 1 to 3 has so many nodes");
}

/// Numbers from one row of E to the next: zeros fill the last register.
constexpr int stride_of(int nodes) { return (nodes + 3) / 4 * 4; }

/// Cell by cell: x_i += sum_j E_ij e_j at the owned nodes i.
template <int n, std::floating_point T>
void prolong_cells(const CellTransferTables& of, const T* embedding, std::int64_t first, std::int64_t last,
                   const T* coarse, T* fine) {
  constexpr int stride = stride_of(n);
  for (std::int64_t cell = first; cell < last; ++cell) {
    T e[stride] = {};
    const std::int32_t* unknowns = of.coarse.data() + cell * n;
    for (int j = 0; j < n; ++j) e[j] = unknowns[j] >= 0 ? coarse[unknowns[j]] : T(0);
    for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) {
      const T* row = embedding + of.node[k] * stride;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int j = 0; j < stride; ++j) sum += row[j] * e[j];
      fine[of.owned[k]] += sum;
    }
  }
}

/// Cell by cell: sum_i E_ij (r - q)_i over the owned nodes i.
template <int n, std::floating_point T>
void restrict_cells(const CellTransferTables& of, const T* embedding, std::int64_t first, std::int64_t last, const T* r,
                    const T* q, T* contributions) {
  constexpr int stride = stride_of(n);
  for (std::int64_t cell = first; cell < last; ++cell) {
    T sums[stride] = {};
    for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) {
      const T* row = embedding + of.node[k] * stride;
      const T residual = r[of.owned[k]] - q[of.owned[k]];
#pragma omp simd
      for (int j = 0; j < stride; ++j) sums[j] += row[j] * residual;
    }
    std::copy_n(sums, n, contributions + cell * n);
  }
}

template <std::floating_point T>
class HostCellTransfer final : public Transfer<T> {
 public:
  explicit HostCellTransfer(CellTransferTables tables)
      : of_(std::move(tables)),
        gathered_(places_of_unknowns(of_.coarse, of_.coarse_size)),
        embedding_(of_.embedding.size() / of_.coarse_nodes * stride_of(of_.coarse_nodes)),
        contributions_(of_.coarse.size()) {
    fill(embedding_, T(0));
    for (std::int64_t k = 0; k < of_.embedding.size(); ++k)
      embedding_[k / of_.coarse_nodes * stride_of(of_.coarse_nodes) + k % of_.coarse_nodes] =
          static_cast<T>(of_.embedding[k]);
  }

  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    with_nodes(of_.coarse_nodes, [&](auto n) {
      for_row_blocks(of_.cells(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        prolong_cells<n>(of_, embedding_.data(), first, last, coarse.data(), fine.data());
      });
    });
  }

  /// Then the sums over the cells of each coarse unknown.
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    with_nodes(of_.coarse_nodes, [&](auto n) {
      for_row_blocks(of_.cells(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        restrict_cells<n>(of_, embedding_.data(), first, last, r.data(), q.data(), contributions_.data());
      });
    });
    for_each_row(of_.coarse_size, [&](std::int64_t unknown) {
      T sum = 0;
      for (std::int64_t k = gathered_.begin[unknown]; k < gathered_.begin[unknown + 1]; ++k)
        sum += contributions_[gathered_.places[k]];
      coarse[unknown] = sum;
    });
  }

  std::int64_t stored_bytes() const override {
    return of_.coarse.bytes() + of_.owned_begin.bytes() + of_.owned.bytes() + of_.node.bytes() +
           gathered_.begin.bytes() + gathered_.places.bytes() + contributions_.bytes() + embedding_.bytes();
  }

 private:
  CellTransferTables of_;
  PlacesOfUnknowns gathered_;
  Vector<T> embedding_;              ///< E, with zeros behind each row
  mutable Vector<T> contributions_;  ///< [cells][coarse nodes]
};

/// Rows of a matrix with values in T.
template <std::floating_point T>
struct Rows {
  explicit Rows(const RectangularMatrix& of)
      : count(of.rows),
        offsets(copied(of.row_offsets, Device::host)),
        columns(copied(of.column, Device::host)),
        values(of.value.size()) {
    copy(of.value, values);
  }
  std::int64_t bytes() const { return offsets.bytes() + columns.bytes() + values.bytes(); }
  /// work(row, sum_k value_k entry(column_k)).
  template <class Entry, class Work>
  void multiply(const Entry& entry, const Work& work) const {
    for_each_row(count, [&](std::int64_t row) {
      T sum = 0;
      for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * entry(columns[k]);
      work(row, sum);
    });
  }

  std::int32_t count;
  Vector<std::int64_t> offsets;
  Vector<std::int32_t> columns;
  Vector<T> values;
};

template <std::floating_point T>
class HostMatrixTransfer final : public Transfer<T> {
 public:
  explicit HostMatrixTransfer(const RectangularMatrix& prolongation)
      : prolongation_(prolongation), restriction_(transposed(prolongation)) {}

  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    prolongation_.multiply([&](std::int32_t j) { return coarse[j]; }, [&](std::int64_t i, T sum) { fine[i] += sum; });
  }
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    restriction_.multiply([&](std::int32_t i) { return r[i] - q[i]; }, [&](std::int64_t j, T sum) { coarse[j] = sum; });
  }
  std::int64_t stored_bytes() const override { return prolongation_.bytes() + restriction_.bytes(); }

 private:
  Rows<T> prolongation_, restriction_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cell_transfer(CellTransferTables tables, Device device) {
  if (device == Device::cuda) return make_cuda_cell_transfer<T>(tables);
  return std::make_unique<HostCellTransfer<T>>(std::move(tables));
}
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_matrix_transfer(const RectangularMatrix& prolongation, Device device) {
  if (device == Device::cuda) return make_cuda_matrix_transfer<T>(prolongation);
  return std::make_unique<HostMatrixTransfer<T>>(prolongation);
}

template std::unique_ptr<Transfer<double>> make_cell_transfer(CellTransferTables, Device);
template std::unique_ptr<Transfer<float>> make_cell_transfer(CellTransferTables, Device);
template std::unique_ptr<Transfer<double>> make_matrix_transfer(const RectangularMatrix&, Device);
template std::unique_ptr<Transfer<float>> make_matrix_transfer(const RectangularMatrix&, Device);

}  // namespace femcg::operators
