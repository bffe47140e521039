#include "solver/preconditioners/multigrid.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/capabilities.hpp"
#include "operators/catalogue.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/cycle.hpp"

namespace femcg::solver {

using operators::Device;
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
    {"levels.fine", "matrix-free, lma-gather, csr or sell", "matrix-free", "of the levels of degree 2 and more",
     [](std::string_view text) { return text == "matrix-free" || text == "lma-gather" || is_stored(text); }},
    {"levels.coarse", "csr or sell", "csr", "of the levels of degree 1 and of aggregates", is_stored},
}};

/// to[i] = from[places[i]], rounded.
template <class From, class To>
void gather_rounded(const Vector<From>& from, const Vector<std::int32_t>& places, Vector<To>& to) {
  if constexpr (std::is_same_v<From, double>)
    if (from.device() == Device::cuda) return operators::cuda_gather_rounded(from, places, to);
  if constexpr (std::is_same_v<From, To>)
    if (from.device() == Device::cuda) return places.size() == 0 ? copy(from, to) : gather(from, places, to);
  operators::for_each_row(to.size(),
                          [&](std::int64_t i) { to[i] = static_cast<To>(from[places.size() == 0 ? i : places[i]]); });
}
/// to[places[i]] = from[i].
template <class From, class To>
void scatter_rounded(const Vector<From>& from, const Vector<std::int32_t>& places, Vector<To>& to) {
  if constexpr (std::is_same_v<To, double>)
    if (to.device() == Device::cuda) {
      operators::clear(to);
      return operators::cuda_scatter_added(from, places, to);
    }
  if constexpr (std::is_same_v<From, To>)
    if (from.device() == Device::cuda) return places.size() == 0 ? copy(from, to) : scatter(from, places, to);
  operators::for_each_row(from.size(),
                          [&](std::int64_t i) { to[places.size() == 0 ? i : places[i]] = static_cast<To>(from[i]); });
}

/// CG in precision T, the cycle in precision S.
template <std::floating_point T, std::floating_point S>
class Multigrid final : public Preconditioner<T> {
 public:
  Multigrid(const Operator<T>& a, const PreconditionerInput<T>& input, const HierarchyChoice& choice)
      : Preconditioner<T>(a.size(), a.device()) {
    make(a, input, choice);
    for (const Level<S>& level : hierarchy_.levels) {
      if (level.is_elsewhere()) continue;
      const operators::VectorOwnership& ownership = vector_kernels_for(*level.a).ownership();
      const auto of_all = [&](std::int64_t mine) {
        return static_cast<std::int64_t>(ownership.sum(static_cast<double>(mine)));
      };
      levels_.push_back({level.kind, level.operator_name, of_all(ownership.counted(level.a->size())),
                         of_all(level.stored_bytes()), level.is_coarsest() ? 0 : level.largest,
                         of_all(level.blocks != nullptr ? level.blocks->count() : 0)});
    }
  }

  bool approximate(const Vector<T>& b, Vector<T>& x) const override {
    solve_by([this] { full_multigrid(hierarchy_, 0, cycles_at_start_); }, b, x);
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
        finest.make_matrix_free = [with] { return with->in_single_precision(); };
    std::optional<Vector<std::int32_t>> places;
    if (input.diagonal != nullptr)
      finest.diagonal = [&](const Operator<S>& level) {
        places = operators::places_between(a.ordering(), level.ordering(), a.size());
        Vector<S> diagonal(level.size(), level.device());
        gather_rounded(*input.diagonal, *places, diagonal);
        return diagonal;
      };
    hierarchy_ = input.form == nullptr ? make_hierarchy<S>(*input.matrix, a.device(), finest, choice)
                                       : make_hierarchy<S>(*input.form, input.of, a.device(), finest, choice);
    if (input.form != nullptr && input.form->space->degree() == 4) cycles_at_start_ = 3;
    places_ = places ? std::move(*places)
                     : operators::places_between(a.ordering(), hierarchy_.levels.front().a->ordering(), a.size());
  }

  void solve(const Vector<T>& r, Vector<T>& z) const override {
    solve_by([this] { cycle(hierarchy_); }, r, z);
  }
  template <class Method>
  void solve_by(const Method& method, const Vector<T>& r, Vector<T>& z) const {
    const Level<S>& finest = hierarchy_.levels.front();
    gather_rounded(r, places_, finest.b);
    method();
    scatter_rounded(finest.x, places_, z);
  }

  Hierarchy<S> hierarchy_;
  std::vector<LevelSummary> levels_;
  int cycles_at_start_ = 2;      ///< of full_multigrid on the finest level
  Vector<std::int32_t> places_;  ///< places_between CG's operator and that of the finest level
};

}  // namespace

std::span<const OptionDescription> multigrid_options() { return choices; }

std::int64_t bytes_of_multigrid(const operators::BilinearForm* form, std::int64_t nonzeros, Device device,
                                std::string_view of_cg) {
  constexpr double of_entry = 8;      // of a matrix in compressed rows: value and column
  constexpr double complexity = 1.6;  // of aggregates
  if (form == nullptr) return static_cast<std::int64_t>(complexity * of_entry * static_cast<double>(nonzeros));
  const double of_unknown = 5 * sizeof(float) + (device == Device::cuda ? 6 : 5);  // vectors, D^-1; of a transfer
  const double of_aggregates = 50;                                                 // P and P' of three entries a row
  const double of_coarse_node = 12;                                                // of a cell, in a transfer
  const mesh::CellShape shape = form->space->mesh().shape;
  const double unknowns = form->unknowns, cells = form->cells();
  const operators::StorageEstimate estimate =
      operators::find_operator("matrix-free")->estimate(operators::Extent<float>{device, form}, {});
  const auto of_operator = static_cast<double>(estimate.product.stored_bytes);
  double bytes = 0;
  int degree = form->space->degree();
  const auto part_of_unknowns = [&] {
    return std::pow(static_cast<double>(degree) / form->space->degree(), mesh::dimension(shape));
  };
  for (; degree > 1; degree = next_degree(shape, degree))
    bytes += part_of_unknowns() * (of_operator + of_unknown * unknowns) +
             of_coarse_node * cells * mesh::Lattice(shape, next_degree(shape, degree)).size();
  constexpr std::array row_lengths{7, 9, 15, 27};  // of triangles, quadrilaterals, tetrahedra, hexahedra
  const double row_length = row_lengths[(mesh::dimension(shape) - 2) * 2 + (mesh::is_tensor(shape) ? 1 : 0)];
  const bool has_boxes = form->space->mesh().box && mesh::is_tensor(shape);
  const double all_boxes = 1 / (1 - std::pow(0.5, mesh::dimension(shape)));
  bytes +=
      part_of_unknowns() * (has_boxes ? all_boxes * (of_operator + of_unknown * unknowns)
                                      : unknowns * (of_unknown + of_aggregates + complexity * of_entry * row_length));
  bytes += of_entry * 300 * 300;  // the inverse
  if (device == Device::cuda && of_cg == "matrix-free" && (form->space->degree() > 1 || has_boxes))
    for (const operators::StoredArray& array : estimate.arrays)
      if (array.name == "places of dofs") bytes -= static_cast<double>(array.bytes);  // CG's operator has them
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
