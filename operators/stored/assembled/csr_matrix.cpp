#include "operators/stored/assembled/csr_matrix.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"

namespace femcg::operators {

namespace {

/// An appearance of an unknown: local dof `local` of cell `cell`.
struct Appearance {
  std::int32_t cell;
  std::int32_t local;
};

/// The cells around every unknown, and the unknowns of every cell, which each row needs again.
struct CellsOfUnknowns {
  explicit CellsOfUnknowns(const BilinearForm& form)
      : n(form.dofs_per_cell()),
        begin(form.unknowns + std::int64_t{1}),
        of_cells(mesh::unset<std::int32_t>(static_cast<std::size_t>(form.cells()) * n)) {
    fill(begin, std::int64_t{0});
#pragma omp parallel for schedule(static)
    for (std::int32_t cell = 0; cell < form.cells(); ++cell)
      form.for_nodes(cell, [&](int a, std::int32_t unknown) {
        of_cells[std::int64_t{cell} * n + a] = unknown;
        if (unknown >= 0) mesh::count_one(begin[unknown]);
      });
    mesh::sum_before(begin.span());
    appearances = Vector<Appearance>(begin[form.unknowns]);
    std::vector<std::int32_t> met = mesh::filled<std::int32_t>(form.unknowns);
#pragma omp parallel for schedule(static)
    for (std::int32_t cell = 0; cell < form.cells(); ++cell)
      for (int a = 0; a < n; ++a)
        if (const std::int32_t i = unknowns(cell)[a]; i >= 0)
          appearances[begin[i] + mesh::count_one(met[i])] = {cell, a};
          // Sorted by cell, as threads inserted them in any order.
#pragma omp parallel for schedule(static)
    for (std::int32_t i = 0; i < form.unknowns; ++i)
      std::sort(appearances.data() + begin[i], appearances.data() + begin[i + 1],
                [](Appearance a, Appearance b) { return a.cell < b.cell; });
  }
  std::span<const Appearance> of(std::int32_t unknown) const {
    return {appearances.data() + begin[unknown], static_cast<std::size_t>(begin[unknown + 1] - begin[unknown])};
  }

  /// The unknowns at the lattice nodes of a cell; negative if constrained.
  std::span<const std::int32_t> unknowns(std::int32_t cell) const {
    return {of_cells.data() + std::int64_t{cell} * n, static_cast<std::size_t>(n)};
  }
  std::int32_t count() const { return static_cast<std::int32_t>(begin.size() - 1); }
  std::int64_t bytes() const {
    return begin.bytes() + appearances.bytes() + std::ssize(of_cells) * std::int64_t{sizeof(std::int32_t)};
  }

  int n;  ///< dofs of a cell
  Vector<std::int64_t> begin;
  Vector<Appearance> appearances;
  mesh::Array<std::int32_t> of_cells;
};

bool same_cells(std::span<const Appearance> a, std::span<const Appearance> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Appearance x, Appearance y) { return x.cell == y.cell; });
}

/// Columns of a row numbered in the order of first appearance, in a hash table with open addressing: most columns
/// appear many times, and sorting all appearances dominated assembly.
class ColumnNumbers {
 public:
  /// Empties the table; to be called first. Allocates here, where exceptions are caught: not in the constructor, which
  /// runs where they are not.
  void clear() {
    if (slots_.empty()) slots_.resize(1024);
    size_ = 0;
    if (++round_ != 0) return;
    std::ranges::fill(slots_, Slot{});
    round_ = 1;
  }
  /// The number of a column; `none` if it is not in the table.
  std::int32_t find(std::int32_t column) const {
    const Slot& slot = slots_[place_of(column)];
    return slot.round == round_ ? slot.number : none;
  }
  /// Inserts a column; true if it was not there.
  bool insert(std::int32_t column) {
    const std::int32_t before = size_;
    return number(column) == before;
  }
  /// The number of a column, inserted with the next number if it is new.
  std::int32_t number(std::int32_t column) {
    Slot& slot = slots_[place_of(column)];
    if (slot.round == round_) return slot.number;
    slot = {column, size_, round_};
    const std::int32_t fresh = size_++;
    if (2 * static_cast<std::size_t>(size_) >= slots_.size()) grow();
    return fresh;
  }

  static constexpr std::int32_t none = -1;

 private:
  struct Slot {
    std::int32_t column = 0, number = 0;
    std::uint32_t round = 0;  ///< round in which the slot was filled; empty in others
  };
  std::size_t place_of(std::int32_t column) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (static_cast<std::uint32_t>(column) * 2654435769U >> 7) & mask;  // 2^32 / golden ratio (Knuth)
    while (slots_[place].round == round_ && slots_[place].column != column) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> filled(2 * slots_.size());
    filled.swap(slots_);
    for (const Slot& slot : filled)
      if (slot.round == round_) slots_[place_of(slot.column)] = slot;
  }

  std::vector<Slot> slots_;  ///< a power of 2, at most half of them filled
  std::uint32_t round_ = 0;
  std::int32_t size_ = 0;
};

/// Columns of one row at a time. Neighbouring unknowns of one cell, edge or face have the same columns, which are
/// reused.
class RowColumns {
 public:
  explicit RowColumns(const CellsOfUnknowns& cells) : cells_(&cells) {}

  std::size_t count(std::int32_t row) {
    collect(row);
    return columns_.size();
  }
  const std::vector<std::int32_t>& ascending(std::int32_t row) {
    if (collect(row)) std::sort(columns_.begin(), columns_.end());
    return columns_;
  }

 private:
  /// Collects the columns of a row; returns false if they are those of the previous row.
  bool collect(std::int32_t row) {
    const auto round = cells_->of(row);
    if (last_ >= 0 && same_cells(round, cells_->of(last_))) return false;
    last_ = -1;
    columns_.clear();
    met_.clear();
    for (const Appearance& appearance : round)
      for (const std::int32_t column : cells_->unknowns(appearance.cell))
        if (column >= 0 && met_.insert(column)) columns_.push_back(column);
    last_ = row;
    return true;
  }

  const CellsOfUnknowns* cells_;
  std::int32_t last_ = -1;
  ColumnNumbers met_;
  std::vector<std::int32_t> columns_;
};

template <std::floating_point T>
void count_entries(const CellsOfUnknowns& cells, CsrMatrix<T>& matrix) {
  matrix.rows = cells.count();
  matrix.row_offsets = Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  matrix.row_offsets[0] = 0;
  mesh::parallel_for(
      matrix.rows, [&] { return RowColumns(cells); },
      [&](RowColumns& columns, std::int32_t row) {
        matrix.row_offsets[row + 1] = static_cast<std::int64_t>(columns.count(row));
      });
  std::partial_sum(matrix.row_offsets.data(), matrix.row_offsets.data() + matrix.row_offsets.size(),
                   matrix.row_offsets.data());
}

template <std::floating_point T>
void list_columns(const CellsOfUnknowns& cells, CsrMatrix<T>& matrix) {
  matrix.columns = Vector<std::int32_t>(matrix.nonzeros());
  mesh::parallel_for(
      matrix.rows, [&] { return RowColumns(cells); },
      [&](RowColumns& columns, std::int32_t row) {
        const std::vector<std::int32_t>& of_row = columns.ascending(row);
        std::copy(of_row.begin(), of_row.end(), matrix.columns.data() + matrix.row_offsets[row]);
      });
}

/// Position of entry (i, j) in a packed symmetric matrix.
std::int64_t packed_index(int i, int j) {
  return i >= j ? std::int64_t{i} * (i + 1) / 2 + j : std::int64_t{j} * (j + 1) / 2 + i;
}

/// Adds to sums[place] the entries of a row in the element matrices of the cells around it, in their order; `places`
/// has one index per local dof of these cells, negative if constrained.
void add_entries(const CellsOfUnknowns& cells, const ElementMatrices& matrices, std::span<const Appearance> round,
                 std::span<const std::int32_t> places, std::vector<double>& sums) {
  const std::int32_t* place = places.data();
  for (const Appearance& appearance : round) {
    const double* entries = matrices.cell(appearance.cell).data();
    for (int b = 0; b < cells.n; ++b, ++place)
      if (*place >= 0) sums[*place] += entries[packed_index(appearance.local, b)];
  }
}

/// Values of one row at a time: sums of the element matrices' entries, in the order of the cells.
class RowSum {
 public:
  RowSum(const CellsOfUnknowns& cells, const ElementMatrices& matrices) : cells_(&cells), matrices_(&matrices) {}

  /// `columns`: of the row, ascending.
  const std::vector<double>& of(std::int32_t row, std::span<const std::int32_t> columns) {
    const auto round = cells_->of(row);
    if (last_ < 0 || !same_cells(round, cells_->of(last_))) {
      last_ = -1;
      positions_.clear();
      numbers_.clear();
      for (const std::int32_t column : columns) numbers_.insert(column);
      for (const Appearance& appearance : round)
        for (const std::int32_t column : cells_->unknowns(appearance.cell))
          positions_.push_back(column < 0 ? ColumnNumbers::none : numbers_.find(column));
      last_ = row;
    }
    values_.assign(columns.size(), 0.0);
    add_entries(*cells_, *matrices_, round, positions_, values_);
    return values_;
  }

 private:
  const CellsOfUnknowns* cells_;
  const ElementMatrices* matrices_;
  std::int32_t last_ = -1;
  ColumnNumbers numbers_;
  /// Index in the row of each local dof of the cells around it; rows with the same cells share it.
  std::vector<std::int32_t> positions_;
  std::vector<double> values_;
};

/// Columns and values of one row at a time, without counting entries before.
class WholeRow {
 public:
  WholeRow(const CellsOfUnknowns& cells, const ElementMatrices& matrices) : cells_(&cells), matrices_(&matrices) {}

  /// Appends the row, columns ascending, values added up in the order of the cells; returns its length.
  template <std::floating_point T>
  std::int64_t append(std::int32_t row, std::vector<std::int32_t>& columns, std::vector<T>& values) {
    const auto round = cells_->of(row);
    if (last_ < 0 || !same_cells(round, cells_->of(last_))) number_columns(row);
    sums_.assign(order_.size(), 0.0);
    add_entries(*cells_, *matrices_, round, numbers_, sums_);
    for (const auto& [column, of_column] : order_) {
      columns.push_back(column);
      values.push_back(static_cast<T>(sums_[of_column]));
    }
    return std::ssize(order_);
  }

 private:
  void number_columns(std::int32_t row) {
    last_ = -1;
    numbers_.clear();
    order_.clear();
    met_.clear();
    for (const Appearance& appearance : cells_->of(row))
      for (const std::int32_t column : cells_->unknowns(appearance.cell)) {
        numbers_.push_back(column < 0 ? ColumnNumbers::none : met_.number(column));
        if (numbers_.back() == std::ssize(order_)) order_.emplace_back(column, numbers_.back());
      }
    std::ranges::sort(order_);
    last_ = row;
  }

  const CellsOfUnknowns* cells_;
  const ElementMatrices* matrices_;
  std::int32_t last_ = -1;
  ColumnNumbers met_;
  std::vector<std::int32_t> numbers_;  ///< column number of each local dof of the cells around the row
  std::vector<std::pair<std::int32_t, std::int32_t>> order_;  ///< columns, ascending, and their numbers
  std::vector<double> sums_;                                  ///< by column number
};

}  // namespace

template <std::floating_point T>
CsrMatrix<T> assemble(const BilinearForm& form, const ElementMatrices& element_matrices) {
  constexpr std::int32_t block = 2048;
  struct Block {
    std::vector<std::int32_t> columns;
    std::vector<T> values;
  };
  const CellsOfUnknowns cells(form);
  CsrMatrix<T> matrix;
  matrix.rows = cells.count();
  matrix.row_offsets = Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  matrix.row_offsets[0] = 0;
  const auto end_of = [&](std::int32_t b) {
    return std::min<std::int64_t>(matrix.rows, (b + std::int64_t{1}) * block);
  };
  std::vector<Block> blocks(static_cast<std::size_t>((matrix.rows + block - 1) / block));
  const auto count = static_cast<std::int32_t>(blocks.size());
  mesh::parallel_for(
      count, [&] { return WholeRow(cells, element_matrices); },
      [&](WholeRow& whole, std::int32_t b) {
        for (std::int32_t row = b * block; row < end_of(b); ++row)
          matrix.row_offsets[row + std::int64_t{1}] = whole.append(row, blocks[b].columns, blocks[b].values);
      });
  std::partial_sum(matrix.row_offsets.data(), matrix.row_offsets.data() + matrix.row_offsets.size(),
                   matrix.row_offsets.data());
  matrix.columns = Vector<std::int32_t>(matrix.nonzeros());
  matrix.values = Vector<T>(matrix.nonzeros());
  mesh::parallel_for(count, [&](std::int32_t b) {
    const std::int64_t begin = matrix.row_offsets[b * std::int64_t{block}];
    std::ranges::copy(blocks[b].columns, matrix.columns.data() + begin);
    std::ranges::copy(blocks[b].values, matrix.values.data() + begin);
    blocks[b] = {};
  });
  return matrix;
}

template <std::floating_point T>
struct MatrixRows<T>::State {
  explicit State(const BilinearForm& form) : cells(form) {}
  CellsOfUnknowns cells;
};

template <std::floating_point T>
MatrixRows<T>::MatrixRows(const BilinearForm& form, Device device) : form_(&form) {
  if (device == Device::cuda && can_assemble_on_gpu(form)) {
    offsets_.rows = form.unknowns;
    offsets_.row_offsets = copied(cuda_row_offsets(form), Device::host);
  } else {
    state_ = std::make_unique<State>(form);
    count_entries(state_->cells, offsets_);
  }
}
template <std::floating_point T>
MatrixRows<T>::MatrixRows(MatrixRows&&) noexcept = default;
template <std::floating_point T>
MatrixRows<T>::~MatrixRows() = default;

template <std::floating_point T>
std::int64_t MatrixRows<T>::assembling_bytes() const {
  return state_ != nullptr ? state_->cells.bytes() : 0;
}

template <std::floating_point T>
CsrMatrix<T> assemble(MatrixRows<T> rows, const ElementMatrices& element_matrices) {
  if (rows.state_ == nullptr) rows.state_ = std::make_unique<typename MatrixRows<T>::State>(*rows.form_);
  const CellsOfUnknowns& cells = rows.state_->cells;
  CsrMatrix<T> matrix = std::move(rows.offsets_);
  list_columns(cells, matrix);
  matrix.values = Vector<T>(matrix.nonzeros());
  mesh::parallel_for(
      matrix.rows, [&] { return RowSum(cells, element_matrices); },
      [&](RowSum& sum, std::int32_t row) {
        const std::int64_t begin = matrix.row_offsets[row], size = matrix.row_offsets[row + 1] - begin;
        const std::vector<double>& values =
            sum.of(row, {matrix.columns.data() + begin, static_cast<std::size_t>(size)});
        std::copy(values.begin(), values.end(), matrix.values.data() + begin);
      });
  return matrix;
}

CsrMatrix<double> sparsity_pattern(const BilinearForm& form) {
  const CellsOfUnknowns cells(form);
  CsrMatrix<double> matrix;
  count_entries(cells, matrix);
  list_columns(cells, matrix);
  return matrix;
}

template class MatrixRows<double>;
template class MatrixRows<float>;
template CsrMatrix<double> assemble(const BilinearForm&, const ElementMatrices&);
template CsrMatrix<float> assemble(const BilinearForm&, const ElementMatrices&);
template CsrMatrix<double> assemble(MatrixRows<double>, const ElementMatrices&);
template CsrMatrix<float> assemble(MatrixRows<float>, const ElementMatrices&);

}  // namespace femcg::operators
