#include "solver/prediction/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "solver/messages/error.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

constexpr double near_the_best = 1.15;  // of the model's own error
constexpr double tie = 1.05;            // of noise
constexpr double products_tried = 4;    // of each, with the one that is not counted (trial.hpp)

/// What making the rival beside the first costs, and what it saves if it takes 15% less than expected.
struct Stake {
  double cost, gain;
};
Stake stake_of(const Prediction& first, const Prediction& rival) {
  return {std::max(0.0, rival.assembly - first.assembly) + rival.conversion + products_tried * rival.iteration,
          first.loops * (first.iteration - rival.iteration / near_the_best)};
}

std::string percent_more(double more, double less) { return fmt::format("{:.0f}% more", 100 * (more / less - 1)); }

/// In brackets the first operator that lacks memory.
std::string lacking(const std::vector<Prediction>& predictions) {
  const auto found = std::ranges::find_if(
      predictions, [](const Prediction& each) { return each.not_possible.starts_with(lacks_memory); });
  return found == predictions.end() ? "" : fmt::format(" ({}: {})", found->op.name, found->not_possible);
}

/// Seconds of the vector passes of an iteration, which are the same with either.
double passes_of_both(const Measured& first, const Measured& rival) {
  return std::max(0.0, std::min(first.iteration - first.product, rival.iteration - rival.product));
}

}  // namespace

OperatorDecision decide(const std::vector<Prediction>& predictions) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (predictions[i].possible()) order.push_back(i);
  if (order.empty())
    throw InputError(predictions.empty() ? std::string("operator auto: no operator of this build applies")
                                         : fmt::format("operator auto: none can be had; {}: {}",
                                                       predictions.front().op.name, predictions.front().not_possible));
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return predictions[a].seconds() < predictions[b].seconds(); });
  const Prediction& first = predictions[order[0]];
  OperatorDecision decision{.named = first.op, .first = order[0]};
  if (order.size() == 1) {
    decision.expected = first.op.name + " is the only operator that can be had";
    decision.why = decision.expected + lacking(predictions);
    return decision;
  }
  double most = 0;
  std::size_t near = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Prediction& rival = predictions[order[k]];
    if (rival.seconds() > near_the_best * first.seconds()) continue;
    ++near;
    const Stake stake = stake_of(first, rival);
    if (stake.gain - stake.cost <= most) continue;
    most = stake.gain - stake.cost;
    decision.rival = order[k];
  }
  const Prediction& second = predictions[order[1]];
  decision.expected =
      fmt::format("{} is expected to take {} to the solution, {} {} ({})", first.op.name, duration(first.seconds()),
                  second.op.name, duration(second.seconds()), percent_more(second.seconds(), first.seconds()));
  decision.why = decision.expected +
                 (near == 0 ? "" : ", and making another beside it would take longer than it can gain") +
                 lacking(predictions);
  return decision;
}

ProductVerdict judge(const std::string& first, double first_seconds, const std::string& rival, double rival_seconds) {
  const std::string measured = fmt::format("three products each within CG took {} with {} and {} with {}",
                                           duration(first_seconds), first, duration(rival_seconds), rival);
  if (rival_seconds * tie < first_seconds)
    return {true, false,
            fmt::format("{}, so that {} takes the place of the one that was expected to win", measured, rival)};
  if (first_seconds * tie < rival_seconds)
    return {false, false, fmt::format("{}, so that {}, which was expected to win, stays", measured, first)};
  return {false, true, fmt::format("{}: a tie, and {} stays", measured, first)};
}

std::string why_on_host(double host_seconds, double gpu_seconds, double start_up) {
  if (gpu_seconds + start_up < host_seconds) return "";
  return fmt::format(
      "the problem is too small to gain from the GPU: {} are expected on the CPU, and {} there, {} of "
      "them until it starts",
      duration(host_seconds), duration(gpu_seconds + start_up), duration(start_up));
}

std::optional<Regret> regret_of_auto(const std::vector<Prediction>& predictions,
                                     const std::vector<Measured>& measured) {
  const auto possible = std::ranges::count_if(predictions, &Prediction::possible);
  if (possible < 2 || predictions.size() != measured.size()) return std::nullopt;
  const OperatorDecision decision = decide(predictions);
  Regret regret;
  regret.chosen = decision.first;
  regret.why = decision.why;
  if (decision.rival && !predictions[decision.first].resident) {  // such a loop is not begun with trials
    const Measured &first = measured[decision.first], &rival = measured[*decision.rival];
    const double passes = passes_of_both(first, rival);
    const ProductVerdict verdict = judge(first.name, first.within_cg(passes), rival.name, rival.within_cg(passes));
    if (verdict.rival) regret.chosen = *decision.rival;
    regret.why = verdict.why;
  }
  const double iterations = predictions[decision.first].loops;
  const auto seconds = [&](std::size_t i) { return measured[i].seconds(iterations); };
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (seconds(i) < seconds(regret.best)) regret.best = i;
  regret.of_solution = measured[regret.chosen].iteration > 0;
  regret.regret = seconds(regret.chosen) / seconds(regret.best) - 1;
  return regret;
}

}  // namespace femcg::solver
