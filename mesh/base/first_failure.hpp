#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace femcg::mesh {

/// Carries an exception out of a parallel region, which none may leave by itself.
///
///   FirstFailure failure;
///   #pragma omp parallel for
///   for (std::int64_t i = 0; i < n; ++i) failure.guard(i, [&] { work(i); });
///   failure.rethrow();
///
/// Of several failures the one of the least item is thrown, whatever the threads: what comes after an item that failed
/// is skipped, what comes before is still tried.
class FirstFailure {
 public:
  /// The item of what a thread does before its share of the loop, such as making its scratch memory: before all others.
  static constexpr std::int64_t preparation = -1;

  /// Calls work(), unless an item before this one has failed; keeps what it throws.
  template <class Work>
  void guard(std::int64_t item, Work&& work) noexcept {
    if (item > least_failed_.load(std::memory_order_relaxed)) return;
    try {
      std::forward<Work>(work)();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (item >= least_failed_.load(std::memory_order_relaxed)) return;
      failure_ = std::current_exception();
      least_failed_.store(item, std::memory_order_relaxed);
    }
  }

  /// Throws what was kept. To be called after the parallel region.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<std::int64_t> least_failed_{std::numeric_limits<std::int64_t>::max()};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Calls work(i) for 0 <= i < count in parallel, in equal runs of items. Throws what the least item threw
/// (FirstFailure).
template <class Index, class Work>
void parallel_for(Index count, const Work& work) {
  FirstFailure failure;
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < count; ++i) failure.guard(static_cast<std::int64_t>(i), [&] { work(i); });
  failure.rethrow();
}

/// The same with work(scratch, i), where every thread has scratch memory of its own, which make() returns.
template <class Index, class Make, class Work>
void parallel_for(Index count, const Make& make, const Work& work) {
  using Scratch = std::invoke_result_t<const Make&>;
  struct InPlace {  // so that it need not be movable
    const Make& make;
    operator Scratch() const { return make(); }
  };
  FirstFailure failure;
#pragma omp parallel
  {
    std::optional<Scratch> scratch;
    failure.guard(FirstFailure::preparation, [&] { scratch.emplace(InPlace{make}); });
#pragma omp for schedule(static)
    for (Index i = 0; i < count; ++i) failure.guard(static_cast<std::int64_t>(i), [&] { work(*scratch, i); });
  }
  failure.rethrow();
}

}  // namespace femcg::mesh
