#include "operators/transfers/cell_transfer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

CellTransferTables transfer_tables(const CellEmbedding& of) {
  constexpr std::size_t most_nodes = 125;  // of a hexahedron of degree 4
  const std::int32_t cells = of.cells;
  const auto for_nodes = [](const NodesOfCells& nodes, std::int32_t cell, const auto& work) {
    std::array<std::int32_t, most_nodes> dofs;
    nodes.write(cell, dofs.data());
    for (int i = 0; i < nodes.count; ++i)
      work(i, dofs[i] < 0 ? -1 : nodes.unknown_of_dof[static_cast<std::size_t>(dofs[i])]);
  };
  mesh::Array<std::int32_t> owner = mesh::array_of(static_cast<std::size_t>(of.fine.unknowns), cells);
  for_each_row(cells, [&](std::int64_t number) {
    const auto cell = static_cast<std::int32_t>(number);
    for_nodes(of.fine, cell, [&](int, std::int32_t unknown) {
      if (unknown >= 0) mesh::lower(owner[unknown], cell);
    });
  });
  for (const std::int32_t ghost : of.ghosts) owner[ghost] = cells;

  // Counts of the unknowns that each cell owns, then their prefix sums; and of the cells that own any.
  const auto cell_count = static_cast<std::size_t>(cells);
  mesh::Array<std::int32_t> begin = mesh::array_of(cell_count + 1, 0), kept = mesh::array_of(cell_count + 1, 0);
  for_each_row(of.fine.unknowns, [&](std::int64_t unknown) { mesh::count_one(begin[owner[unknown]]); });
  begin[cell_count] = 0;  // the ghosts
  for_each_row(cells, [&](std::int64_t cell) { kept[cell] = begin[cell] > 0 ? 1 : 0; });
  const std::int32_t count = mesh::sum_before(std::span(begin)), kept_cells = mesh::sum_before(std::span(kept));

  CellTransferTables tables;
  tables.coarse_size = of.coarse.unknowns;
  tables.coarse_nodes = of.coarse.count;
  tables.owned = Vector<std::int32_t>(count);
  tables.node = Vector<std::uint8_t>(count);
  tables.coarse = Vector<std::int32_t>(std::int64_t{kept_cells} * of.coarse.count);
  tables.owned_begin = Vector<std::int32_t>(kept_cells + std::int64_t{1});
  tables.owned_begin[kept_cells] = count;
  for_each_row(cells, [&](std::int64_t number) {
    const auto cell = static_cast<std::int32_t>(number);
    if (kept[cell] == kept[cell + 1]) return;
    std::int32_t to = tables.owned_begin[kept[cell]] = begin[cell];
    for_nodes(of.fine, cell, [&](int i, std::int32_t unknown) {
      if (unknown < 0 || owner[unknown] != cell) return;
      tables.owned[to] = unknown;
      tables.node[to++] = static_cast<std::uint8_t>(i);
    });
    for_nodes(of.coarse, cell, [&](int j, std::int32_t unknown) {
      tables.coarse[std::int64_t{kept[cell]} * of.coarse.count + j] = std::max(unknown, -1);
    });
  });
  return tables;
}

namespace {

/// For each coarse unknown its positions in [cells][nodes], ascending.
struct CellsOfUnknowns {
  Vector<std::int64_t> begin;   ///< [unknowns + 1]
  Vector<std::int32_t> places;  ///< [begin.back()]
};

/// `unknowns`: one per position, -1 for none.
CellsOfUnknowns cells_of_unknowns(const Vector<std::int32_t>& unknowns, std::int32_t count) {
  CellsOfUnknowns found{Vector<std::int64_t>(count + std::int64_t{1}), {}};
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

/// Calls work(n) with n, the number of a cell's coarse nodes, of degree 1 to 3, as a constant.
template <class Work>
void with_nodes(int nodes, const Work& work) {
  const auto is = [&]<int... n>(std::integer_sequence<int, n...>) {
    return ((nodes == n && (work(std::integral_constant<int, n>()), true)) || ...);
  };
  if (!is(std::integer_sequence<int, 3, 4, 6, 8, 9, 10, 16, 20, 27, 64>()))
    throw std::invalid_argument("no cell of degree 1 to 3 has so many nodes");
}

/// Stride of the rows of E: zeros fill the last register.
constexpr int stride_of(int nodes) { return (nodes + 3) / 4 * 4; }

/// x_i += sum_j E_ij e_j at the owned nodes i of the cells [first, last).
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

/// sum_i E_ij (r - q)_i over the owned nodes i of each of the cells [first, last).
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

/// Both for rows of w > 1 values.
template <int w, std::floating_point T>
void prolong_rows_of_cells(const CellTransferTables& of, const T* embedding, std::int64_t first, std::int64_t last,
                           const T* coarse, T* fine) {
  const int n = of.coarse_nodes, stride = stride_of(n);
  for (std::int64_t cell = first; cell < last; ++cell) {
    const std::int32_t* unknowns = of.coarse.data() + cell * n;
    for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) {
      const T* row = embedding + of.node[k] * stride;
      T sums[w] = {};
      for (int j = 0; j < n; ++j) {
        if (unknowns[j] < 0) continue;
        const T* e = coarse + std::int64_t{unknowns[j]} * w;
        for (int c = 0; c < w; ++c) sums[c] += row[j] * e[c];
      }
      T* x = fine + std::int64_t{of.owned[k]} * w;
      for (int c = 0; c < w; ++c) x[c] += sums[c];
    }
  }
}
template <int w, std::floating_point T>
void restrict_rows_of_cells(const CellTransferTables& of, const T* embedding, std::int64_t first, std::int64_t last,
                            const T* r, const T* q, T* contributions) {
  const int n = of.coarse_nodes, stride = stride_of(n);
  for (std::int64_t cell = first; cell < last; ++cell) {
    T* sums = contributions + cell * n * w;
    std::fill_n(sums, n * w, T(0));
    for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) {
      const T* row = embedding + of.node[k] * stride;
      const std::int64_t at = std::int64_t{of.owned[k]} * w;
      T residual[w];
      for (int c = 0; c < w; ++c) residual[c] = r[at + c] - q[at + c];
      for (int j = 0; j < n; ++j)
        for (int c = 0; c < w; ++c) sums[j * w + c] += row[j] * residual[c];
    }
  }
}

template <std::floating_point T>
class HostCellTransfer final : public Transfer<T> {
 public:
  HostCellTransfer(CellTransferTables tables, std::span<const float> embedding)
      : of_(std::move(tables)),
        gathered_(cells_of_unknowns(of_.coarse, of_.coarse_size)),
        embedding_(std::ssize(embedding) / of_.coarse_nodes * stride_of(of_.coarse_nodes)),
        contributions_(of_.coarse.size()) {
    fill(embedding_, T(0));
    for (std::int64_t k = 0; k < std::ssize(embedding); ++k)
      embedding_[k / of_.coarse_nodes * stride_of(of_.coarse_nodes) + k % of_.coarse_nodes] =
          static_cast<T>(embedding[static_cast<std::size_t>(k)]);
  }

  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    if (stride == 1)
      return for_cells([&](auto n, std::int64_t first, std::int64_t last) {
        prolong_cells<n>(of_, embedding_.data(), first, last, coarse.data(), fine.data());
      });
    with_stride(stride, [&]<int w>() {
      for_row_blocks(of_.cells(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        prolong_rows_of_cells<w>(of_, embedding_.data(), first, last, coarse.data(), fine.data());
      });
    });
  }

  /// Sums per cell, then per coarse unknown over its cells.
  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    const std::int64_t numbers = of_.coarse.size() * stride;
    if (contributions_.size() < numbers) contributions_ = Vector<T>(numbers);
    if (stride == 1)
      for_cells([&](auto n, std::int64_t first, std::int64_t last) {
        restrict_cells<n>(of_, embedding_.data(), first, last, r.data(), q.data(), contributions_.data());
      });
    else
      with_stride(stride, [&]<int w>() {
        for_row_blocks(of_.cells(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
          restrict_rows_of_cells<w>(of_, embedding_.data(), first, last, r.data(), q.data(), contributions_.data());
        });
      });
    with_any_stride(stride, [&]<int w>() {
      for_each_row(of_.coarse_size, [&](std::int64_t unknown) {
        T sums[w] = {};
        for (std::int64_t k = gathered_.begin[unknown]; k < gathered_.begin[unknown + 1]; ++k)
          for (int c = 0; c < w; ++c) sums[c] += contributions_[std::int64_t{gathered_.places[k]} * w + c];
        std::copy_n(sums, w, coarse.data() + unknown * w);
      });
    });
  }

  std::int64_t stored_bytes() const override {
    return of_.coarse.bytes() + of_.owned_begin.bytes() + of_.owned.bytes() + of_.node.bytes() +
           gathered_.begin.bytes() + gathered_.places.bytes() + contributions_.bytes() + embedding_.bytes();
  }

 private:
  /// Calls work(n, first, last), with the number of a cell's coarse nodes as a constant, for ranges of cells, in
  /// parallel.
  template <class Work>
  void for_cells(const Work& work) const {
    with_nodes(of_.coarse_nodes, [&](auto n) {
      for_row_blocks(of_.cells(), EqualRows{}, [&](std::int64_t first, std::int64_t last) { work(n, first, last); });
    });
  }

  CellTransferTables of_;
  CellsOfUnknowns gathered_;
  Vector<T> embedding_;              ///< E, rows padded with zeros
  mutable Vector<T> contributions_;  ///< [cells][coarse nodes][vectors], for the most vectors so far
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                const LevelOrdering& coarse, Device device) {
  if (std::int64_t{embedding.cells} * embedding.coarse.count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("the coarse level has more than 2^31 - 1 nodes of cells; take fewer cells");
  if (device == Device::cuda) return make_cuda_cell_transfer<T>(embedding, fine, coarse);
  CellTransferTables tables = transfer_tables(embedding);
  renumber(fine, tables.owned.span());
  renumber(coarse, tables.coarse.span());
  return std::make_unique<HostCellTransfer<T>>(std::move(tables), embedding.values);
}

template std::unique_ptr<Transfer<double>> make_cell_transfer(const CellEmbedding&, const LevelOrdering&,
                                                              const LevelOrdering&, Device);
template std::unique_ptr<Transfer<float>> make_cell_transfer(const CellEmbedding&, const LevelOrdering&,
                                                             const LevelOrdering&, Device);

}  // namespace femcg::operators
