#include "solver/benchmark/timing.hpp"

#include <algorithm>
#include <optional>

#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/benchmark/clock.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/krylov/cg.hpp"

namespace femcg::solver {

using operators::MultiVector;
using operators::Operator;
using operators::Vector;

namespace {

constexpr double seconds_per_batch = 5e-3;
constexpr int most_products_a_batch = 1000;
constexpr double vanished = 1e-30;  // |r| / |b| far below rounding, far above underflow

/// Wall-clock seconds of `work`, including its work on the device.
template <class Work>
double seconds_of(operators::Device device, const Work& work) {
  operators::synchronize(device);
  const double begin = seconds_now();
  work();
  operators::synchronize(device);
  return seconds_now() - begin;
}

/// Vectors of a product y = A x; the entries of x vary from row to row.
template <std::floating_point T>
class Product {
 public:
  Product(const Operator<T>& a, int right_hand_sides)
      : a_(&a), x_(a.size(), right_hand_sides, a.device()), y_(a.size(), right_hand_sides, a.device()) {
    // The first `made` entries are computed on the host and copied on the device to the others.
    constexpr std::int64_t made = std::int64_t{1} << 20;
    const std::int64_t all = x_.entries().size();
    Vector<T> x(std::min(all, made));
    operators::for_each_row(x.size(), [&](std::int64_t i) {
      const auto mixed = static_cast<std::uint32_t>(i) * 2654435769U;  // Fibonacci hashing
      x[i] = static_cast<T>(0.5 + static_cast<double>(mixed) * 0x1p-32);
    });
    T* const to = x_.entries().data();
    operators::copy_bytes(x.data(), operators::Device::host, to, a.device(), x.bytes());
    for (std::int64_t done = x.size(); done < all; done *= 2)
      operators::copy_bytes(to, a.device(), to + done, a.device(),
                            std::min(done, all - done) * static_cast<std::int64_t>(sizeof(T)));
  }
  /// Mean seconds of a product, over `products` in sequence.
  double seconds(int products) {
    const auto work = [&] {
      for (int i = 0; i < products; ++i) a_->apply(x_, y_);
    };
    return seconds_of(a_->device(), work) / products;
  }

 private:
  const Operator<T>* a_;
  MultiVector<T> x_, y_;
};

/// Times of some iterations of CG.
struct Iterated {
  double seconds = 0;        ///< for all right-hand sides
  std::int64_t shared = 0;   ///< iterations of the loop
  std::int64_t of_each = 0;  ///< sum of the iterations of each right-hand side
};

/// Runs at most `most` iterations; empty if stopped early.
template <std::floating_point T>
std::optional<Iterated> iterate(TimedEntry<T>& of, std::int64_t most, const std::function<bool()>& stop) {
  std::vector<CgResult> results;
  if (of.right_hand_sides == 1) {
    auto options = cg_options_of<CgOptions<T>>(of, vanished, most, stop);
    options.method = of.method;
    options.loop = of.loop;
    std::vector<double> x;
    results.push_back(conjugate_gradients(*of.a, of.b.front(), x, options));
  } else {
    const auto options = cg_options_of<SystemsCgOptions<T>>(of, vanished, most, stop);
    std::vector<std::vector<double>> x;
    results = of.method == CgMethod::block ? block_conjugate_gradients<T>(*of.a, of.b, x, options)
                                           : batched_conjugate_gradients<T>(*of.a, of.b, x, options);
  }
  Iterated done;
  for (const CgResult& result : results) {
    if (result.reason == StopReason::interrupted) return std::nullopt;
    done.seconds += result.seconds;
    done.shared = std::max(done.shared, result.iterations);
    done.of_each += result.iterations;
    constexpr double rounding = 1e-5;
    of.indefinite = of.indefinite || (result.reason == StopReason::indefinite && result.relative_residual > rounding);
  }
  const CgResult& first = results.front();
  if (done.shared == 0)
    throw std::runtime_error(first.reason == StopReason::indefinite
                                 ? "CG makes no step: the operator is not positive definite"
                                 : "CG makes no step: a number overflows");
  of.method = first.method;
  of.loop = first.loop;
  of.delayed_update = first.delayed_update;
  return done;
}

/// Seconds of one CG iteration per right-hand side, averaged over `iterations` of them; empty if stopped early.
template <std::floating_point T>
std::optional<double> seconds_of_iteration(TimedEntry<T>& of, std::int64_t iterations,
                                           const std::function<bool()>& stop) {
  Iterated all;
  while (all.shared < iterations) {
    const auto more = iterate(of, iterations - all.shared, stop);
    if (!more) return std::nullopt;
    all.seconds += more->seconds;
    all.shared += more->shared;
    all.of_each += more->of_each;
  }
  return all.seconds / static_cast<double>(all.of_each);
}

/// Repetitions of one entry.
template <std::floating_point T>
class Turn {
 public:
  Turn(TimedEntry<T>& of, const TimingSettings& settings) : of_(&of) {
    Product<T> product(*of.a, of.right_hand_sides);
    product.seconds(1);  // the first use of memory is not the operator's cost
    const double once = std::max(slowest(settings.communicator, product.seconds(2)), 1e-9);
    products_ = std::clamp(static_cast<int>(seconds_per_batch / once), 1, most_products_a_batch);
  }
  void take(const TimingSettings& settings) {
    const ProcessorTime before = processor_time();
    const double product = slowest(settings.communicator, seconds_of_product());
    if (!of_->b.empty()) {
      const auto iteration = seconds_of_iteration(*of_, settings.iterations, of_->stop ? of_->stop : settings.stop);
      if (!iteration) return;
      of_->iteration.add(slowest(settings.communicator, *iteration));
    }
    of_->product.add(product);
    of_->processor += processor_time() - before;
  }

 private:
  /// Frees x and y before CG allocates its vectors.
  double seconds_of_product() const {
    Product<T> product(*of_->a, of_->right_hand_sides);
    product.seconds(1);
    return product.seconds(products_);
  }

  TimedEntry<T>* of_;
  int products_ = 1;
};

}  // namespace

template <std::floating_point T>
Samples time_products(const Operator<T>& a, double seconds) {
  constexpr int least = 2, most = 101;
  const double enough = std::min(seconds, 0.1);
  Product<T> product(a, 1);
  product.seconds(1);
  Samples samples;
  for (double total = 0; samples.count() < least || (total < enough && samples.count() < most);) {
    samples.add(product.seconds(1));
    total += samples.last();
  }
  return samples;
}

template <std::floating_point T>
void time_interleaved(std::vector<TimedEntry<T>>& entries, const TimingSettings& settings,
                      const std::function<void(std::size_t, const std::exception&)>& failed) {
  std::vector<std::optional<Turn<T>>> turns(entries.size());
  for (int repetition = 0; repetition < settings.repetitions; ++repetition)
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (repetition > 0 && !turns[i]) continue;  // it has failed
      try {
        if (!turns[i]) turns[i].emplace(entries[i], settings);
        turns[i]->take(settings);
      } catch (const std::exception& error) {
        turns[i].reset();
        failed(i, error);
      }
      if (settings.go_on && !settings.go_on()) return;
    }
}

template Samples time_products(const Operator<double>&, double);
template Samples time_products(const Operator<float>&, double);
template void time_interleaved(std::vector<TimedEntry<double>>&, const TimingSettings&,
                               const std::function<void(std::size_t, const std::exception&)>&);
template void time_interleaved(std::vector<TimedEntry<float>>&, const TimingSettings&,
                               const std::function<void(std::size_t, const std::exception&)>&);

}  // namespace femcg::solver
