#include "solver/preconditioners/hierarchy.hpp"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/aggregation.hpp"
#include "solver/preconditioners/bad_cells.hpp"
#include "solver/preconditioners/chebyshev.hpp"
#include "solver/preconditioners/coarse_solve.hpp"
#include "solver/preconditioners/sparse_product.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::CellTransferTables;
using operators::CsrMatrix;
using operators::Device;
using operators::Operator;
using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// The next lower degree: 3, 2, 1 and, on simplices, where 2 after 4 costs a quarter more iterations, 4, 3; else 4, 2.
int next_degree(const BilinearForm& form) {
  const int degree = form.space->degree();
  return degree == 4 && mesh::is_tensor(form.space->mesh().shape) ? 2 : degree - 1;
}

/// places[u]: where an operator's vectors have unknown u; empty where that is u.
template <std::floating_point T>
std::vector<std::int32_t> places_of(const Operator<T>& a) {
  const Vector<std::int32_t> order = operators::copied(a.ordering(), Device::host);
  std::vector<std::int32_t> places(static_cast<std::size_t>(order.size()));
  for (std::int64_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<std::int32_t>(i);
  return places;
}

void renumber(const std::vector<std::int32_t>& places, std::span<std::int32_t> unknowns) {
  if (places.empty()) return;
  for (std::int32_t& unknown : unknowns)
    if (unknown >= 0) unknown = places[unknown];
}

/// A matrix with rows and columns in the order of two operators.
template <std::floating_point T>
RectangularMatrix renumbered(RectangularMatrix p, const Operator<T>& rows, const Operator<T>& columns) {
  renumber(places_of(columns), p.column.span());
  const Vector<std::int32_t> order = operators::copied(rows.ordering(), Device::host);
  if (order.size() == 0) return p;
  RectangularMatrix result;
  result.rows = p.rows;
  result.columns = p.columns;
  result.row_offsets = Vector<std::int64_t>(p.row_offsets.size());
  result.column = Vector<std::int32_t>(p.column.size());
  result.value = Vector<double>(p.value.size());
  std::int64_t to = result.row_offsets[0] = 0;
  for (std::int32_t i = 0; i < p.rows; ++i) {
    for (std::int64_t k = p.row_offsets[order[i]]; k < p.row_offsets[order[i] + 1]; ++k) {
      result.column[to] = p.column[k];
      result.value[to++] = p.value[k];
    }
    result.row_offsets[i + 1] = to;
  }
  return result;
}

RectangularMatrix rectangular(CsrMatrix<double> matrix) {
  return {matrix.rows, matrix.rows, std::move(matrix.row_offsets), std::move(matrix.columns), std::move(matrix.values)};
}

/// A copy of a square matrix in precision T.
template <std::floating_point T>
std::shared_ptr<const CsrMatrix<T>> square(const RectangularMatrix& matrix) {
  auto result = std::make_shared<CsrMatrix<T>>();
  result->rows = matrix.rows;
  result->row_offsets = operators::copied(matrix.row_offsets, Device::host);
  result->columns = operators::copied(matrix.column, Device::host);
  result->values = Vector<T>(matrix.value.size());
  operators::for_each_row(matrix.value.size(),
                          [&](std::int64_t k) { result->values[k] = static_cast<T>(matrix.value[k]); });
  return result;
}

/// D^-1 with zeros for some unknowns.
operators::InverseDiagonal without(const operators::InverseDiagonal& of, std::span<const std::int32_t> unknowns) {
  operators::InverseDiagonal result = operators::copied(of, Device::host);
  for (const std::int32_t unknown : unknowns) result[unknown] = 0;
  return operators::copied(result, of.device());
}

/// z = (D^-1 + B) r of a level.
template <std::floating_point T>
class BlockJacobi final : public Preconditioner<T> {
 public:
  explicit BlockJacobi(const Level<T>& level) : Preconditioner<T>(level.a->size(), level.a->device()), level_(level) {}
  PreconditionerCost cost() const override { return {0, 4, 1}; }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override {
    operators::chebyshev_first(1, r, level_.inverse_diagonal, level_.d, z);
    level_.blocks->add(1, r, nullptr, level_.d, z);
  }
  void solve_columns(const operators::MultiVector<T>&, operators::MultiVector<T>&) const override {
    throw std::logic_error("block Jacobi is for one vector");
  }

  const Level<T>& level_;
};

/// Makes the levels one after the other, then the transfers between their operators.
template <std::floating_point T>
class HierarchyMaker {
 public:
  HierarchyMaker(Device device, const HierarchyChoice& choice) : device_(device), choice_(choice) {}

  Hierarchy<T> make(const BilinearForm& form, const Operator<T>* fine) {
    std::vector<const BilinearForm*> forms{&form};
    while (const BilinearForm* next = coarser(*forms.back())) forms.push_back(next);
    RectangularMatrix matrix = matrix_of(*forms.back());
    for (const BilinearForm* each : std::span(forms).first(forms.size() - 1))
      add_of_form(*each, each == &form ? fine : nullptr);
    if (matrix.rows > choice_.coarsest) {
      if (forms.size() == 1 && fine != nullptr)
        add_of_form(form, fine);
      else
        add(describe(*forms.back()), choice_.coarse, nullptr, make_stored(square<T>(matrix)), blocks_of(*forms.back()));
    }
    add_aggregates(std::move(matrix));
    add_transfers();
    return std::move(hierarchy_);
  }

 private:
  static constexpr int lanczos_steps = 10;  ///< 5% or less below the eigenvalue; the smoother's margin is 10%
  static constexpr double most_kept = 0.7;  ///< unknowns of a level over those of the finer one, at most

  static std::string describe(const BilinearForm& form) {
    return form.space->mesh().box && form.space->degree() == 1 ? fmt::format("box of {} cells", form.cells())
                                                               : fmt::format("degree {}", form.space->degree());
  }
  /// The matrix of the form of degree 1, which tells its bad cells.
  RectangularMatrix matrix_of(const BilinearForm& form) {
    if (form.unknowns == 0) return {};
    const operators::ElementMatrices element_matrices = operators::assemble_element_matrices(form);
    RectangularMatrix matrix = rectangular(operators::assemble<double>(form, element_matrices));
    if (!form.space->mesh().box) bad_cells_ = bad_cells(form, element_matrices, diagonal_of(matrix));
    return matrix;
  }

  /// The form of the next coarser level, with the transfer to it; null where aggregation follows.
  const BilinearForm* coarser(const BilinearForm& form) {
    const int degree = form.space->degree();
    std::unique_ptr<CoarseForm> next = degree > 1                         ? lower_degree(form, next_degree(form))
                                       : form.unknowns > choice_.coarsest ? coarser_box(form)
                                                                          : nullptr;
    if (next == nullptr) return nullptr;
    transfers_.emplace_back(std::move(next->transfer));
    hierarchy_.forms.push_back(std::move(next));
    return &hierarchy_.forms.back()->form;
  }

  /// Smoothed aggregation from this matrix on, down to one that is inverted.
  void add_aggregates(RectangularMatrix matrix) {
    const std::int64_t first = matrix.nonzeros();
    std::int64_t all = first;
    while (matrix.rows > choice_.coarsest) {
      const RectangularMatrix strong = strong_connections(matrix, choice_.threshold);
      const Aggregates aggregates = aggregate(strong);
      if (aggregates.count == 0 || aggregates.count > most_kept * matrix.rows)
        throw InputError(fmt::format("multigrid finds {} aggregates for {} unknowns, which are too many",
                                     aggregates.count, matrix.rows));
      RectangularMatrix p = smoothed_prolongation(matrix, strong, aggregates, hierarchy_.levels.back().largest);
      matrix = galerkin(matrix, p);
      transfers_.emplace_back(std::move(p));
      all += matrix.nonzeros();
      if (matrix.rows > choice_.coarsest)
        add("aggregates", choice_.coarse, nullptr, make_stored(square<T>(matrix)), {});
    }
    hierarchy_.operator_complexity = first > 0 ? static_cast<double>(all) / static_cast<double>(first) : 1;
    hierarchy_.levels.push_back(
        unsmoothed("inverse", choice_.coarse, nullptr, make_stored(square<T>(dense_inverse(matrix)))));
  }

  operators::BlockInverses blocks_of(const BilinearForm& form) const {
    return bad_cells_.empty() ? operators::BlockInverses() : inverses_round(form, bad_cells_);
  }

  /// A level with an operator of the catalogue, or with one that is given.
  void add_of_form(const BilinearForm& form, const Operator<T>* given) {
    if (given != nullptr) return add(describe(form), "", given, nullptr, blocks_of(form));
    const std::string name = form.space->degree() > 1 ? choice_.fine : "matrix-free";
    operators::Ingredients<T> from;
    from.device = device_;
    from.form = &form;
    operators::ElementMatrices element_matrices;
    const operators::OperatorDescription& row = *operators::find_operator(name);
    const operators::Needs needs = row.needs_on(device_);
    if (needs != operators::Needs::form) element_matrices = operators::assemble_element_matrices(form);
    if (needs == operators::Needs::element_matrices) from.element_matrices = &element_matrices;
    if (needs == operators::Needs::matrix)
      from.matrix = std::make_shared<const CsrMatrix<T>>(operators::assemble<T>(form, element_matrices));
    add(describe(form), name, nullptr, row.make(from, operators::Options()), blocks_of(form));
  }
  std::unique_ptr<Operator<T>> make_stored(std::shared_ptr<const CsrMatrix<T>> matrix) const {
    operators::Ingredients<T> from;
    from.device = device_;
    from.matrix = std::move(matrix);
    return operators::find_operator(choice_.coarse)->make(from, operators::Options());
  }

  /// A level that is smoothed. Its operator is somebody else's, or made for it.
  void add(std::string kind, std::string operator_name, const Operator<T>* given, std::unique_ptr<Operator<T>> made,
           operators::BlockInverses blocks) {
    Level<T> level = unsmoothed(std::move(kind), std::move(operator_name), given, std::move(made));
    for (Vector<T>* vector : {&level.q, &level.d}) *vector = Vector<T>(level.a->size(), device_);
    level.inverse_diagonal = inverse_diagonal_of(*level.a, "multigrid");
    if (blocks.count() == 0) {
      level.largest = largest_eigenvalue(*level.a, level.inverse_diagonal, lanczos_steps);
    } else {
      renumber(places_of(*level.a), blocks.unknowns);
      const operators::InverseDiagonal all =
          std::exchange(level.inverse_diagonal, without(level.inverse_diagonal, blocks.unknowns));
      level.blocks = operators::make_local_solves<T>(std::move(blocks), device_);
      const BlockJacobi<T> of_blocks(level);
      level.largest = largest_eigenvalue(*level.a, all, lanczos_steps, &of_blocks);
    }
    hierarchy_.levels.push_back(std::move(level));
  }
  Level<T> unsmoothed(std::string kind, std::string operator_name, const Operator<T>* given,
                      std::unique_ptr<Operator<T>> made) const {
    Level<T> level;
    level.kind = std::move(kind);
    level.operator_name = std::move(operator_name);
    level.made = std::move(made);
    level.a = level.made != nullptr ? level.made.get() : given;
    for (Vector<T>* vector : {&level.b, &level.x}) *vector = Vector<T>(level.a->size(), device_);
    return level;
  }

  /// Unknowns of the transfers so far are in the natural order of the levels.
  void add_transfers() {
    for (std::size_t l = 0; l < transfers_.size(); ++l) {
      Level<T>& fine = hierarchy_.levels[l];
      const Operator<T>& coarse = *hierarchy_.levels[l + 1].a;
      if (auto* tables = std::get_if<CellTransferTables>(&transfers_[l])) {
        renumber(places_of(coarse), tables->coarse.span());
        renumber(places_of(*fine.a), tables->owned.span());
        fine.transfer = operators::make_cell_transfer<T>(std::move(*tables), device_);
      } else {
        fine.transfer = operators::make_matrix_transfer<T>(
            renumbered(std::move(std::get<RectangularMatrix>(transfers_[l])), *fine.a, coarse), device_);
      }
    }
  }

  Device device_;
  const HierarchyChoice& choice_;
  Hierarchy<T> hierarchy_;
  std::vector<std::int32_t> bad_cells_;
  std::vector<std::variant<CellTransferTables, RectangularMatrix>> transfers_;
};

}  // namespace

template <std::floating_point T>
std::int64_t Level<T>::stored_bytes() const {
  std::int64_t sum = inverse_diagonal.bytes();
  if (made != nullptr) sum += made->footprint().stored_bytes;
  if (transfer != nullptr) sum += transfer->stored_bytes();
  if (blocks != nullptr) sum += blocks->stored_bytes();
  for (const Vector<T>* vector : {&b, &x, &q, &d}) sum += vector->bytes();
  return sum;
}

template <std::floating_point T>
Hierarchy<T> make_hierarchy(const BilinearForm& form, Device device, const Operator<T>* fine,
                            const HierarchyChoice& choice) {
  return HierarchyMaker<T>(device, choice).make(form, fine);
}

template struct Level<double>;
template struct Level<float>;
template Hierarchy<double> make_hierarchy(const BilinearForm&, Device, const Operator<double>*, const HierarchyChoice&);
template Hierarchy<float> make_hierarchy(const BilinearForm&, Device, const Operator<float>*, const HierarchyChoice&);

}  // namespace femcg::solver
