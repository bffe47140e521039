#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "operators/operator.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/records/samples.hpp"

namespace femcg::solver {

/// Times products y = A x of one operator without x'Ax: a warm-up, then at least two products and up to 101 for about
/// `seconds` seconds, at most a tenth of a second.
template <std::floating_point T>
Samples time_products(const operators::Operator<T>& a, double seconds);

/// An operator in an interleaved timing, with its results.
template <std::floating_point T>
struct TimedEntry {
  const operators::Operator<T>* a = nullptr;
  int right_hand_sides = 1;                           ///< per product
  std::span<const operators::Vector<T>> b = {};       ///< right-hand sides of CG; empty: products only
  const Preconditioner<T>* preconditioner = nullptr;  ///< of CG; may be null
  CgMethod method = CgMethod::automatic;              ///< as requested; afterwards as chosen
  CgLoop loop = CgLoop::automatic;
  bool captured = true;             ///< CgOptions::captured
  std::function<bool()> stop = {};  ///< asked at every iteration whether to end, like TimingSettings::stop
  bool delayed_update = false;      ///< CgResult::delayed_update
  bool indefinite = false;          ///< CG met a direction p with p'Ap <= 0 before the residual was down to rounding
  Samples product = {};             ///< seconds of one product, with all right-hand sides
  Samples iteration = {};           ///< seconds of one CG iteration, per right-hand side
  ProcessorTime processor = {};     ///< received during the timing
};

/// CG options of an entry, for one vector or several as far as both share them. `stop` may be empty, and must outlive
/// the options.
template <class Options, std::floating_point T>
Options cg_options_of(const TimedEntry<T>& of, double tolerance, std::int64_t max_iterations,
                      const std::function<bool()>& stop) {
  Options options;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  options.preconditioner = of.preconditioner;
  options.captured = of.captured;
  if (!of.captured) options.check_every = 1;
  if (stop) options.monitor = [&stop](const auto&) { return !stop(); };
  return options;
}

struct TimingSettings {
  std::int64_t iterations = 200;  ///< of CG, per repetition
  int repetitions = 5;
  /// Called after every repetition of every entry; false ends the timing, keeping what was measured.
  std::function<bool()> go_on;
  /// Asked at every iteration whether to end the timing; the current repetition is then discarded.
  std::function<bool()> stop;
  /// Processes that share the entries and call this collectively: times are those of the slowest.
  const operators::Communicator& communicator = operators::Communicator::alone();
};

/// Times products and CG iterations of several operators, interleaved repetition by repetition, so that a drift of the
/// machine affects all alike. A repetition is a batch of products that takes some milliseconds, then `iterations`
/// iterations of CG from x = 0 without a convergence test; CG restarts if the residual vanishes. If an entry throws,
/// `failed` is called, and the others continue.
template <std::floating_point T>
void time_interleaved(std::vector<TimedEntry<T>>& entries, const TimingSettings& settings,
                      const std::function<void(std::size_t entry, const std::exception&)>& failed);

}  // namespace femcg::solver
