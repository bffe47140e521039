#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solver/prediction/prediction.hpp"

namespace femcg::solver {

/// Decision of `operator: auto`.
struct OperatorDecision {
  OperatorChoice named = {};                  ///< operator that is expected to finish first
  std::size_t first = 0;                      ///< its index among the predictions
  std::optional<std::size_t> runner_up = {};  ///< index of another operator to be made too: timing trials decide
  std::string expected = {};                  ///< predicted times of the first and the next operator
  std::string why = {};                       ///< one sentence, if there is no runner-up
};

/// The operator with the least predicted time to solution. If others are predicted to take at most 15% more, the one
/// with the largest possible gain becomes the runner-up, provided that making it costs less than its gain: the saving
/// if it is 15% faster than predicted. Throws InputError if no operator is possible.
OperatorDecision decide(const std::vector<Prediction>& predictions);

/// Input of a choice of auto that does not depend on measured speeds.
struct RuleInput {
  const operators::BilinearForm* form = nullptr;
  std::int64_t loads = 1;
  std::string_view preconditioner = {};
  CgLoop loop = CgLoop::automatic;
  operators::Device device = operators::Device::host;
  int processes = 1;
};

/// Choice of auto that is the same for all speeds of the machine. With multigrid, few products cannot repay the making
/// of another operator: matrix-free, or csr for degree 1 if the levels begin with a matrix; except on a processor with
/// several loads at once. On a GPU, for one load and the automatic loop: matrices for simplices of degree 1, and for
/// few unknowns of degree up to 2 (in 2D 3); else matrix-free (tables in cases/h200). Empty if predictions must decide.
std::optional<OperatorDecision> decide_by_rule(const RuleInput& of);

/// Selection between an operator and its runner-up by the seconds of their products, with the reason as one sentence.
struct ProductSelection {
  bool runner_up = false, tie = false;
  std::string why;
};
/// Selects by time; products within 5% of each other tie, and the first operator wins.
ProductSelection judge(const std::string& first, double first_seconds, const std::string& runner_up,
                       double runner_up_seconds);

/// Measured times of an operator, for evaluating auto.
struct Measured {
  std::string name;
  double product = 0, set_up = 0, iteration = 0;  ///< seconds; iteration 0 if only products were measured
  double seconds(double iterations) const { return iteration > 0 ? set_up + iterations * iteration : product; }
  /// Seconds of a product within CG, given the seconds of CG's vector kernels: caches then hold other data than in a
  /// series of products.
  double within_cg(double passes) const { return iteration > 0 ? iteration - passes : product; }
};
struct Regret {
  std::size_t chosen = 0, best = 0;  ///< indices into the measured operators
  double regret = 0;                 ///< seconds of the chosen over those of the best, minus 1
  bool of_solution = true;           ///< in time to solution; false: in time of a product
  std::string why;
};
/// Regret of a choice against the best operator, for `iterations` iterations.
Regret regret_of(std::size_t chosen, std::string why, const std::vector<Measured>& measured, double iterations);

/// Regret of auto among measured operators: its choice by their predictions and, with a runner-up, by their measured
/// products, against the best in time to solution with `iterations` iterations (in product time if no iterations were
/// measured). `predictions` and `measured` list the same operators in the same order. Empty for fewer than two.
std::optional<Regret> regret_of_auto(const std::vector<Prediction>& predictions, const std::vector<Measured>& measured);

}  // namespace femcg::solver
