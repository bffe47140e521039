#include "solver/preconditioners/hierarchy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "operators/aggregation/aggregation.hpp"
#include "operators/aggregation/sparse_product.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/distributed/distributed_operator.hpp"
#include "operators/distributed/distributed_transfer.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/forms/suspect_cells.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/messages/do_on_all.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/bad_cells.hpp"
#include "solver/preconditioners/chebyshev.hpp"
#include "solver/preconditioners/coarse_solve.hpp"
#include "solver/preconditioners/gathered_box.hpp"
#include "solver/preconditioners/local_inverses.hpp"
#include "solver/preconditioners/tensor.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::CellEmbedding;
using operators::CsrMatrix;
using operators::Device;
using operators::FormSubdomain;
using operators::Operator;
using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// Order of a level's unknowns in the vectors of its operator; `map`: on several processes.
template <std::floating_point T>
operators::LevelOrdering ordering_of(const Operator<T>& a, const operators::IndexMap* map = nullptr) {
  if (map == nullptr) return {&a.ordering()};
  return {&a.ordering(), map->unknowns};
}

/// Renumbers the columns of a matrix to the order of an operator.
template <std::floating_point T>
RectangularMatrix with_columns_of(const Operator<T>& a, RectangularMatrix p) {
  if (a.ordering().size() == 0) return p;
  if (p.device() != Device::host) p = operators::copied(p, Device::host);
  renumber(ordering_of(a), p.column.span());
  return p;
}
/// Renumbers the rows of a matrix to the order of an operator.
template <std::floating_point T>
RectangularMatrix with_rows_of(const Operator<T>& a, RectangularMatrix p) {
  const Vector<std::int32_t> order = operators::copied(a.ordering(), Device::host);
  if (order.size() == 0) return p;
  if (p.device() != Device::host) p = operators::copied(p, Device::host);
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
/// View of a matrix without copying; nothing writes to the matrices of levels.
RectangularMatrix view_of(const CsrMatrix<double>& matrix) {
  const auto view = []<class N>(const Vector<N>& of) {
    return Vector<N>(const_cast<N*>(of.data()), of.size(), of.device());
  };
  return {matrix.rows, matrix.rows, view(matrix.row_offsets), view(matrix.columns), view(matrix.values)};
}

double diagonal_entry(const CsrMatrix<double>& matrix, std::int32_t row) {
  std::int64_t k = matrix.row_offsets[row];
  while (matrix.columns[k] != row) ++k;
  return matrix.values[k];
}

RectangularMatrix identity(std::int32_t rows) {
  RectangularMatrix p{rows, rows, Vector<std::int64_t>(rows + std::int64_t{1}), Vector<std::int32_t>(rows),
                      Vector<double>(rows)};
  for (std::int32_t i = 0; i < rows; ++i) {
    p.row_offsets[i] = p.column[i] = i;
    p.value[i] = 1;
  }
  p.row_offsets[rows] = rows;
  return p;
}

/// Preconditioner z = (D^-1 + B) r of a level.
template <std::floating_point T>
class BlockJacobi final : public Preconditioner<T> {
 public:
  explicit BlockJacobi(const Level<T>& level)
      : Preconditioner<T>(level.a->size(), level.a->device()), level_(level), d_(level.a->size(), level.a->device()) {}
  PreconditionerCost cost() const override { return {0, 4, 1}; }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override {
    operators::chebyshev_first(1, r, level_.inverse_diagonal, d_, z);
    level_.blocks->add(1, r, nullptr, d_, z);
  }

  const Level<T>& level_;
  mutable Vector<T> d_;
};

/// Makes the levels one after the other, then the transfers between their operators.
template <std::floating_point T>
class HierarchyMaker {
 public:
  HierarchyMaker(const PartOfForm& of, Device device, const FinestLevel<T>& finest, const HierarchyChoice& choice)
      : of_(of), device_(device), finest_(finest), choice_(choice) {}

  Hierarchy<T> make(const CsrMatrix<double>& of) {
    RectangularMatrix matrix = view_of(of);
    if (of.rows > choice_.coarsest)
      add("matrix", finest_.a != nullptr ? "" : choice_.coarse, finest_.a,
          finest_.a != nullptr ? nullptr : make_stored(matrix), {});
    add_aggregates(std::move(matrix));
    add_transfers();
    return std::move(hierarchy_);
  }
  Hierarchy<T> make(const BilinearForm& form) {
    forms_.push_back({&form, of_.part, of_.subdomain});
    hierarchy_.stretching = of_.processes->sum(stretching(form)) / static_cast<double>(of_.processes->size());
    find_cut_cells(form);
    while (add_coarser()) continue;
    of_.alone() ? make_alone() : make_together();
    add_transfers();
    return std::move(hierarchy_);
  }

 private:
  static constexpr int usual_smoothing = 3, most_smoothing = 24;
  static constexpr int lanczos_steps = 10;           ///< at most 5% below the eigenvalue; the smoother's margin is 10%
  static constexpr std::int64_t most_entries = 100;  ///< mean entries per row of a level of aggregates
  static constexpr double least_shared = 1e5;        ///< unknowns of a box that several processes coarsen
  static constexpr double most_kept = 0.7;           ///< largest ratio of unknowns of a level and the next finer one

  /// A form, and this process's part and subdomain of it if several processes share it.
  struct LevelForm {
    const BilinearForm* form;
    const mesh::MeshPart* part;
    const FormSubdomain* subdomain;
    const operators::IndexMap* map() const { return subdomain != nullptr ? &subdomain->map : nullptr; }
  };

  /// Lines of a level whose equations the smoother solves exactly.
  struct Lines {
    const BilinearForm* form;
    SeparableBox box;
    std::array<bool, 3> solved;
  };

  void make_alone() {
    RectangularMatrix matrix = matrix_of(*forms_.back().form);
    add_of_forms(std::span(forms_).first(forms_.size() - 1));
    if (matrix.rows > choice_.coarsest) {
      const LevelForm& last = forms_.back();
      if (forms_.size() == 1 && finest_.a != nullptr)
        add_of_form(last, finest_.a);
      else
        add(describe(*last.form), choice_.coarse, nullptr, make_stored(matrix), blocks_of(last));
    }
    add_aggregates(std::move(matrix));
  }

  /// All processes share the levels with forms. The first process alone has the further levels, from the matrix of
  /// the last of these on; if it is small, this matrix is inverted directly.
  void make_together() {
    const LevelForm& last = forms_.back();
    RectangularMatrix matrix = matrix_on_first(last);
    std::optional<GatheredBox> box = gathered_box(*last.form, {of_.processes, last.part, last.subdomain});
    add_of_forms(forms_);
    hierarchy_.shared = hierarchy_.levels.size();
    do_on_all(*of_.processes, [&] {
      if (!of_.processes->is_first()) return hierarchy_.levels.push_back(Level<T>());
      if (matrix.rows <= choice_.coarsest) transfers_.emplace_back(identity(matrix.rows));
      if (box) matrix = add_boxes(std::move(matrix), std::move(*box));
      add_aggregates(std::move(matrix));
    });
  }

  std::string describe(const BilinearForm& form) const {
    if (!form.space->mesh().box || form.space->degree() > 1) return fmt::format("degree {}", form.space->degree());
    return describe_box(std::llround(of_.processes->sum(form.cells())));
  }
  static std::string describe_box(std::int64_t cells) { return fmt::format("box of {} cells", cells); }
  /// Matrix of the form of degree 1, which also determines the bad cells; on the GPU if it is assembled there.
  RectangularMatrix matrix_of(const BilinearForm& form) {
    if (form.unknowns == 0) return {};
    const bool is_given = finest_.matrix != nullptr && forms_.size() == 1,
               has_boxes = form.space->mesh().box.has_value();
    if (is_given && has_boxes) return view_of(*finest_.matrix);
    const bool on_gpu = device_ == Device::cuda && operators::can_assemble_on_gpu(form);
    const operators::ElementMatrices element_matrices =
        on_gpu ? operators::cuda_element_matrices(form) : operators::assemble_element_matrices(form);
    RectangularMatrix matrix = is_given ? view_of(*finest_.matrix)
                               : on_gpu ? operators::cuda_assemble(form, element_matrices)
                                        : rectangular(operators::assemble<double>(form, element_matrices));
    if (!has_boxes) {
      const Vector<double> diagonal = operators::copied(diagonal_of(matrix), element_matrices.device()),
                           here = operators::copied(diagonal, Device::host);
      bad_cells_ = bad_cells(form, suspect_cells(form, element_matrices, diagonal), here.span());
    }
    return matrix;
  }

  /// The whole matrix on the first process. Also determines the bad cells among those without shared unknowns.
  RectangularMatrix matrix_on_first(const LevelForm& of) {
    const FormSubdomain& subdomain = *of.subdomain;
    const bool has_boxes = of.form->space->mesh().box.has_value();
    operators::ElementMatrices of_interior;
    std::array<CsrMatrix<double>, 2> matrices;
    const std::array parts{&subdomain.interior, &subdomain.interface};
    do_on_all(*of_.processes, [&] {
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (!parts[i]->empty()) {
          operators::ElementMatrices of_part = operators::assemble_element_matrices(parts[i]->form);
          matrices[i] = operators::assemble<double>(parts[i]->form, of_part);
          if (i == 0) of_interior = std::move(of_part);
        }
    });
    const auto rows = operators::complete_rows(*of_.processes, subdomain, parts[0]->empty() ? nullptr : &matrices[0],
                                               parts[1]->empty() ? nullptr : &matrices[1]);
    if (!parts[0]->empty() && !has_boxes) {
      Vector<double> diagonal(std::ssize(subdomain.interior_unknowns));
      std::ranges::transform(subdomain.interior_unknowns, diagonal.data(),
                             [&](std::int32_t unknown) { return diagonal_entry(rows.matrix, unknown); });
      const std::vector<std::int32_t> suspects = suspect_cells(parts[0]->form, of_interior, diagonal);
      for (const std::int32_t cell : bad_cells(parts[0]->form, suspects, diagonal.span()))
        bad_cells_.push_back(parts[0]->cells[cell]);
    }
    return operators::gathered_on_first(*of_.processes, subdomain.map, rows);
  }

  /// Finds cells in which the diffusion jumps: there D^-1 A is small for many functions of degree 2 and more, which
  /// vary where the diffusion is small. The levels then use the quadrature of the finest one, and are its Galerkin
  /// products.
  void find_cut_cells(const BilinearForm& form) {
    constexpr operators::JumpRange jumps{30, 4e6};  // beyond, inverses in single precision have no correct digit
    if (form.space->degree() == 1) return;
    cut_cells_ = operators::cells_with_jumps(form, jumps, device_);
    if (of_.processes->sum(static_cast<double>(cut_cells_.size())) > 0)
      quadrature_of_levels_ = LowerQuadrature::of_fine;
  }

  /// Adds the form of the next coarser level, with the transfer to it; false if aggregation follows.
  bool add_coarser() {
    const BilinearForm& form = *forms_.back().form;
    const int degree = form.space->degree();
    const LevelForm& last = forms_.back();
    const PartOfForm of{of_.processes, last.part, last.subdomain};
    std::unique_ptr<CoarseForm> next;
    if (degree > 1)
      next = lower_degree(form, next_degree(form.space->mesh().shape, degree), of, quadrature_of_levels_);
    else if (of.alone() ? form.unknowns > choice_.coarsest : of_.processes->sum(form.unknowns) > least_shared)
      next = coarser_box(form, of);
    if (next == nullptr) return false;
    transfers_.emplace_back(std::move(next->transfer));
    forms_.push_back({&next->form, next->part != nullptr ? next->part.get() : last.part,
                      next->subdomain ? &*next->subdomain : nullptr});
    hierarchy_.forms.push_back(std::move(next));
    return true;
  }

  /// A matrix that further levels are made from, on the device.
  RectangularMatrix on_device(RectangularMatrix matrix) const {
    const bool stays = matrix.device() == device_ || matrix.rows <= choice_.coarsest;
    return stays ? std::move(matrix) : operators::copied(matrix, device_);
  }

  /// Adds Galerkin products on coarser boxes as far as cells can be merged; the last matrix.
  RectangularMatrix add_boxes(RectangularMatrix matrix, GatheredBox box) {
    matrix = on_device(std::move(matrix));
    while (matrix.rows > choice_.coarsest) {
      std::optional<MergedBox> next = merged(box);
      if (!next) break;
      RectangularMatrix p = operators::copied(next->prolongation, device_);
      matrix = galerkin(matrix, p);
      transfers_.emplace_back(std::move(p));
      box = std::move(next->box);
      if (matrix.rows > choice_.coarsest)
        add(describe_box(box.cell_count()), choice_.coarse, nullptr, make_stored(matrix), {});
    }
    return matrix;
  }

  /// Adds levels by smoothed aggregation from this matrix on, down to one that is inverted.
  void add_aggregates(RectangularMatrix matrix) {
    matrix = on_device(std::move(matrix));
    const std::int64_t first = matrix.nonzeros();
    std::int64_t all = first;
    const std::size_t before = hierarchy_.levels.size();
    while (matrix.rows > choice_.coarsest) {
      const RectangularMatrix strong = strong_connections(matrix, choice_.threshold);
      const operators::Aggregates aggregates = aggregate(strong);
      if (aggregates.count == 0 || aggregates.count > most_kept * matrix.rows)
        throw InputError(fmt::format("multigrid finds {} aggregates for {} unknowns, which are too many",
                                     aggregates.count, matrix.rows));
      RectangularMatrix p = prolongation(matrix, strong, aggregates, 4.0 / 3.0 / hierarchy_.levels.back().largest);
      RectangularMatrix coarse = galerkin(matrix, p);
      const bool is_dense =
          static_cast<double>(all + coarse.nonzeros()) > choice_.most_complexity * static_cast<double>(first) ||
          coarse.nonzeros() > most_entries * coarse.rows;
      if (is_dense && coarse.rows > choice_.coarsest) {
        p = prolongation(matrix, strong, aggregates, 0);
        coarse = galerkin(matrix, p);
        ++hierarchy_.unsmoothed;
      }
      matrix = std::move(coarse);
      transfers_.emplace_back(std::move(p));
      all += matrix.nonzeros();
      if (matrix.rows <= choice_.coarsest) break;
      add("aggregates", choice_.coarse, nullptr, make_stored(matrix), {});
      hierarchy_.levels.back().visits = 2;  // with 1, iterations grow with the number of these levels
    }
    if (hierarchy_.levels.size() > before + 2) hierarchy_.levels.back().visits = 1;  // its correction is exact
    hierarchy_.operator_complexity = first > 0 ? static_cast<double>(all) / static_cast<double>(first) : 1;
    hierarchy_.levels.push_back(unsmoothed("inverse", choice_.coarse, nullptr,
                                           make_stored(dense_inverse(operators::copied(matrix, Device::host)))));
  }

  /// Block inverses around the bad cells and, for degree 2 and more, around cells in which the diffusion jumps; on
  /// several processes only blocks without shared unknowns.
  operators::BlockInverses blocks_of(const LevelForm& of) const {
    std::vector<std::int32_t> cells = bad_cells_;
    if (of.form->space->degree() > 1) cells.insert(cells.end(), cut_cells_.begin(), cut_cells_.end());
    std::ranges::sort(cells);  // a cell in both lists gets one block
    cells.erase(std::ranges::unique(cells).begin(), cells.end());
    if (cells.empty() || of.subdomain == nullptr) return inverses_round(*of.form, cells);
    const operators::IndexMap& map = of.subdomain->map;
    std::vector<char> is_shared(map.unknowns.size(), 0);
    for (std::int32_t i = map.first_shared; i < map.size(); ++i) is_shared[map.unknowns[i]] = 1;
    return inverses_round(*of.form, cells, is_shared);
  }

  void add_of_forms(std::span<const LevelForm> forms) {
    for (const LevelForm& each : forms) add_of_form(each, &each == forms_.data() ? finest_.a : nullptr);
  }
  /// Adds a level with a given operator, or with one of the catalogue.
  void add_of_form(const LevelForm& of, const Operator<T>* given) {
    const bool stored = of.form->space->degree() == 1 && !of.form->space->mesh().box;
    const std::string name = given != nullptr               ? ""
                             : of.form->space->degree() > 1 ? choice_.fine
                             : stored                       ? choice_.coarse
                                                            : "matrix-free";
    add(describe(*of.form), name, given, given == nullptr ? operator_of(of, name) : nullptr, blocks_of(of), of.map(),
        lines_of(of));
    // A point smoother does not reduce functions that vary along the long axis only, which a lower degree does not
    // represent. Levels of degree 1 coarsen the short axes first.
    if (choice_.smoothing == 0 && of.form->space->degree() > 1 && !hierarchy_.levels.back().smooths_lines)
      hierarchy_.levels.back().smoothing =
          std::clamp(static_cast<int>(std::lround(1.1 * hierarchy_.stretching)), usual_smoothing, most_smoothing);
  }
  /// Lines, or planes, of a box along the axes on which its cells are short relative to the square root of the
  /// diffusion along them; empty if cells are not stretched, or if a line is too long.
  std::optional<Lines> lines_of(const LevelForm& of) const {
    constexpr double shorter = 3;
    if (!of_.alone() || of.form->space->degree() == 1 || hierarchy_.stretching < shorter) return std::nullopt;
    std::optional<SeparableBox> box = separable_box(*of.form);
    if (!box) return std::nullopt;
    std::array<double, 3> width{};
    for (int axis = 0; axis < 3; ++axis)
      for (const double each : box->lines[axis].widths)
        width[axis] += each / std::sqrt(box->lines[axis].diffusion) / std::ssize(box->lines[axis].widths);
    Lines lines{of.form, std::move(*box), {}};
    for (int axis = 0; axis < 3; ++axis) {
      lines.solved[axis] = width[axis] > 0 && shorter * width[axis] < std::ranges::max(width);
      if (lines.solved[axis] && !lines.box.lines[axis].is_short(device_)) return std::nullopt;
    }
    return lines;
  }
  std::unique_ptr<Operator<T>> operator_of(const LevelForm& of, const std::string& name) const {
    std::unique_ptr<Operator<T>> a;
    if (hierarchy_.levels.empty() && finest_.derived) a = finest_.derived(name);
    if (a != nullptr) return a;
    return of.subdomain != nullptr ? joined(*of.subdomain, name) : made(*of.form, name);
  }
  std::unique_ptr<Operator<T>> made(const BilinearForm& form, const std::string& name) const {
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
    operators::Options options;
    if (!hierarchy_.levels.empty() && name == "matrix-free") {  // cells are equally distinct on all levels
      const std::map<std::string, std::string> of_finest = hierarchy_.levels.front().a->chosen();
      if (const auto dedup = of_finest.find("dedup"); dedup != of_finest.end() && dedup->second == "off")
        options.insert(*dedup);
    }
    return row.make(from, options);
  }
  std::unique_ptr<Operator<T>> joined(const FormSubdomain& subdomain, const std::string& name) const {
    std::unique_ptr<Operator<T>> interior, interface;
    do_on_all(*of_.processes, [&] {
      if (!subdomain.interior.empty()) interior = made(subdomain.interior.form, name);
      if (!subdomain.interface.empty()) interface = made(subdomain.interface.form, name);
    });
    return std::make_unique<operators::DistributedOperator<T>>(*of_.processes, subdomain, device_, std::move(interior),
                                                               std::move(interface), operators::ExchangeMode::overlap);
  }
  std::unique_ptr<Operator<T>> make_stored(const RectangularMatrix& matrix) const {
    operators::Ingredients<T> from;
    from.device = device_;
    from.matrix = std::make_shared<const CsrMatrix<T>>(operators::on_host<T>(matrix));
    return operators::find_operator(choice_.coarse)->make(from, operators::Options());
  }

  /// Adds a smoothed level, with a given operator or one made for it.
  void add(std::string kind, std::string operator_name, const Operator<T>* given, std::unique_ptr<Operator<T>> made,
           operators::BlockInverses blocks, const operators::IndexMap* map = nullptr,
           const std::optional<Lines>& lines = std::nullopt) {
    Level<T> level = unsmoothed(std::move(kind), std::move(operator_name), given, std::move(made));
    std::optional<Vector<T>> diagonal;
    if (hierarchy_.levels.empty() && finest_.diagonal) {
      diagonal = finest_.diagonal(*level.a);
    } else if (lines) {
      diagonal.emplace(level.a->size(), device_);
      level.a->diagonal(*diagonal);
    }
    level.inverse_diagonal = inverse_diagonal_of(*level.a, "multigrid", diagonal ? &*diagonal : nullptr);
    operators::InverseDiagonal whole;  // D^-1 before blocks replace part of it
    if (lines) {
      whole = std::exchange(level.inverse_diagonal, operators::InverseDiagonal(level.a->size(), device_));
      operators::clear(level.inverse_diagonal);
      level.blocks = operators::make_tensor_solves<T>(
          tensor_inverse(*lines->form, lines->box, lines->solved, ordering_of(*level.a), *diagonal, device_), device_);
      level.smooths_lines = true;
    } else if (vector_kernels_for(*level.a).ownership().sum(blocks.count()) > 0) {
      renumber(ordering_of(*level.a, map), blocks.unknowns);
      whole = operators::copied(level.inverse_diagonal, device_);
      operators::clear_at(blocks.unknowns, level.inverse_diagonal);
      level.blocks = operators::make_local_solves<T>(std::move(blocks), device_);
    }
    if (level.blocks == nullptr) {
      level.largest = largest_eigenvalue(*level.a, level.inverse_diagonal, lanczos_steps);
    } else {
      const BlockJacobi<T> block_jacobi(level);
      level.largest = largest_eigenvalue(*level.a, whole, lanczos_steps, &block_jacobi);
    }
    constexpr double steps = 256;  // rounded, so that devices and processes agree in spite of rounding
    level.largest = std::ceil(level.largest * steps) / steps;
    hierarchy_.levels.push_back(std::move(level));
  }
  Level<T> unsmoothed(std::string kind, std::string operator_name, const Operator<T>* given,
                      std::unique_ptr<Operator<T>> made) const {
    Level<T> level;
    level.kind = std::move(kind);
    level.operator_name = std::move(operator_name);
    level.made = std::move(made);
    level.a = level.made != nullptr ? level.made.get() : given;
    level.smoothing = choice_.smoothing > 0 ? choice_.smoothing : usual_smoothing;
    return level;
  }

  /// Adds the transfers, whose unknowns so far are in the natural order of the levels.
  void add_transfers() {
    for (std::size_t l = 0; l < transfers_.size(); ++l) {
      Level<T>& fine = hierarchy_.levels[l];
      const Operator<T>& coarse = *hierarchy_.levels[l + 1].a;
      if (const auto* embedding = std::get_if<CellEmbedding>(&transfers_[l])) {
        const operators::IndexMap *of_fine = forms_[l].map(), *of_coarse = forms_[l + 1].map();
        fine.transfer = operators::make_cell_transfer<T>(*embedding, ordering_of(*fine.a, of_fine),
                                                         ordering_of(coarse, of_coarse), device_);
        if (of_fine != nullptr)
          fine.transfer = operators::make_distributed_transfer<T>(*of_.processes, *of_fine, *of_coarse,
                                                                  std::move(fine.transfer), device_);
      } else if (l + 1 != hierarchy_.shared) {
        fine.transfer = operators::make_matrix_transfer<T>(
            with_rows_of(*fine.a, with_columns_of(coarse, std::move(std::get<RectangularMatrix>(transfers_[l])))),
            device_);
      }
    }
    if (hierarchy_.shared > 0) add_gathering_transfer();
  }
  void add_gathering_transfer() {
    const std::size_t last = hierarchy_.shared - 1;
    std::unique_ptr<operators::Transfer<T>> on_first;
    do_on_all(*of_.processes, [&] {
      if (!of_.processes->is_first()) return;
      on_first = operators::make_matrix_transfer<T>(
          with_columns_of(*hierarchy_.levels[last + 1].a, std::move(std::get<RectangularMatrix>(transfers_[last]))),
          device_);
    });
    Level<T>& fine = hierarchy_.levels[last];
    fine.transfer = operators::make_gathering_transfer<T>(*of_.processes, *forms_[last].map(), fine.a->ordering(),
                                                          std::move(on_first), device_);
  }

  PartOfForm of_;
  Device device_;
  const FinestLevel<T>& finest_;
  const HierarchyChoice& choice_;
  Hierarchy<T> hierarchy_;
  std::vector<LevelForm> forms_;
  std::vector<std::int32_t> bad_cells_, cut_cells_;  ///< cut: cells in which the diffusion jumps
  LowerQuadrature quadrature_of_levels_ = LowerQuadrature::of_degree;
  std::vector<std::variant<CellEmbedding, RectangularMatrix>> transfers_;
};

}  // namespace

int next_degree(mesh::CellShape shape, int degree) { return degree == 4 && mesh::is_tensor(shape) ? 2 : degree - 1; }

template <std::floating_point T>
std::int64_t Level<T>::stored_bytes() const {
  std::int64_t sum = inverse_diagonal.bytes();
  if (made != nullptr) sum += made->footprint().stored_bytes;
  if (transfer != nullptr) sum += transfer->stored_bytes();
  if (blocks != nullptr) sum += blocks->stored_bytes();
  return sum;
}

template <std::floating_point T>
Hierarchy<T> make_hierarchy(const CsrMatrix<double>& matrix, Device device, const FinestLevel<T>& finest,
                            const HierarchyChoice& choice) {
  return HierarchyMaker<T>({}, device, finest, choice).make(matrix);
}
template <std::floating_point T>
Hierarchy<T> make_hierarchy(const BilinearForm& form, const PartOfForm& of, Device device, const FinestLevel<T>& finest,
                            const HierarchyChoice& choice) {
  return HierarchyMaker<T>(of, device, finest, choice).make(form);
}

template struct Level<double>;
template struct Level<float>;
template Hierarchy<double> make_hierarchy(const CsrMatrix<double>&, Device, const FinestLevel<double>&,
                                          const HierarchyChoice&);
template Hierarchy<float> make_hierarchy(const CsrMatrix<double>&, Device, const FinestLevel<float>&,
                                         const HierarchyChoice&);
template Hierarchy<double> make_hierarchy(const BilinearForm&, const PartOfForm&, Device, const FinestLevel<double>&,
                                          const HierarchyChoice&);
template Hierarchy<float> make_hierarchy(const BilinearForm&, const PartOfForm&, Device, const FinestLevel<float>&,
                                         const HierarchyChoice&);

}  // namespace femcg::solver
