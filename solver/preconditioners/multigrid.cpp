#include "solver/preconditioners/multigrid.hpp"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
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
  return number && *number <= 8;
}
bool is_stored(std::string_view text) { return text == "csr" || text == "sell"; }

constexpr std::array<OptionDescription, 4> choices{{
    {"smoother", "1 to 8", "3", "degree of its polynomial: products before and after the next coarser level",
     is_smoother_degree},
    {"precision", "single or double", "single",
     "of the cycle; in double precision, with that of CG, the finest level is CG's operator",
     [](std::string_view text) { return text == "single" || text == "double"; }},
    {"fine", "matrix-free, lma-gather, csr or sell", "matrix-free", "of the levels of degree 2 and more",
     [](std::string_view text) { return text == "matrix-free" || text == "lma-gather" || is_stored(text); }},
    {"coarse", "csr or sell", "csr", "of the levels of degree 1 and of aggregates", is_stored},
}};

/// places[i]: where `from` has what `to` has at i. Empty where the two have one ordering.
template <std::floating_point T, std::floating_point S>
Vector<std::int32_t> places_between(const Operator<T>& from, const Operator<S>& to) {
  const Vector<std::int32_t> a = operators::copied(from.ordering(), Device::host),
                             b = operators::copied(to.ordering(), Device::host);
  const std::int64_t size = from.size();
  const auto unknown = [](const Vector<std::int32_t>& order, std::int64_t i) {
    return order.size() == 0 ? static_cast<std::int32_t>(i) : order[i];
  };
  bool same = true;
  for (std::int64_t i = 0; i < size && same; ++i) same = unknown(a, i) == unknown(b, i);
  if (same) return {};
  Vector<std::int32_t> place_in_a(size), places(size);
  for (std::int64_t i = 0; i < size; ++i) place_in_a[unknown(a, i)] = static_cast<std::int32_t>(i);
  for (std::int64_t i = 0; i < size; ++i) places[i] = place_in_a[unknown(b, i)];
  return operators::copied(places, from.device());
}

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
  Multigrid(const Operator<T>& a, int smoother, const operators::BilinearForm& form, const HierarchyChoice& choice)
      : Preconditioner<T>(a.size(), a.device()), smoother_(smoother), hierarchy_(make(a, form, choice)) {
    places_ = places_between(a, *hierarchy_.levels.front().a);
  }

  PreconditionerCost cost() const override {
    const int products = 2 * smoother_.degree();
    return {products, 7 * products, products};
  }
  std::map<std::string, std::string> chosen() const override {
    return {{"smoother", fmt::format("{}", smoother_.degree())},
            {"operator_complexity", fmt::format("{:.3g}", hierarchy_.operator_complexity)}};
  }
  std::vector<LevelSummary> levels() const override {
    std::vector<LevelSummary> all;
    for (const Level<S>& level : hierarchy_.levels)
      all.push_back({level.kind, level.operator_name, level.a->size(), level.stored_bytes(),
                     level.is_coarsest() ? 0 : level.largest, level.blocks != nullptr ? level.blocks->count() : 0});
    return all;
  }

 private:
  static Hierarchy<S> make(const Operator<T>& a, const operators::BilinearForm& form, const HierarchyChoice& choice) {
    if constexpr (std::is_same_v<T, S>)
      return make_hierarchy<S>(form, a.device(), &a, choice);
    else
      return make_hierarchy<S>(form, a.device(), nullptr, choice);
  }

  void solve(const Vector<T>& r, Vector<T>& z) const override {
    const Level<S>& finest = hierarchy_.levels.front();
    gather_rounded(r, places_, finest.b);
    cycle(hierarchy_, smoother_, 0);
    scatter_rounded(finest.x, places_, z);
  }
  void solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const override {
    if (column_.size() == 0)
      for (Vector<T>* vector : {&column_, &solved_}) *vector = Vector<T>(this->size(), this->device());
    for (int c = 0; c < r.count(); ++c) {
      operators::get_columns(r, c, std::span(&column_, 1));
      solve(column_, solved_);
      operators::set_columns(std::span<const Vector<T>>(&solved_, 1), c, z);
    }
  }

  Smoother<S> smoother_;
  Hierarchy<S> hierarchy_;
  Vector<std::int32_t> places_;
  mutable Vector<T> column_, solved_;
};

}  // namespace

std::span<const OptionDescription> multigrid_options() { return choices; }

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_multigrid(const Operator<T>& a, const Options& given,
                                                  const PreconditionerInput<T>& input) {
  if (input.form == nullptr || input.form->unknowns != a.size())
    throw InputError(
        "multigrid needs the whole mesh: of a matrix from a file, and on several processes, use preconditioner jacobi");
  HierarchyChoice choice;
  const auto smoother =
      static_cast<int>(*operators::parse_positive(operators::value_of(choices[0], "multigrid", given)));
  choice.fine = operators::value_of(choices[2], "multigrid", given);
  choice.coarse = operators::value_of(choices[3], "multigrid", given);
  if (operators::value_of(choices[1], "multigrid", given) == "double")
    return std::make_unique<Multigrid<T, T>>(a, smoother, *input.form, choice);
  return std::make_unique<Multigrid<T, float>>(a, smoother, *input.form, choice);
}

template std::unique_ptr<Preconditioner<double>> make_multigrid(const Operator<double>&, const Options&,
                                                                const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_multigrid(const Operator<float>&, const Options&,
                                                               const PreconditionerInput<float>&);

}  // namespace femcg::solver
