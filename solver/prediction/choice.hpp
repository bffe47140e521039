#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solver/prediction/prediction.hpp"

namespace femcg::solver {

/// Decision of `operator: auto`.
struct OperatorDecision {
  OperatorChoice named = {};                  ///< the one that is expected to be there first
  std::size_t first = 0;                      ///< its place among the predictions
  std::optional<std::size_t> runner_up = {};  ///< of another to be made beside it: the products decide
  std::string expected = {};                  ///< what the first is expected to take, and the next
  std::string why = {};                       ///< one sentence, where there is no runner-up to wait for
};

/// The operator with the least expected time to solution. Where others are expected to take at most 15% more, the one
/// that may gain most is made beside it, if making it takes less than it can gain: what it would save if the model had
/// taken it for 15% slower than it is. Throws InputError where none can be had.
OperatorDecision decide(const std::vector<Prediction>& predictions);

/// The input of a choice of auto that asks for no speeds.
struct RuleInput {
  const operators::BilinearForm* form = nullptr;
  std::int64_t loads = 1;
  std::string_view preconditioner;
  CgLoop loop = CgLoop::automatic;
  operators::Device device = operators::Device::host;
  int processes = 1;
};

/// The operator that auto takes whatever the speeds of the machine are. With multigrid no other gains by a few products
/// what it takes to be made: matrix-free, or csr of degree 1 where the levels begin with a matrix; except where a
/// processor multiplies several loads at once. On a GPU, for one load and the loop that it takes by itself: matrices of
/// simplices of degree 1 and of few unknowns of degree up to 2, in the plane 3; else matrix-free (tables in
/// cases/h200). None where predictions have to tell.
std::optional<OperatorDecision> decide_by_rule(const RuleInput& of);

/// Selection between an operator and its runner-up by the seconds of their products, with the reason as one sentence.
struct ProductSelection {
  bool runner_up = false, tie = false;
  std::string why;
};
/// Within 5% of each other they tie, and the first is kept.
ProductSelection judge(const std::string& first, double first_seconds, const std::string& runner_up,
                       double runner_up_seconds);

/// How auto did among operators that were measured.
struct Measured {
  std::string name;
  double product = 0, set_up = 0, iteration = 0;  ///< seconds; iteration 0 where products are all there is
  double seconds(double iterations) const { return iteration > 0 ? set_up + iterations * iteration : product; }
  /// Seconds of a product within CG, whose passes take so long: caches have other things in them than where products
  /// follow each other, and other cores' lines.
  double within_cg(double passes) const { return iteration > 0 ? iteration - passes : product; }
};
struct Regret {
  std::size_t chosen = 0, best = 0;  ///< places among those measured
  double regret = 0;                 ///< seconds of the chosen over those of the best, less 1
  bool of_solution = true;           ///< or of a product
  std::string why;
};
/// Regret of one choice against the best, in so many iterations.
Regret regret_of(std::size_t chosen, std::string why, const std::vector<Measured>& measured, double iterations);

/// Regret of auto among measured operators: its choice, by their predictions and, where it would make two, their
/// measured products, against the best by time to solution with so many iterations (by product where none were
/// measured). `predictions` and `measured` are of the same operators, place by place. None where there are fewer than
/// two.
std::optional<Regret> regret_of_auto(const std::vector<Prediction>& predictions, const std::vector<Measured>& measured);

}  // namespace femcg::solver
