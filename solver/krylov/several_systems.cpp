#include "solver/krylov/several_systems.hpp"

#include <cassert>
#include <cmath>

#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/ordering.hpp"
#include "solver/krylov/recurrence.hpp"

namespace femcg::solver {

using operators::Columns;
using operators::Device;
using operators::Operator;
using operators::Vector;

template <std::floating_point T>
SeveralSystems<T>::SeveralSystems(const Operator<T>& a, std::span<const Vector<T>> b, std::span<std::vector<double>> x,
                                  std::size_t first, const SystemsCgOptions<T>& options, CgMethod method)
    : a_(a),
      share_(operations_for(a).share()),
      b_(b),
      first_(first),
      options_(options),
      method_(method),
      systems_(b.size()) {
  for (std::size_t c = 0; c < b.size(); ++c) systems_[c].total = &x[c];
}

/// What can be said of a system before it is iterated.
template <std::floating_point T>
void SeveralSystems<T>::begin(std::size_t c) {
  System& system = systems_[c];
  const Vector<T>& b = b_[c];
  const Vector<T> on_host = operators::copied(b, Device::host);
  const double bb = share_.sum(operators::sum_over_row_blocks(
      share_.counted(b.size()), operators::EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        double sum = 0;
        for (std::int64_t i = first; i < last; ++i)
          sum += static_cast<double>(on_host[i]) * static_cast<double>(on_host[i]);
        return sum;
      }));
  const bool zero =
      bb == 0 && share_.sum(std::ranges::all_of(on_host.span(), [](T entry) { return entry == 0; }) ? 0.0 : 1.0) == 0;
  system.norm_b = std::sqrt(bb);
  system.result.method = method_;
  system.result.loop = CgLoop::launched;
  const bool solvable = std::isfinite(bb) && bb > 0;
  if (!solvable || !options_.from_x) *system.total = mesh::filled<double>(static_cast<std::size_t>(a_.size()));
  if (solvable) {
    double relative = 1;
    if (options_.from_x) {
      system.residual = true_residual(c);
      relative = system.result.true_relative_residual = norm(system.residual, share_) / system.norm_b;
    } else {
      system.residual = mesh::filled<double>(static_cast<std::size_t>(b.size()));
      operators::for_each_row(b.size(), [&](std::int64_t i) { system.residual[i] = static_cast<double>(on_host[i]); });
    }
    system.result.relative_residual = relative;
    system.result.history.push_back({0, relative, 0.0});
    system.done = options_.from_x && relative <= options_.tolerance;
    if (system.done) system.result.reason = StopReason::converged;
    return;
  }
  system.result.reason = zero ? StopReason::converged : StopReason::not_finite;
  system.done = true;
}

template <std::floating_point T>
std::vector<double> SeveralSystems<T>::true_residual(std::size_t c) const {
  const std::vector<double>& total = *systems_[c].total;
  if (options_.true_residual) return options_.true_residual(first_ + c, total);
  Vector<T> x(a_.size());
  operators::for_each_row(x.size(), [&](std::int64_t i) { x[i] = static_cast<T>(total[i]); });
  const Vector<T> ordered = operators::to_ordering(a_, x);
  Vector<T> product(a_.size(), a_.device());
  a_.apply(ordered, product);
  const Vector<T> b = operators::copied(b_[c], Device::host),
                  q = operators::copied(operators::from_ordering(a_, product), Device::host);
  std::vector<double> r = mesh::filled<double>(total.size());
  operators::for_each_row(b.size(),
                          [&](std::int64_t i) { r[i] = static_cast<double>(b[i]) - static_cast<double>(q[i]); });
  return r;
}

template <std::floating_point T>
std::int64_t SeveralSystems<T>::iterations_left() {
  std::int64_t most = 0;
  for (int column = 0; column < columns(); ++column)
    if (is_running(column)) most = std::max(most, options_.max_iterations - at(column).result.iterations);
  return most;
}

template <std::floating_point T>
void SeveralSystems<T>::stop(int column, StopReason reason, bool at_tolerance) {
  at(column).result.reason = reason;
  at(column).at_tolerance = at_tolerance;
  running_[static_cast<std::size_t>(column)] = false;
}

template <std::floating_point T>
SystemsIteration SeveralSystems<T>::begin_iteration() {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double share = (now - shared_) / running_count();
  shared_ = now;
  for (int column = 0; column < columns(); ++column)
    if (is_running(column)) at(column).result.seconds += share;
  return {0, 0, 0, now};
}

template <std::floating_point T>
void SeveralSystems<T>::reach(int column, double relative_residual, SystemsIteration& iteration) {
  CgResult& result = at(column).result;
  result.relative_residual = relative_residual;
  result.history.push_back({result.iterations, relative_residual, iteration.seconds});
  iteration.number = std::max(iteration.number, result.iterations);
  iteration.relative_residual = std::max(iteration.relative_residual, relative_residual);
  if (relative_residual <= options_.tolerance)
    stop(column, StopReason::converged, true);
  else if (result.iterations >= options_.max_iterations)
    stop(column, StopReason::max_iterations);
}

template <std::floating_point T>
void SeveralSystems<T>::end_iteration(SystemsIteration& iteration) {
  iteration.running = running_count();
  if (!options_.monitor || options_.monitor(iteration)) return;
  interrupted_ = true;
  for (int column = 0; column < columns(); ++column)
    if (is_running(column)) stop(column, StopReason::interrupted);
}

template <std::floating_point T>
void SeveralSystems<T>::move_residual(int column, double factor, Columns<T>& to) {
  Vector<T> r(a_.size());
  const std::vector<double>& residual = at(column).residual;
  operators::for_each_row(r.size(), [&](std::int64_t i) { r[i] = static_cast<T>(factor * residual[i]); });
  at(column).residual = {};
  operators::set_column(operators::copied(r, a_.device()), a_.ordering(), column, to);
}

template <std::floating_point T>
void SeveralSystems<T>::add_correction(const Columns<T>& from, int column, double factor) {
  Vector<T> x(a_.size(), a_.device());
  operators::get_column(from, column, a_.ordering(), x);
  const Vector<T> on_host = operators::copied(x, Device::host);
  std::vector<double>& total = *at(column).total;
  operators::for_each_row(x.size(), [&](std::int64_t i) { total[i] += factor * static_cast<double>(on_host[i]); });
}

template <std::floating_point T>
void SeveralSystems<T>::start_clock() {
  operators::synchronize(a_.device());
  begin_ = std::chrono::steady_clock::now() -
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(shared_));
}

/// Whether a system whose recurrence has ended is over: checks the tolerance against the residual recomputed.
template <std::floating_point T>
void SeveralSystems<T>::judge(System& system, std::size_t c) {
  CgResult& result = system.result;
  system.done = !system.at_tolerance || interrupted_;
  if (!system.at_tolerance && !options_.true_residual) return;
  system.residual = true_residual(c);
  result.true_relative_residual = norm(system.residual, share_) / system.norm_b;
  if (!system.at_tolerance) return;
  if (result.true_relative_residual <= options_.tolerance) {
    system.done = true;
    return;
  }
  if (interrupted_) {
    result.reason = StopReason::interrupted;
    return;
  }
  const bool stagnated = system.restarts.stagnate(result.true_relative_residual);
  system.done = stagnated || result.iterations >= options_.max_iterations;
  if (system.done) result.reason = stagnated ? StopReason::stagnated : StopReason::max_iterations;
}

template <std::floating_point T>
std::vector<CgResult> SeveralSystems<T>::run() {
  for (std::size_t c = 0; c < systems_.size(); ++c) begin(c);
  if (options_.max_iterations == 0 || (options_.monitor && !options_.monitor({0, static_cast<int>(b_.size()), 1, 0}))) {
    interrupted_ = options_.max_iterations > 0;
    for (System& system : systems_) {
      if (system.done) continue;
      system.result.reason = interrupted_ ? StopReason::interrupted : StopReason::max_iterations;
      system.result.true_relative_residual = system.result.relative_residual;  // of the start
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
    assert(system.result.reason != StopReason::converged || system.result.true_relative_residual <= options_.tolerance);
    results.push_back(std::move(system.result));
  }
  return results;
}

template class SeveralSystems<double>;
template class SeveralSystems<float>;

}  // namespace femcg::solver
