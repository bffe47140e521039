#pragma once

// The first iterations of a run's CG, with products that try something.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "solver/case/case.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/progress.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/records/record.hpp"
#include "solver/run/run_operator.hpp"
#include "solver/tuning/search.hpp"

namespace femcg::solver {

/// What CG begins from on this load, scaled as it is; empty where that is 0.
std::vector<double> scaled_start(const InitialUnknowns& initial, std::size_t load, const ScaledLoad& scaled);

/// What CG came to on the first load while something was tried.
template <std::floating_point T>
struct Begun {
  CgState<T> state;
  std::vector<double> x;
  std::unique_ptr<Preconditioner<T>> preconditioner;  ///< of the operator that goes on, where there is one already

  /// Whether there is something left for the operator that was chosen, if only to complete x.
  bool goes_on() const { return state.result.reason == StopReason::max_iterations; }
};

/// The system of the first load, and how CG is to solve it.
template <std::floating_point T>
class FirstLoad {
 public:
  /// All of these must outlive it.
  FirstLoad(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
            const Preconditioner<T>& preconditioner, operators::Device device, Progress& progress,
            const StopRequested& stop);
  FirstLoad(const FirstLoad&) = delete;
  FirstLoad& operator=(const FirstLoad&) = delete;

  const operators::Vector<T>& b() const { return b_; }
  const CgOptions<T>& options() const { return options_; }
  /// What CG begins from; empty where that is 0.
  std::vector<double> start() const { return start_; }

 private:
  ScaledLoad scaled_;
  operators::Vector<T> b_;
  std::vector<double> start_;
  CgOptions<T> options_;
};

constexpr std::int64_t most_products_tried = 200;  // of a search to its end, and more
constexpr std::int64_t vectors_handed_over = 12;   // of CG, and of the state that one loop leaves the next

/// The bytes of another conversion, while it is made. Throws std::invalid_argument as making does, and where rows would
/// come from the host.
template <std::floating_point T>
std::int64_t bytes_of_conversion(const OperatorChoice& op, const operators::Ingredients<T>& from);

/// Whether a loop inside one kernel may be what the case has CG be.
bool may_reside(const SolverChoice& solver);

/// Why CG cannot begin with trials.
constexpr std::string_view nothing_is_open =
    "nothing is open: the case states the options, the operator has none here, or there is no memory to try others";
struct TrialsOf {
  bool resident, at_once, has_memory;
};
/// Empty where it can, as far as these say.
std::string why_not_tried(const TrialsOf& cg);

/// What a search came to.
TuningRecord record_of(Tune requested, const Search& search);

/// Run-time tuning of the operator's open options (Search), where the case asks for it and the solve allows it: the
/// first products of CG on the first load, or the next ones where it was begun, each with a setting. What is found
/// takes the place of the operator, and is kept for later runs; the record says what was tried.
template <std::floating_point T>
void tune(const Case& resolved, const Problem& problem, const InitialUnknowns& initial, MadeOperators<T>& made,
          std::optional<Begun<T>>& begun, Progress& progress, const StopRequested& stop, Record& record);

}  // namespace femcg::solver
