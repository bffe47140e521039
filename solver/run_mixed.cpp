#include "solver/run_mixed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "solver/messages/units.hpp"
#include "solver/problem/number_range.hpp"

namespace femcg::solver {

/// What is wrong with it in single precision; empty where nothing is.
std::string SingleOperator::make(const Case& resolved, const Problem& problem, Progress& progress, Record& record) try {
  Case of = resolved;
  of.solver.op = record.op;
  of.solver.tune = Tune::off;
  of.solver.precision = Precision::single;
  Record made_record;
  made_record.device = record.device;
  MadeOperators<float> made = make_operators<float>(of, problem, std::nullopt, progress, made_record);
  record.seconds.assembly += made_record.seconds.assembly;
  record.seconds.conversion += made_record.seconds.conversion;
  progress.step("making the preconditioner", name(record.device));
  require_range(*made.a);
  if (loses_energies(*made.a, resolved.solver.tolerance))
    return "single precision cannot tell numbers of this problem from 0";
  const PreconditionerChoice& choice = resolved.solver.preconditioner;
  preconditioner_ = timed(record.seconds.conversion,
                          [&] { return make_preconditioner<float>(choice.name, *made.a, choice.options); });
  a_ = std::move(made.a);
  return "";
} catch (const InputError& error) {
  return error.sentences().front();
} catch (const operators::OutOfMemory& error) {
  return error.what();
}

std::optional<SingleSystem> SingleOperator::system(const Case& resolved, const Problem& problem, const CgResult& so_far,
                                                   double left, Progress& progress, Record& record) {
  constexpr double saved = 0.35;  // of an iteration in double precision
  if (refused_) return std::nullopt;
  const double of_iteration = so_far.seconds / static_cast<double>(std::max<std::int64_t>(1, so_far.iterations));
  if (!a_ && saved * left * of_iteration < seconds_) {
    record.why_precision = fmt::format(
        "all in double precision: to make the operator in single would take about {}, and save {} in the {:.0f} "
        "iterations that were left",
        duration(seconds_), duration(saved * left * of_iteration), left);
    return std::nullopt;
  }
  if (!a_) {
    const std::string wrong = make(resolved, problem, progress, record);
    progress.step("preparing CG, copying its vectors", name(record.device));
    refused_ = !wrong.empty();
    if (refused_) {
      record.why_precision = "all in double precision: " + wrong;
      return std::nullopt;
    }
  }
  record.why_precision = fmt::format("single precision from iteration {} on, at a relative residual of {:.1e}",
                                     so_far.iterations, so_far.relative_residual);
  return SingleSystem{a_.get(), preconditioner_.get()};
}

}  // namespace femcg::solver
