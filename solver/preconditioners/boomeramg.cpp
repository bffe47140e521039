#include "solver/preconditioners/boomeramg.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/messages/error.hpp"
#include "solver/preconditioners/hypre_amg.hpp"

namespace femcg::solver {

using operators::CsrMatrix;
using operators::Operator;
using operators::OptionDescription;
using operators::Options;
using operators::Vector;

namespace {

/// Parses a number in [0, 1).
std::optional<double> parse_fraction(std::string_view text) {
  const std::optional<double> number = operators::parse_number(text);
  return number && *number >= 0 && *number < 1 ? number : std::nullopt;
}

constexpr std::array<OptionDescription, 3> settings{{
    {"strength", "a number from 0 to less than 1, or auto", "auto",
     "fraction of the largest entry of a row above which one is strong; auto: 0.5 in 3D, else 0.25",
     [](std::string_view text) { return text == "auto" || parse_fraction(text).has_value(); }},
    {"coarsening", "hmis, pmis or falgout", "hmis", "how the unknowns of the next level are chosen",
     [](std::string_view text) { return text == "hmis" || text == "pmis" || text == "falgout"; }},
    {"aggressive", "0 to 10", "1", "number of finest levels that are coarsened twice",
     [](std::string_view text) {
       const auto number = operators::parse_positive(text);
       return text == "0" || (number && *number <= 10);
     }},
}};

AmgChoice choice_of(const Options& given, const operators::BilinearForm* form) {
  const auto value = [&](int i) {
    return operators::value_of(settings[static_cast<std::size_t>(i)], "boomeramg", given);
  };
  AmgChoice choice;
  const bool solid = form != nullptr && form->space->mesh().dimension() == 3;
  choice.strength = parse_fraction(value(0)).value_or(solid ? 0.5 : 0.25);
  for (const std::string_view known : {"hmis", "pmis", "falgout"})
    if (value(1) == known) choice.coarsening = known;
  choice.aggressive = static_cast<int>(operators::parse_positive(value(2)).value_or(0));
  return choice;
}

template <std::floating_point T>
class BoomerAmg final : public Preconditioner<T> {
 public:
  BoomerAmg(const Operator<T>& a, const CsrMatrix<double>& matrix, const AmgChoice& choice)
      : Preconditioner<T>(a.size(), a.device()),
        choice_(choice),
        cycle_(matrix, choice),
        order_(operators::copied(a.ordering(), a.device())),
        r_(a.size()),
        z_(a.size()) {}

  /// Each level's matrix is read by the pre-smoother, for the residual, and by the post-smoother.
  PreconditionerCost cost() const override {
    constexpr double words_an_entry = 1.5;
    const double entries = complexity() * static_cast<double>(cycle_.levels().front().nonzeros);
    return {0, static_cast<std::int64_t>(3 * words_an_entry * entries / this->size())};
  }
  std::map<std::string, std::string> chosen() const override {
    return {{"strength", fmt::format("{}", choice_.strength)},
            {"operator_complexity", fmt::format("{:.3g}", complexity())}};
  }
  std::vector<LevelSummary> levels() const override {
    constexpr std::int64_t entry_bytes = sizeof(double) + sizeof(std::int32_t);
    std::vector<LevelSummary> all;
    for (const AmgLevel& level : cycle_.levels())
      all.push_back({all.empty() ? "all" : "points", "hypre", level.rows, level.nonzeros * entry_bytes});
    return all;
  }

 private:
  double complexity() const {
    double entries = 0;
    const std::vector<AmgLevel> levels = cycle_.levels();
    for (const AmgLevel& level : levels) entries += static_cast<double>(level.nonzeros);
    return entries / static_cast<double>(levels.front().nonzeros);
  }
  /// hypre's vectors are in natural order and in double precision.
  void solve(const Vector<T>& r, Vector<T>& z) const override {
    const bool ordered = order_.size() > 0;
    const auto place = [&](std::int64_t i) { return ordered ? order_[i] : i; };
    if constexpr (std::is_same_v<T, double>)
      if (!ordered) return cycle_.apply(r.data(), z.data());
    operators::for_each_row(r.size(), [&](std::int64_t i) { r_[place(i)] = static_cast<double>(r[i]); });
    cycle_.apply(r_.data(), z_.data());
    operators::for_each_row(z.size(), [&](std::int64_t i) { z[i] = static_cast<T>(z_[place(i)]); });
  }

  AmgChoice choice_;
  AmgByHypre cycle_;
  Vector<std::int32_t> order_;
  mutable Vector<double> r_, z_;
};

}  // namespace

std::span<const OptionDescription> boomeramg_options() { return settings; }

std::int64_t bytes_of_boomeramg(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device,
                                std::string_view, std::int64_t) {
  constexpr std::int64_t of_entry = 37;
  constexpr double joined = 0.7;  // entries of the matrix over those of all element matrices
  if (form != nullptr)
    nonzeros = static_cast<std::int64_t>(joined * std::pow(form->dofs_per_cell(), 2) * form->cells());
  return of_entry * nonzeros;
}

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_boomeramg(const Operator<T>& a, const Options& given,
                                                  const PreconditionerInput<T>& input) {
  const AmgChoice choice = choice_of(given, input.form);
  if (a.size() == 0) return make_preconditioner("none", a);
  if (input.matrix != nullptr) return std::make_unique<BoomerAmg<T>>(a, *input.matrix, choice);
  if (input.form == nullptr || input.form->unknowns != a.size())
    throw InputError("boomeramg needs the whole problem in one process: use preconditioner jacobi");
  const CsrMatrix<double> matrix =
      operators::assemble<double>(*input.form, operators::assemble_element_matrices(*input.form));
  return std::make_unique<BoomerAmg<T>>(a, matrix, choice);
}

template std::unique_ptr<Preconditioner<double>> make_boomeramg(const Operator<double>&, const Options&,
                                                                const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_boomeramg(const Operator<float>&, const Options&,
                                                               const PreconditionerInput<float>&);

}  // namespace femcg::solver
