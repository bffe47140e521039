#include "solver/prediction/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

constexpr double near_the_best = 1.15;  // about the model's own error
constexpr double tie = 1.05;            // about the noise
constexpr double products_tried = 4;    // per operator, including the one that is not counted (timing_trial.hpp)

/// Cost of making the runner-up in addition to the first, and its gain if it is 15% faster than predicted; in seconds.
struct Stake {
  double cost, gain;
};
Stake stake_of(const Prediction& first, const Prediction& runner_up) {
  return {
      std::max(0.0, runner_up.assembly - first.assembly) + runner_up.conversion + products_tried * runner_up.iteration,
      first.loops *
          (first.iteration - runner_up.iteration / near_the_best + first.preconditioner - runner_up.preconditioner)};
}

std::string percent_more(double more, double less) { return fmt::format("{:.0f}% more", 100 * (more / less - 1)); }

/// Note in brackets on the first operator that lacks memory.
std::string lacking(const std::vector<Prediction>& predictions) {
  const auto found = std::ranges::find_if(
      predictions, [](const Prediction& each) { return each.not_possible.starts_with(lacks_memory); });
  return found == predictions.end() ? "" : fmt::format(" ({}: {})", found->op.name, found->not_possible);
}

/// Seconds of the vector kernels of an iteration, which are the same for both operators.
double passes_of_both(const Measured& first, const Measured& runner_up) {
  return std::max(0.0, std::min(first.iteration - first.product, runner_up.iteration - runner_up.product));
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
    decision.expected =
        predictions.size() == 1
            ? fmt::format("{} is expected to take {} to the solution, and others longer to be made than they save",
                          first.op.name, duration(first.seconds()))
            : first.op.name + " is the only operator that can be had";
    decision.why = decision.expected + lacking(predictions);
    return decision;
  }
  double most = 0;
  std::size_t near = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Prediction& runner_up = predictions[order[k]];
    if (runner_up.seconds() > near_the_best * first.seconds()) continue;
    ++near;
    const Stake stake = stake_of(first, runner_up);
    if (stake.gain - stake.cost <= most) continue;
    most = stake.gain - stake.cost;
    decision.runner_up = order[k];
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

std::optional<OperatorDecision> decide_by_rule(const RuleInput& of) {
  using operators::Device;
  const mesh::FunctionSpace& space = *of.form->space;
  const bool is_tensor = mesh::is_tensor(space.mesh().shape), in_plane = space.mesh().dimension() == 2;
  const std::int32_t few = in_plane ? 225'000 : 100'000;  // unknowns of a matrix that a persistent kernel caches
  const bool is_small = of.form->unknowns <= few, on_gpu = of.device == Device::cuda,
             has_levels = of.preconditioner == "multigrid", several = of.loads > 1,
             levels_have_matrix = space.degree() == 1 && !(is_tensor && space.mesh().box);
  const auto take = [](std::string_view name, std::string_view since) {
    return OperatorDecision{.named = {std::string(name), {}, {}}, .why = fmt::format("{}, since {}", name, since)};
  };
  const auto assembles = [&] { return of.processes == 1 && (!on_gpu || operators::can_assemble_on_gpu(*of.form)); };
  if (has_levels) {
    if (levels_have_matrix && !assembles()) return std::nullopt;
    if (levels_have_matrix)
      return take(operator_of_options, "multigrid needs few products and its levels share the matrix");
    if (!on_gpu && several) return std::nullopt;
    return take("matrix-free", "multigrid needs few products and its levels share the tables of cells");
  }
  if (!on_gpu) return std::nullopt;
  const bool is_usual = !several && of.loop == CgLoop::automatic;
  const int most_degree = in_plane ? 3 : is_tensor ? 0 : 2;  // up to which matrices of few unknowns are chosen
  if (is_usual && is_small && space.degree() <= most_degree && assembles())
    return take(operator_of_options, "a persistent kernel iterates on a matrix of this size");
  if (!is_tensor && space.degree() == 1) {
    if (!assembles()) return std::nullopt;
    return take(in_plane && is_usual ? "sell" : operator_of_options,
                "the GPU assembles and reads a matrix of degree 1 sooner than element matrices");
  }
  if (!is_usual) return std::nullopt;
  return take("matrix-free", "on a GPU it is made soonest, and multiplies sooner than matrices are read");
}

ProductSelection judge(const std::string& first, double first_seconds, const std::string& runner_up,
                       double runner_up_seconds) {
  const std::string measured = fmt::format("three products each within CG took {} with {} and {} with {}",
                                           duration(first_seconds), first, duration(runner_up_seconds), runner_up);
  if (runner_up_seconds * tie < first_seconds)
    return {true, false,
            fmt::format("{}, so that {} takes the place of the one that was expected to win", measured, runner_up)};
  if (first_seconds * tie < runner_up_seconds)
    return {false, false, fmt::format("{}, so that {}, which was expected to win, stays", measured, first)};
  return {false, true, fmt::format("{}: a tie, and {} stays", measured, first)};
}

Regret regret_of(std::size_t chosen, std::string why, const std::vector<Measured>& measured, double iterations) {
  Regret regret{.chosen = chosen, .why = std::move(why)};
  const auto seconds = [&](std::size_t i) { return measured[i].seconds(iterations); };
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (seconds(i) < seconds(regret.best)) regret.best = i;
  regret.of_solution = measured[chosen].iteration > 0;
  regret.regret = seconds(chosen) / seconds(regret.best) - 1;
  return regret;
}

std::optional<Regret> regret_of_auto(const std::vector<Prediction>& predictions,
                                     const std::vector<Measured>& measured) {
  const auto possible = std::ranges::count_if(predictions, &Prediction::possible);
  if (possible < 2 || predictions.size() != measured.size()) return std::nullopt;
  const OperatorDecision decision = decide(predictions);
  Regret regret;
  regret.chosen = decision.first;
  regret.why = decision.why;
  if (decision.runner_up && !predictions[decision.first].persistent) {  // a persistent kernel allows no timing trials
    const Measured &first = measured[decision.first], &runner_up = measured[*decision.runner_up];
    const double passes = passes_of_both(first, runner_up);
    const ProductSelection selection =
        judge(first.name, first.within_cg(passes), runner_up.name, runner_up.within_cg(passes));
    if (selection.runner_up) regret.chosen = *decision.runner_up;
    regret.why = selection.why;
  }
  return regret_of(regret.chosen, regret.why, measured, predictions[decision.first].loops);
}

}  // namespace femcg::solver
