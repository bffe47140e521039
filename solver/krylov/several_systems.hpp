#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/krylov/error_energy.hpp"
#include "solver/krylov/refined_solution.hpp"
#include "solver/krylov/restarts.hpp"

namespace femcg::solver {

/// Part of CG on several systems with one matrix, at most operators::MultiVector::most, that does not depend on the
/// recurrence: it selects the systems to iterate, recomputes residuals in double precision, restarts, and decides why
/// each system ends.
template <std::floating_point T>
class SeveralSystems {
 public:
  /// Systems first, first + 1, ... in the numbering of options.true_residual. `x` receives the solutions.
  SeveralSystems(const operators::Operator<T>& a, std::span<const operators::Vector<T>> b,
                 std::span<std::vector<double>> x, std::size_t first, const SystemsCgOptions<T>& options,
                 CgMethod method)
      : a_(a), ownership_(vector_kernels_for(a).ownership()), b_(b), first_(first), options_(options), method_(method) {
    for (std::size_t c = 0; c < b.size(); ++c) {
      EnergyCheck check = options.energy ? options.energy(first + c) : EnergyCheck();
      System& system = systems_.emplace_back();
      system.total = &x[c];
      system.energy = EnergyCriterion(std::move(check), options.tolerance,
                                      options.preconditioner != nullptr && options.preconditioner->is_inverse());
    }
  }
  virtual ~SeveralSystems() = default;
  SeveralSystems(const SeveralSystems&) = delete;
  SeveralSystems& operator=(const SeveralSystems&) = delete;

  std::vector<CgResult> run() {
    for (std::size_t c = 0; c < systems_.size(); ++c) begin(c);
    if (options_.max_iterations == 0 ||
        (options_.monitor && !options_.monitor({0, static_cast<int>(b_.size()), 1, 0}))) {
      interrupted_ = options_.max_iterations > 0;
      for (System& system : systems_) {
        if (system.done) continue;
        system.result.reason = interrupted_ ? StopReason::interrupted : StopReason::max_iterations;
        system.result.true_relative_residual = system.result.relative_residual;  // of the initial x
        system.done = true;
      }
    }
    while (!std::ranges::all_of(systems_, &System::done)) {
      std::vector<std::size_t> members;
      for (std::size_t c = 0; c < systems_.size(); ++c) {
        systems_[c].at_tolerance = false;
        if (!systems_[c].done) members.push_back(c);
      }
      iterate(members);
      for (const std::size_t c : members) judge(systems_[c], c);
    }
    std::vector<CgResult> results;
    for (System& system : systems_) {
      assert(system.result.reason != StopReason::converged || system.energy.is_on() ||
             system.result.true_relative_residual <= options_.tolerance);
      results.push_back(std::move(system.result));
    }
    return results;
  }

 protected:
  struct System {
    std::vector<double>* total = nullptr;  ///< x so far, without the recurrence's current correction
    EnergyCriterion energy;
    std::vector<double> residual;  ///< initial residual of a restart
    double begun_at = 1;           ///< its relative norm
    double norm_b = 0;
    Restarts restarts;
    bool done = false;
    bool at_tolerance = false;  ///< its recurrence ended at the tolerance
    CgResult result;
  };

  /// Iterates the systems with these numbers from their residuals until each recurrence has ended. Adds the corrections
  /// to `total`, and records in each system why it ended, and whether at its tolerance.
  virtual void iterate(const std::vector<std::size_t>& members) = 0;
  /// Adds a column's current correction to x.
  virtual void add_correction(int column, std::vector<double>& x) = 0;

  const operators::Operator<T>& a() const { return a_; }
  const SystemsCgOptions<T>& options() const { return options_; }
  const operators::VectorOwnership& ownership() const { return ownership_; }

  // Columns of the systems that are iterated at the same time.

  /// Makes these systems active, in this order.
  void set_members(std::vector<std::size_t> members) {
    members_ = std::move(members);
    running_.assign(members_.size(), true);
  }
  const std::vector<std::size_t>& members() const { return members_; }
  int columns() const { return static_cast<int>(members_.size()); }
  System& at(int column) { return systems_[members_[static_cast<std::size_t>(column)]]; }
  bool is_running(int column) const { return running_[static_cast<std::size_t>(column)]; }
  int running_count() const { return static_cast<int>(std::ranges::count(running_, true)); }
  /// Iterations until no active system may iterate any more.
  std::int64_t iterations_left() {
    std::int64_t most = 0;
    for (int column = 0; column < columns(); ++column)
      if (is_running(column)) most = std::max(most, options_.max_iterations - at(column).result.iterations);
    return most;
  }
  void stop(int column, StopReason reason, bool at_tolerance = false) {
    at(column).result.reason = reason;
    at(column).at_tolerance = at_tolerance;
    running_[static_cast<std::size_t>(column)] = false;
  }

  /// Divides the time since the last iteration among the active systems, and starts the record of a new iteration.
  SystemsIteration begin_iteration() {
    const double now = clock_.seconds();
    const double share = (now - counted_) / running_count();
    counted_ = now;
    for (int column = 0; column < columns(); ++column)
      if (is_running(column)) at(column).result.seconds += share;
    return {0, 0, 0, now};
  }
  /// Records that a system has reached |r| / |b|; it may end there. Its energy.error() already includes the iteration.
  void reach(int column, double relative_residual, SystemsIteration& iteration) {
    CgResult& result = at(column).result;
    result.relative_residual = relative_residual;
    const Awaited awaited = at(column).energy.awaited(relative_residual);
    result.history.push_back({result.iterations, relative_residual, iteration.seconds, awaited});
    iteration.awaited.join(awaited);
    iteration.number = std::max(iteration.number, result.iterations);
    iteration.relative_residual = std::max(iteration.relative_residual, relative_residual);
    System& system = at(column);
    const auto measured = [&](const auto& of_solution) {
      operators::synchronize(a_.device());
      std::vector<double> x = *system.total;
      add_correction(column, x);
      return of_solution(x);
    };
    if (relative_residual <= system.energy.residual() &&
        system.energy.is_met(result.iterations, relative_residual / system.begun_at, measured))
      stop(column, StopReason::converged, true);
    else if (result.iterations >= options_.max_iterations)
      stop(column, StopReason::max_iterations);
  }
  /// Calls the monitor, which may stop the loop.
  void end_iteration(SystemsIteration& iteration) {
    iteration.running = running_count();
    if (!options_.monitor || options_.monitor(iteration)) return;
    interrupted_ = true;
    for (int column = 0; column < columns(); ++column)
      if (is_running(column)) stop(column, StopReason::interrupted);
  }

  /// Moves a column's residual, times a factor, to the operator's device in its ordering; the original is freed.
  void move_residual(int column, double factor, operators::MultiVector<T>& to) {
    const operators::Vector<T> r = rounded<T>(at(column).residual, factor);
    at(column).residual = {};
    operators::set_column(operators::copied(r, a_.device()), a_.ordering(), column, to);
  }
  /// Adds a column of corrections, times a factor, to x.
  void add_column(const operators::MultiVector<T>& from, int column, double factor, std::vector<double>& x) {
    operators::Vector<T> correction(a_.size(), a_.device());
    operators::get_column(from, column, a_.ordering(), correction);
    add_to(x, factor, correction);
  }
  /// Restarts the clock from the time counted so far.
  void start_clock() {
    operators::synchronize(a_.device());
    clock_.start(counted_);
  }

 private:
  /// Sets the result of a system to its state before the first iteration.
  void begin(std::size_t c) {
    System& system = systems_[c];
    const operators::Vector<T>& b = b_[c];
    const operators::Vector<T> on_host = operators::copied(b, operators::Device::host);
    const double bb = ownership_.sum(operators::sum_over_row_blocks(
        ownership_.counted(b.size()), operators::EqualRows{}, [&](std::int64_t first, std::int64_t last) {
          double sum = 0;
          for (std::int64_t i = first; i < last; ++i)
            sum += static_cast<double>(on_host[i]) * static_cast<double>(on_host[i]);
          return sum;
        }));
    const bool zero =
        bb == 0 &&
        ownership_.sum(std::ranges::all_of(on_host.span(), [](T entry) { return entry == 0; }) ? 0.0 : 1.0) == 0;
    system.norm_b = std::sqrt(bb);
    system.result.method = method_;
    system.result.loop = CgLoop::launched;
    const bool solvable = std::isfinite(bb) && bb > 0;
    if (!solvable || !options_.from_x) *system.total = mesh::filled<double>(static_cast<std::size_t>(a_.size()));
    if (solvable) {
      double relative = system.norm_b;
      system.norm_b = system.energy.norm(system.norm_b);
      relative /= system.norm_b;
      if (options_.from_x) {
        system.residual = true_residual(c);
        relative = system.result.true_relative_residual = norm(system.residual, ownership_) / system.norm_b;
      } else {
        system.residual = mesh::filled<double>(static_cast<std::size_t>(b.size()));
        operators::for_each_row(b.size(),
                                [&](std::int64_t i) { system.residual[i] = static_cast<double>(on_host[i]); });
      }
      if (approximate(c))
        relative = system.result.true_relative_residual = norm(system.residual, ownership_) / system.norm_b;
      system.result.relative_residual = system.begun_at = relative;
      system.result.history.push_back({0, relative, system.result.seconds});
      system.done = options_.from_x && relative <= (system.energy.is_on() ? 0 : options_.tolerance);
      if (system.done) system.result.reason = StopReason::converged;
      return;
    }
    system.result.reason = zero ? StopReason::converged : StopReason::not_finite;
    if (zero && system.energy.is_on()) system.result.energy_error = 0;
    system.done = true;
  }
  /// Adds M's approximation of the remaining correction to x, if M has one.
  bool approximate(std::size_t c) {
    if (!options_.approximates || options_.preconditioner == nullptr) return false;
    System& system = systems_[c];
    operators::Vector<T> r(a_.size(), a_.device()), x(a_.size(), a_.device()), z(a_.size(), a_.device());
    to_ordering_of(a_, system.residual, r);
    LoopClock clock;
    clock.start();
    if (!options_.preconditioner->approximate(r, x)) return false;
    options_.preconditioner->apply(r, z);
    operators::Scalar energy(a_.device()), rz(a_.device());
    vector_kernels_for(a_).dot(x, r, energy);
    vector_kernels_for(a_).dot(r, z, rz);
    system.energy.error().add_start(energy.value(), rz.value());
    system.result.seconds = clock.seconds();
    counted_ += system.result.seconds;
    add_to(*system.total, 1, natural_on_host(a_, x));
    system.residual = true_residual(c);
    return true;
  }
  std::vector<double> true_residual(std::size_t c) const {
    const std::vector<double>& total = *systems_[c].total;
    if (options_.true_residual) return options_.true_residual(first_ + c, total);
    operators::Vector<T> p(a_.size(), a_.device()), w(a_.size(), a_.device());
    return own_residual(a_, b_[c], total, p, w);
  }
  /// Checks a system whose recurrence has ended: it is done if its recomputed residual meets the tolerance.
  void judge(System& system, std::size_t c) {
    CgResult& result = system.result;
    system.done = !system.at_tolerance || interrupted_;
    if (!system.at_tolerance && !options_.true_residual) return;
    system.residual = true_residual(c);
    result.true_relative_residual = system.begun_at = norm(system.residual, ownership_) / system.norm_b;
    if (!system.at_tolerance) return;
    double excess = result.true_relative_residual / options_.tolerance;
    bool accepted = excess <= 1;
    if (system.energy.is_on()) {
      accepted = system.energy.accepts(*system.total, system.residual, result.true_relative_residual,
                                       result.relative_residual);
      excess = system.energy.excess();
      result.energy_error = system.energy.relative_error();
    }
    if (accepted) {
      system.done = true;
      return;
    }
    if (interrupted_) {
      result.reason = StopReason::interrupted;
      return;
    }
    const bool stagnated = system.restarts.stagnate(excess);
    system.done = stagnated || result.iterations >= options_.max_iterations;
    if (system.done) result.reason = stagnated ? StopReason::stagnated : StopReason::max_iterations;
  }

  const operators::Operator<T>& a_;
  const operators::VectorOwnership& ownership_;
  std::span<const operators::Vector<T>> b_;
  std::size_t first_;
  const SystemsCgOptions<T>& options_;
  CgMethod method_;
  std::vector<System> systems_;
  std::vector<std::size_t> members_;  ///< system of each column
  std::vector<bool> running_;         ///< true for each active column
  bool interrupted_ = false;
  LoopClock clock_;
  double counted_ = 0;  ///< seconds that the results include
};

/// Solves any number of systems with Loop (a SeveralSystems), operators::MultiVector::most at a time.
template <class Loop, std::floating_point T>
std::vector<CgResult> solve_in_turns(const operators::Operator<T>& a, std::span<const operators::Vector<T>> b,
                                     std::vector<std::vector<double>>& x, const SystemsCgOptions<T>& options) {
  x.resize(b.size());
  std::vector<CgResult> results;
  constexpr auto most = static_cast<std::size_t>(operators::MultiVector<T>::most);
  for (std::size_t first = 0; first < b.size(); first += most) {
    const std::size_t count = std::min(most, b.size() - first);
    for (CgResult& result : Loop(a, b.subspan(first, count), std::span(x).subspan(first, count), first, options).run())
      results.push_back(std::move(result));
    if (std::ranges::any_of(results, [](const CgResult& of) { return of.reason == StopReason::interrupted; })) break;
  }
  return results;
}

}  // namespace femcg::solver
