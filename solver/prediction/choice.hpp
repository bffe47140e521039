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
/// Regret of auto among measured operators: its choice, by their predictions and, where it would make two, their
/// measured products, against the best by time to solution with so many iterations (by product where none were
/// measured). `predictions` and `measured` are of the same operators, place by place. None where there are fewer than
/// two.
std::optional<Regret> regret_of_auto(const std::vector<Prediction>& predictions, const std::vector<Measured>& measured);

}  // namespace femcg::solver
