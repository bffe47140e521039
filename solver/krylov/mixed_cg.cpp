#include "solver/krylov/mixed_cg.hpp"

#include <algorithm>
#include <limits>

#include "operators/backend/parallel_rows.hpp"
#include "operators/ordering.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Operator;
using operators::Vector;

namespace {

/// One update halfway, without which the residual at the end is missed as often as not, and has to be computed twice.
constexpr double update_factor = 1e-2;

/// Rounded, on the device of the vector.
Vector<float> in_single(const Vector<double>& vector) {
  const Vector<double> on_host = operators::copied(vector, Device::host);
  Vector<float> rounded(on_host.size());
  operators::for_each_row(rounded.size(), [&](std::int64_t i) { rounded[i] = static_cast<float>(on_host[i]); });
  return operators::copied(rounded, vector.device());
}

/// b - A x by the operator's own product.
std::vector<double> residual(const Operator<double>& a, const Vector<double>& b, const std::vector<double>& x) {
  Vector<double> of_x(a.size());
  operators::for_each_row(of_x.size(), [&](std::int64_t i) { of_x[i] = x[i]; });
  const Vector<double> in = operators::to_ordering(a, operators::copied(of_x, a.device()));
  Vector<double> product(a.size(), a.device());
  a.apply(in, product);
  const Vector<double> q = operators::copied(operators::from_ordering(a, product), Device::host),
                       all = operators::copied(b, Device::host);
  std::vector<double> r(x.size());
  operators::for_each_row(q.size(), [&](std::int64_t i) { r[i] = all[i] - q[i]; });
  return r;
}

/// Goes on in single precision from where double precision came to.
CgResult in_single_precision(const SingleSystem& system, const Operator<double>& a, const Vector<double>& b,
                             std::vector<double>& x, CgState<double>&& from, const CgOptions<double>& asked) {
  const Vector<double> step = operators::copied(from.x, Device::host);
  operators::for_each_row(step.size(), [&](std::int64_t i) { x[i] += step[i]; });
  from.x = Vector<double>(0, b.device());
  CgState<float> before{std::move(from.result), in_single(from.r), in_single(from.p),
                        Vector<float>(b.size(), b.device()), std::move(from.scalars)};
  operators::clear(before.x);
  from = {};
  CgOptions<float> options;
  options.tolerance = asked.tolerance;
  options.max_iterations = asked.max_iterations;
  options.method = CgMethod::classic;
  options.loop = CgLoop::launched;
  options.preconditioner = system.preconditioner;
  options.check_every = asked.check_every;
  options.true_residual = asked.true_residual;
  if (!options.true_residual) options.true_residual = [&](const std::vector<double>& at) { return residual(a, b, at); };
  options.monitor = asked.monitor;
  options.before = &before;
  options.reliable_update = update_factor;
  return conjugate_gradients<float>(*system.a, in_single(b), x, options);
}

}  // namespace

// On squares and cubes of degree 1 to 4, distorted or not, with and without a preconditioner and jumps of the
// diffusion, to a million unknowns, five orders of magnitude take 2% more iterations at most; seven take up to a half
// more.
double goes_over_at(double tolerance) {
  constexpr double orders = 1e4, largest = 1e-2;
  return std::min(largest, orders * tolerance);
}

CgResult mixed_conjugate_gradients(const Operator<double>& a, const Vector<double>& b, std::vector<double>& x,
                                   const CgOptions<double>& asked, const GoOver& go_over) {
  if (asked.preconditioner != nullptr && !asked.preconditioner->is_fused())
    return conjugate_gradients<double>(a, b, x, asked);
  CgState<double> state;
  double residual = std::numeric_limits<double>::infinity();
  CgOptions<double> options = asked;
  options.method = CgMethod::classic;
  options.loop = CgLoop::launched;
  options.monitor = [&](const Iteration& iteration) {
    residual = iteration.relative_residual;
    return !asked.monitor || asked.monitor(iteration);
  };
  options.enough = [&] { return residual <= goes_over_at(asked.tolerance); };
  options.after = &state;
  CgResult result = conjugate_gradients<double>(a, b, x, options);
  const bool is_over = result.reason != StopReason::max_iterations || result.iterations >= asked.max_iterations;
  if (is_over || state.p.size() != a.size()) return result;
  options.enough = nullptr;
  options.after = nullptr;
  options.before = &state;
  if (const std::optional<SingleSystem> system = go_over(result)) {
    result = in_single_precision(*system, a, b, x, std::move(state), options);
    if (result.reason != StopReason::stagnated && result.reason != StopReason::indefinite) return result;
    state.result = std::move(result);
  }
  return conjugate_gradients<double>(a, b, x, options);
}

}  // namespace femcg::solver
