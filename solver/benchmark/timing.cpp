#include "solver/benchmark/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

using operators::Operator;
using operators::Vector;

namespace {

constexpr double seconds_per_batch = 5e-3;
constexpr int most_products_a_batch = 1000;
constexpr double vanished = 1e-30;  // |r| / |b| far below rounding, far above underflow

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Wall-clock seconds until the device has done the work.
template <class Work>
double seconds_of(operators::Device device, const Work& work) {
  operators::synchronize(device);
  const double begin = now();
  work();
  operators::synchronize(device);
  return now() - begin;
}

/// The vectors of a product y = A x, the input different from row to row.
template <std::floating_point T>
class Product {
 public:
  explicit Product(const Operator<T>& a) : a_(&a), x_(a.size(), a.device()), y_(a.size(), a.device()) {
    Vector<T> x(a.size());
    for (std::int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1.0 + 0.5 * std::sin(static_cast<double>(i)));
    operators::copy(x, x_);
  }
  /// Mean seconds of several in a row.
  double seconds(int products) {
    const auto work = [&] {
      for (int i = 0; i < products; ++i) a_->apply(x_, y_);
    };
    return seconds_of(a_->device(), work) / products;
  }

 private:
  const Operator<T>* a_;
  Vector<T> x_, y_;
};

/// Seconds of one CG iteration, over `iterations` of them; nothing where it was stopped before.
template <std::floating_point T>
std::optional<double> seconds_of_iteration(TimedEntry<T>& of, std::int64_t iterations,
                                           const std::function<bool()>& stop) {
  std::vector<double> x;
  CgOptions<T> options;
  options.tolerance = vanished;
  options.preconditioner = of.preconditioner;
  options.method = of.method;
  options.loop = of.loop;
  if (stop) options.monitor = [&](const Iteration&) { return !stop(); };
  double seconds = 0;
  std::int64_t done = 0;
  while (done < iterations) {
    options.max_iterations = iterations - done;
    const CgResult result = conjugate_gradients(*of.a, *of.b, x, options);
    if (result.reason == StopReason::interrupted) return std::nullopt;
    if (result.iterations == 0)
      throw std::runtime_error(result.reason == StopReason::indefinite
                                   ? "CG makes no step: the operator is not positive definite"
                                   : "CG makes no step: a number overflows");
    of.method = result.method;
    of.loop = result.loop;
    of.deferred = result.deferred;
    seconds += result.seconds;
    done += result.iterations;
  }
  return seconds / static_cast<double>(done);
}

/// One entry's turns.
template <std::floating_point T>
class Turn {
 public:
  explicit Turn(TimedEntry<T>& of) : of_(&of), product_(*of.a) {
    product_.seconds(1);  // the first use of memory is not the operator's cost
    const double once = std::max(product_.seconds(2), 1e-9);
    products_ = std::clamp(static_cast<int>(seconds_per_batch / once), 1, most_products_a_batch);
  }
  void take(const TimingSettings& settings) {
    const ProcessorTime before = processor_time();
    const double product = product_.seconds(products_);
    if (of_->b != nullptr) {
      const auto iteration = seconds_of_iteration(*of_, settings.iterations, settings.stop);
      if (!iteration) return;
      of_->iteration.add(*iteration);
    }
    of_->product.add(product);
    of_->processor += processor_time() - before;
  }

 private:
  TimedEntry<T>* of_;
  Product<T> product_;
  int products_ = 1;
};

}  // namespace

template <std::floating_point T>
Samples time_products(const Operator<T>& a) {
  constexpr int least = 5, most = 101;
  constexpr double enough = 0.5;  // seconds
  Product<T> product(a);
  product.seconds(1);
  Samples samples;
  for (double total = 0; samples.count() < least || (total < enough && samples.count() < most);) {
    const double seconds = product.seconds(1);
    samples.add(seconds);
    total += seconds;
  }
  return samples;
}

template <std::floating_point T>
void time_in_turn(std::vector<TimedEntry<T>>& entries, const TimingSettings& settings,
                  const std::function<void(std::size_t, const std::exception&)>& failed) {
  std::vector<std::optional<Turn<T>>> turns(entries.size());
  for (int repetition = 0; repetition < settings.repetitions; ++repetition)
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (repetition > 0 && !turns[i]) continue;  // it failed
      try {
        if (!turns[i]) turns[i].emplace(entries[i]);
        turns[i]->take(settings);
      } catch (const std::exception& error) {
        turns[i].reset();
        failed(i, error);
      }
      if (settings.go_on && !settings.go_on()) return;
    }
}

template Samples time_products(const Operator<double>&);
template Samples time_products(const Operator<float>&);
template void time_in_turn(std::vector<TimedEntry<double>>&, const TimingSettings&,
                           const std::function<void(std::size_t, const std::exception&)>&);
template void time_in_turn(std::vector<TimedEntry<float>>&, const TimingSettings&,
                           const std::function<void(std::size_t, const std::exception&)>&);

}  // namespace femcg::solver
