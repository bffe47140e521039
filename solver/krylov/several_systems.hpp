#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "operators/backend/passes/vector_share.hpp"
#include "operators/operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/krylov/restarts.hpp"

namespace femcg::solver {

/// How far all systems of a group are.
struct SystemsIteration {
  std::int64_t number;
  int running;               ///< systems that are not done
  double relative_residual;  ///< the largest of theirs
  double seconds;            ///< since the loop began
};

/// The same tolerance, M and batches for every system.
template <std::floating_point T>
struct SystemsCgOptions : StoppingRule, Batching {
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: M = I
  bool from_x = false;                                ///< begins from each x as it is given, not from 0
  /// b - A x of a system, recomputed in double precision. By default the operator's own product.
  std::function<std::vector<double>(std::size_t system, const std::vector<double>& x)> true_residual;
  /// Called after every iteration; false ends the loop of all systems as interrupted.
  std::function<bool(const SystemsIteration&)> monitor;
};

/// CG on several systems with one matrix, as many as operators::Columns takes, whatever their recurrences are: which
/// systems are to be iterated, their residuals recomputed in double precision, what restarts, and why each ends.
template <std::floating_point T>
class SeveralSystems {
 public:
  /// Systems first, first + 1, ... of those that options.true_residual knows. `x` is where the solutions go.
  SeveralSystems(const operators::Operator<T>& a, std::span<const operators::Vector<T>> b,
                 std::span<std::vector<double>> x, std::size_t first, const SystemsCgOptions<T>& options,
                 CgMethod method);
  virtual ~SeveralSystems() = default;
  SeveralSystems(const SeveralSystems&) = delete;
  SeveralSystems& operator=(const SeveralSystems&) = delete;

  std::vector<CgResult> run();

 protected:
  struct System {
    std::vector<double>* total = nullptr;  ///< x so far, without the correction that the recurrence is at
    std::vector<double> residual;          ///< of a restart
    double norm_b = 0;
    Restarts restarts;
    bool done = false;
    bool at_tolerance = false;  ///< ended there, by its recurrence
    CgResult result;
  };

  /// Iterates the systems of these numbers from their residuals until the recurrence of each has ended: adds what it
  /// found to `total`, says in `result` why, and whether it was at its tolerance.
  virtual void iterate(const std::vector<std::size_t>& members) = 0;

  const operators::Operator<T>& a() const { return a_; }
  const SystemsCgOptions<T>& options() const { return options_; }
  const operators::VectorShare& share() const { return share_; }

  // Of a round: the columns in which systems are iterated together.

  /// These systems, in this order, run from now on.
  void set_members(std::vector<std::size_t> members) {
    members_ = std::move(members);
    running_.assign(members_.size(), true);
  }
  const std::vector<std::size_t>& members() const { return members_; }
  int columns() const { return static_cast<int>(members_.size()); }
  System& at(int column) { return systems_[members_[static_cast<std::size_t>(column)]]; }
  bool is_running(int column) const { return running_[static_cast<std::size_t>(column)]; }
  int running_count() const { return static_cast<int>(std::ranges::count(running_, true)); }
  /// Until no system may iterate any more.
  std::int64_t iterations_left();
  void stop(int column, StopReason reason, bool at_tolerance = false);

  /// Shares the time since the last iteration among the systems that run, and begins to tell of one more.
  SystemsIteration begin_iteration();
  /// A system has come to |r| / |b|, and may end there.
  void reach(int column, double relative_residual, SystemsIteration& iteration);
  /// Tells the user, who may want to stop.
  void end_iteration(SystemsIteration& iteration);

  /// A column's residual on the operator's device, in its ordering, times a factor; it is then nowhere else.
  void move_residual(int column, double factor, operators::Columns<T>& to);
  /// Adds a column of corrections, times a factor, to its system's total.
  void add_correction(const operators::Columns<T>& from, int column, double factor);
  /// The clock goes on, from where it stood.
  void start_clock();

 private:
  void begin(std::size_t c);
  std::vector<double> true_residual(std::size_t c) const;
  void judge(System& system, std::size_t c);

  const operators::Operator<T>& a_;
  const operators::VectorShare& share_;
  std::span<const operators::Vector<T>> b_;
  std::size_t first_;
  const SystemsCgOptions<T>& options_;
  CgMethod method_;
  std::vector<System> systems_;
  std::vector<std::size_t> members_;  ///< the system of each column
  std::vector<bool> running_;         ///< of each column
  bool interrupted_ = false;
  std::chrono::steady_clock::time_point begin_;
  double shared_ = 0;  ///< seconds that the systems have their shares of
};

/// More systems than operators::Columns takes are solved in turns, each by a Loop (SeveralSystems).
template <class Loop, std::floating_point T>
std::vector<CgResult> solve_in_turns(const operators::Operator<T>& a, std::span<const operators::Vector<T>> b,
                                     std::vector<std::vector<double>>& x, const SystemsCgOptions<T>& options) {
  x.resize(b.size());
  std::vector<CgResult> results;
  constexpr auto most = static_cast<std::size_t>(operators::Columns<T>::most);
  for (std::size_t first = 0; first < b.size(); first += most) {
    const std::size_t count = std::min(most, b.size() - first);
    for (CgResult& result : Loop(a, b.subspan(first, count), std::span(x).subspan(first, count), first, options).run())
      results.push_back(std::move(result));
    if (std::ranges::any_of(results, [](const CgResult& of) { return of.reason == StopReason::interrupted; })) break;
  }
  return results;
}

}  // namespace femcg::solver
