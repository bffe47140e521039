#pragma once

#include <cmath>
#include <future>
#include <span>
#include <type_traits>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/ordering.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/restarts.hpp"

namespace femcg::solver {

/// Values times a factor, rounded to the working precision.
template <std::floating_point T>
operators::Vector<T> rounded(const std::vector<double>& numbers, double factor = 1) {
  operators::Vector<T> to(std::ssize(numbers));
  operators::for_each_row(to.size(), [&](std::int64_t i) { to[i] = static_cast<T>(factor * numbers[i]); });
  return to;
}

/// total += factor times a correction on the operator's device, both in the same order.
template <std::floating_point T>
void add_to(std::vector<double>& total, double factor, const operators::Vector<T>& correction) {
  const bool is_here = correction.device() == operators::Device::host;
  const operators::Vector<T> copy =
      is_here ? operators::Vector<T>() : operators::copied(correction, operators::Device::host);
  const operators::Vector<T>& numbers = is_here ? correction : copy;
  operators::for_each_row(numbers.size(),
                          [&](std::int64_t i) { total[i] += factor * static_cast<double>(numbers[i]); });
}

/// A vector of the operator converted to natural order, on the host.
template <std::floating_point T>
operators::Vector<T> natural_on_host(const operators::Operator<T>& a, const operators::Vector<T>& ordered) {
  if (a.ordering().size() == 0) return operators::copied(ordered, operators::Device::host);
  return operators::copied(operators::from_ordering(a, ordered), operators::Device::host);
}

/// Converts a vector in natural order to the operator's ordering, rounded.
template <std::floating_point T>
void to_ordering_of(const operators::Operator<T>& a, const std::vector<double>& natural,
                    operators::Vector<T>& ordered) {
  const operators::Vector<T> numbers = rounded<T>(natural);
  if (a.ordering().size() == 0)
    operators::copy(numbers, ordered);
  else
    operators::copy(operators::to_ordering(a, numbers), ordered);
}

/// b - A x by the operator's own product; overwrites p and w, vectors on its device.
template <std::floating_point T>
std::vector<double> own_residual(const operators::Operator<T>& a, const operators::Vector<T>& b,
                                 const std::vector<double>& x, operators::Vector<T>& p, operators::Vector<T>& w) {
  to_ordering_of(a, x, p);
  a.apply(p, w);
  const operators::Vector<T> load = operators::copied(b, operators::Device::host), product = natural_on_host(a, w);
  std::vector<double> r = mesh::filled<double>(x.size());
  operators::for_each_row(
      load.size(), [&](std::int64_t i) { r[i] = static_cast<double>(load[i]) - static_cast<double>(product[i]); });
  return r;
}

/// A true residual in the natural order of the unknowns, either on the host or on the GPU.
struct TrueResidualVector {
  std::vector<double> on_host = {};
  const operators::Vector<double>* on_gpu = nullptr;
};

/// The solution x in double precision, in the natural order of the unknowns: the sum of the corrections between
/// restarts or reliable updates (iterative refinement). x stays on the GPU until the end if its residual is computed
/// there.
template <std::floating_point T>
class RefinedSolution {
 public:
  /// `keeps_direction`: the recurrence's vectors p and w must not be overwritten while residuals are computed.
  RefinedSolution(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
                  const ResidualCheck& check, bool keeps_direction)
      : a_(a), b_(b), x_(x), check_(check), keeps_direction_(keeps_direction) {}

  /// Starts from x = 0, or from the x that is `given`.
  void begin(bool given) {
    const auto size = static_cast<std::size_t>(a_.size());
    if (!is_on_gpu()) {
      if (!given) x_ = mesh::filled<double>(size);
      return;
    }
    on_gpu_ = operators::Vector<double>(a_.size(), operators::Device::cuda);
    if (given)
      operators::copy_bytes(x_.data(), operators::Device::host, on_gpu_.data(), operators::Device::cuda,
                            on_gpu_.bytes());
    else
      operators::clear(on_gpu_);
    if (!given) room_ = std::async(std::launch::async, [size] { return mesh::filled<double>(size); });
  }
  void set_zero() {
    if (is_on_gpu())
      operators::clear(on_gpu_);
    else
      x_ = mesh::filled<double>(static_cast<std::size_t>(a_.size()));
  }
  /// Adds the recurrence's current correction.
  void add(Recurrence<T>& recurrence) {
    if (is_on_gpu())
      operators::cuda_scatter_added(recurrence.x(), a_.ordering(), on_gpu_);
    else
      add_to(x_, 1, natural_on_host(a_, recurrence.x()));
  }
  /// Adds a correction in natural order, on the operator's device.
  void add_natural(const operators::Vector<T>& correction) {
    if (is_on_gpu())
      operators::cuda_scatter_added(correction, {}, on_gpu_);
    else
      add_to(x_, 1, correction);
  }
  /// measure(x, r) on the host.
  template <class Measure>
  auto measured(const TrueResidualVector& residual, const Measure& measure) {
    if (!is_on_gpu()) return measure(std::span<const double>(x_), std::span<const double>(residual.on_host));
    finish();
    mesh::Array<double> r = mesh::unset<double>(x_.size());
    operators::copy_bytes(residual.on_gpu->data(), operators::Device::cuda, r.data(), operators::Device::host,
                          residual.on_gpu->bytes());
    return measure(std::span<const double>(x_), std::span<const double>(r));
  }
  /// measure(x) on the host, for x with the recurrence's current correction.
  template <class Measure>
  double measured_with(Recurrence<T>& recurrence, const Measure& measure) {
    if (is_on_gpu()) {
      operators::Vector<double> sum = operators::copied(on_gpu_, operators::Device::cuda);
      operators::cuda_scatter_added(recurrence.x(), a_.ordering(), sum);
      copy_to_host(sum);
      return measure(x_);
    }
    std::vector<double> x = x_;
    add_to(x, 1, natural_on_host(a_, recurrence.x()));
    return measure(x);
  }
  /// b - A x; on the host, overwrites p and w of the recurrence.
  TrueResidualVector residual(Recurrence<T>& recurrence) {
    if (!is_on_gpu() && check_.true_residual) return {check_.true_residual(x_)};
    if (!is_on_gpu()) return {own_residual(a_, b_, x_, recurrence.p(), recurrence.w())};
    if constexpr (std::is_same_v<T, double>)
      if (!keeps_direction_) {
        check_.residual_on_gpu(on_gpu_, recurrence.w(), recurrence.p());
        return {{}, &recurrence.w()};
      }
    if (residual_.size() == 0) {
      residual_ = operators::Vector<double>(a_.size(), operators::Device::cuda);
      scratch_ = operators::Vector<double>(a_.size(), operators::Device::cuda);
    }
    check_.residual_on_gpu(on_gpu_, residual_, scratch_);
    return {{}, &residual_};
  }
  double norm_of(const TrueResidualVector& residual) const {
    if (residual.on_gpu == nullptr) return norm(residual.on_host, vector_kernels_for(a_).ownership());
    operators::Scalar square(operators::Device::cuda);
    operators::vector_kernels<double>(operators::Device::cuda).dot(*residual.on_gpu, *residual.on_gpu, square);
    return std::sqrt(square.value());
  }
  /// Converts a residual to the operator's ordering, rounded.
  void to_recurrence(const TrueResidualVector& residual, operators::Vector<T>& r) const {
    if (residual.on_gpu == nullptr)
      to_ordering_of(a_, residual.on_host, r);
    else
      operators::gather_rows(*residual.on_gpu, a_.ordering(), 1, r);
  }
  /// True if residuals are computed by other means than the operator's own product.
  bool is_checked() const { return check_.true_residual || is_on_gpu(); }
  /// Copies x to the caller's vector.
  void finish() {
    if (is_on_gpu()) copy_to_host(on_gpu_);
  }

 private:
  bool is_on_gpu() const { return static_cast<bool>(check_.residual_on_gpu); }
  void copy_to_host(const operators::Vector<double>& x) {
    if (room_.valid()) x_ = room_.get();
    operators::copy_bytes(x.data(), operators::Device::cuda, x_.data(), operators::Device::host, x.bytes());
  }

  const operators::Operator<T>& a_;
  const operators::Vector<T>& b_;
  std::vector<double>& x_;  ///< with x on the GPU, a copy of the last measured x
  const ResidualCheck& check_;
  bool keeps_direction_;
  operators::Vector<double> on_gpu_;
  std::future<std::vector<double>> room_;         ///< memory for x on the host, cleared while the GPU works
  operators::Vector<double> residual_, scratch_;  ///< if the recurrence has no free vectors
};

}  // namespace femcg::solver
