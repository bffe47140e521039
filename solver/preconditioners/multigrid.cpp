#include "solver/preconditioners/multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/permutation.hpp"
#include "operators/capabilities.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/expected_entries.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/cycle.hpp"

namespace femcg::solver {

using operators::Device;
using operators::MultiVector;
using operators::Operator;
using operators::OptionDescription;
using operators::Options;
using operators::Vector;

namespace {

bool is_smoother_degree(std::string_view text) {
  const auto number = operators::parse_positive(text);
  return text == "auto" || (number && *number <= 24);
}
bool is_stored(std::string_view text) { return text == "csr" || text == "sell"; }

constexpr std::array<OptionDescription, 4> choices{{
    {"smoother", "auto or 1 to 24", "auto",
     "degree of its polynomial: products before and after the next coarser level; auto: 3, and for degree 2 and more "
     "as many as the cells are longer than wide",
     is_smoother_degree},
    {"precision", "single or double", "single",
     "of the cycle; in double precision, with that of CG, the finest level is CG's operator",
     [](std::string_view text) { return text == "single" || text == "double"; }},
    {"levels.fine", "auto, matrix-free, lma-gather, csr or sell", "auto",
     "of the levels of degree 2 and more; auto: csr for several loads at once on the host, else matrix-free",
     [](std::string_view text) {
       return text == "auto" || text == "matrix-free" || text == "lma-gather" || is_stored(text);
     }},
    {"levels.coarse", "csr or sell", "csr", "of the levels of degree 1 and of aggregates", is_stored},
}};

/// Multigrid for CG in precision T, with the cycle in precision S.
template <std::floating_point T, std::floating_point S>
class Multigrid final : public Preconditioner<T> {
 public:
  Multigrid(const Operator<T>& a, const PreconditionerInput<T>& input, const HierarchyChoice& choice)
      : Preconditioner<T>(a.size(), a.device()) {
    make(a, input, choice);
    for (std::size_t l = 0; l < hierarchy_.levels.size(); ++l) {
      const Level<S>& level = hierarchy_.levels[l];
      if (level.is_elsewhere()) continue;
      const operators::VectorOwnership& ownership = vector_kernels_for(*level.a).ownership();
      const auto of_all = [&](std::int64_t mine) {
        return static_cast<std::int64_t>(ownership.sum(static_cast<double>(mine)));
      };
      levels_.push_back({level.kind, level.operator_name, of_all(ownership.counted(level.a->size())),
                         of_all(level.stored_bytes() + cycle_->bytes(l)), level.is_coarsest() ? 0 : level.largest,
                         of_all(level.blocks != nullptr ? level.blocks->count() : 0)});
    }
  }

  bool approximate(const Vector<T>& b, Vector<T>& x) const override {
    gather_rows(b, places_, 1, cycle_->b());
    cycle_->run_full(cycles_at_start_);
    scatter_rows(cycle_->x(), places_, 1, x);
    return true;
  }
  bool waits() const override { return hierarchy_.shared > 0; }
  bool takes_few_iterations() const override { return true; }

  PreconditionerCost cost() const override {
    const int products = 2 * hierarchy_.levels.front().smoothing;
    return {products, 7 * products, products};
  }
  std::map<std::string, std::string> chosen() const override {
    std::map<std::string, std::string> all{
        {"smoother", fmt::format("{}", hierarchy_.levels.front().smoothing)},
        {"operator_complexity", fmt::format("{:.3g}", hierarchy_.operator_complexity)}};
    if (hierarchy_.unsmoothed > 0) all["unsmoothed_levels"] = fmt::format("{}", hierarchy_.unsmoothed);
    if (hierarchy_.stretching > 3) all["stretched_cells"] = fmt::format("{:.3g}", hierarchy_.stretching);
    return all;
  }
  std::vector<LevelSummary> levels() const override { return levels_; }

 private:
  void make(const Operator<T>& a, const PreconditionerInput<T>& input, const HierarchyChoice& choice) {
    FinestLevel<S> finest;
    if constexpr (std::is_same_v<T, S>) finest.a = &a;
    if constexpr (std::is_same_v<S, float> && !std::is_same_v<T, S>)
      if (const auto* with = dynamic_cast<const operators::WithSinglePrecision*>(&a))
        finest.derived = [with](std::string_view name) { return with->in_single_precision(name); };
    finest.matrix = input.matrix;
    std::optional<Vector<std::int32_t>> places;
    if (input.diagonal != nullptr)
      finest.diagonal = [&](const Operator<S>& level) {
        places = operators::places_between(a.ordering(), level.ordering(), a.size());
        Vector<S> diagonal(level.size(), level.device());
        gather_rows(*input.diagonal, *places, 1, diagonal);
        return diagonal;
      };
    hierarchy_ = input.form == nullptr ? make_hierarchy<S>(*input.matrix, a.device(), finest, choice)
                                       : make_hierarchy<S>(*input.form, input.of, a.device(), finest, choice);
    if (input.form != nullptr && input.form->space->degree() == 4) cycles_at_start_ = 3;
    places_ = places ? std::move(*places)
                     : operators::places_between(a.ordering(), hierarchy_.levels.front().a->ordering(), a.size());
    cycle_ = std::make_unique<Cycle<S, Vector>>(hierarchy_);
  }

  void solve(const Vector<T>& r, Vector<T>& z) const override {
    gather_rows(r, places_, 1, cycle_->b());
    cycle_->run();
    scatter_rows(cycle_->x(), places_, 1, z);
  }
  void solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const override {
    if (columns_ == nullptr || columns_->b().count() != r.count()) {
      columns_.reset();
      columns_ = std::make_unique<Cycle<S, MultiVector>>(hierarchy_, r.count());
    }
    gather_rows(r.entries(), places_, r.stride(), columns_->b().entries());
    columns_->run();
    scatter_rows(columns_->x().entries(), places_, z.stride(), z.entries());
  }

  Hierarchy<S> hierarchy_;
  std::unique_ptr<Cycle<S, Vector>> cycle_;
  mutable std::unique_ptr<Cycle<S, MultiVector>> columns_;  ///< for the last used number of vectors
  std::vector<LevelSummary> levels_;
  int cycles_at_start_ = 2;      ///< of full_multigrid on the finest level
  Vector<std::int32_t> places_;  ///< places_between CG's operator and the finest level's
};

}  // namespace

std::span<const OptionDescription> multigrid_options() { return choices; }

std::string_view fine_operator(Device device, std::int64_t systems) {
  return device == Device::host && systems > 1 ? "csr" : "matrix-free";
}

std::int64_t bytes_of_multigrid(const operators::BilinearForm* form, std::int64_t nonzeros, Device device,
                                std::string_view of_cg, std::int64_t systems) {
  constexpr double of_entry = 8;      // bytes per entry of a matrix in CSR: value and column
  constexpr double complexity = 1.6;  // operator complexity of aggregates
  if (form == nullptr) return static_cast<std::int64_t>(complexity * of_entry * static_cast<double>(nonzeros));
  // Vectors of one right-hand side and of all, and D^-1, per unknown.
  const double stride =
      systems > 1 ? std::bit_ceil(static_cast<unsigned>(std::min<std::int64_t>(systems, MultiVector<float>::most))) : 0;
  const double of_unknown = (5 + 4 * stride) * sizeof(float) + (device == Device::cuda ? 6 : 5);
  const double of_aggregates = 50;                                   // P and P' with three entries per row
  const double of_coarse_node = 12 + (stride > 1 ? 4 * stride : 0);  // per node of a coarse cell, in a transfer
  const mesh::CellShape shape = form->space->mesh().shape;
  const double unknowns = form->unknowns, cells = form->cells();
  const operators::StorageEstimate estimate =
      operators::find_operator("matrix-free")->estimate(operators::Extent<float>{device, form}, {});
  const bool stored = fine_operator(device, systems) == "csr";
  double bytes = 0;
  int degree = form->space->degree();
  const auto part_of_unknowns = [&] {
    return std::pow(static_cast<double>(degree) / form->space->degree(), mesh::dimension(shape));
  };
  const auto of_operator = [&] {
    return stored && degree > 1 ? of_entry * operators::expected_entries(*form, degree)
                                : part_of_unknowns() * static_cast<double>(estimate.product.stored_bytes);
  };
  for (; degree > 1; degree = next_degree(shape, degree))
    bytes += of_operator() + part_of_unknowns() * of_unknown * unknowns +
             of_coarse_node * cells * mesh::Lattice(shape, next_degree(shape, degree)).size();
  constexpr std::array row_lengths{7, 9, 15, 27};  // triangles, quadrilaterals, tetrahedra, hexahedra
  const double row_length = row_lengths[(mesh::dimension(shape) - 2) * 2 + (mesh::is_tensor(shape) ? 1 : 0)];
  const bool has_boxes = form->space->mesh().box && mesh::is_tensor(shape);
  const double all_boxes = 1 / (1 - std::pow(0.5, mesh::dimension(shape)));
  bytes += has_boxes
               ? all_boxes * (of_operator() + part_of_unknowns() * of_unknown * unknowns)
               : part_of_unknowns() * unknowns * (of_unknown + of_aggregates + complexity * of_entry * row_length);
  bytes += of_entry * 300 * 300;  // dense inverse
  if (device == Device::cuda && of_cg == "matrix-free" && (form->space->degree() > 1 || has_boxes))
    for (const operators::StoredArray& array : estimate.arrays)
      if (array.name == "places of dofs") bytes -= static_cast<double>(array.bytes);  // shared with CG's operator
  return static_cast<std::int64_t>(bytes);
}

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_multigrid(const Operator<T>& a, const Options& given,
                                                  const PreconditionerInput<T>& input) {
  if (input.form == nullptr && input.matrix == nullptr)
    throw InputError("multigrid of a matrix from a file is for one process; use preconditioner jacobi");
  HierarchyChoice choice;
  if (const std::string_view smoother = operators::value_of(choices[0], "multigrid", given); smoother != "auto")
    choice.smoothing = static_cast<int>(*operators::parse_positive(smoother));
  choice.fine = operators::value_of(choices[2], "multigrid", given);
  if (choice.fine == "auto") choice.fine = fine_operator(a.device(), input.systems);
  choice.coarse = operators::value_of(choices[3], "multigrid", given);
  if (operators::value_of(choices[1], "multigrid", given) == "double")
    return std::make_unique<Multigrid<T, T>>(a, input, choice);
  return std::make_unique<Multigrid<T, float>>(a, input, choice);
}

template std::unique_ptr<Preconditioner<double>> make_multigrid(const Operator<double>&, const Options&,
                                                                const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_multigrid(const Operator<float>&, const Options&,
                                                               const PreconditionerInput<float>&);

}  // namespace femcg::solver
