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

/// Times products y = A x of one operator, without the x'Ax that CG has from them: after a warm-up, at least two of
/// them and then for about so many seconds, a tenth of a second and 101 products at most.
template <std::floating_point T>
Samples time_products(const operators::Operator<T>& a, double seconds);

/// An operator among others that are timed in turn, and what came out.
template <std::floating_point T>
struct TimedEntry {
  const operators::Operator<T>* a = nullptr;
  int right_hand_sides = 1;                           ///< at once
  std::span<const operators::Vector<T>> b = {};       ///< so many of CG; empty: products only
  const Preconditioner<T>* preconditioner = nullptr;  ///< of CG, may be null
  CgMethod method = CgMethod::automatic;              ///< as asked for; afterwards as chosen
  CgLoop loop = CgLoop::automatic;
  bool captured = true;             ///< CgOptions::captured
  std::function<bool()> stop = {};  ///< asked at every iteration whether to end, as TimingSettings::stop
  bool delayed_update = false;      ///< CgResult::delayed_update
  bool indefinite = false;          ///< CG met a direction p with p'Ap <= 0 before its residual was rounding
  Samples product = {};             ///< seconds of one product, with all vectors
  Samples iteration = {};           ///< seconds of one CG iteration, for each right-hand side
  ProcessorTime processor = {};     ///< received meanwhile
};

/// How CG solves with an entry, on one vector or several, as far as both have the same options. `stop` may be empty,
/// and must outlive them.
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
  std::int64_t iterations = 200;  ///< of CG, in each repetition
  int repetitions = 5;
  /// Called after every repetition of every entry; false ends the settings, and what was measured stays.
  std::function<bool()> go_on;
  /// Asked at every iteration whether to end the settings at once; the repetition at hand is then dropped.
  std::function<bool()> stop;
  /// Processes that share the entries and call this collectively: seconds are those of the slowest.
  const operators::Communicator& communicator = operators::Communicator::alone();
};

/// Times products and CG iterations of several operators in turn, repetition by repetition, so that a drift of the
/// machine hits all alike. A repetition is a batch of products that lasts some milliseconds and then `iterations`
/// iterations of CG from x = 0 without a test of convergence; where the residual vanishes before, CG begins again.
/// Whatever one entry throws is told to `failed`, and the others go on.
template <std::floating_point T>
void time_interleaved(std::vector<TimedEntry<T>>& entries, const TimingSettings& settings,
                      const std::function<void(std::size_t entry, const std::exception&)>& failed);

}  // namespace femcg::solver
