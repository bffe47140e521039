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

/// Carries an exception out of a parallel region, which exceptions may not leave.
///
///   FirstFailure failure;
///   #pragma omp parallel for
///   for (std::int64_t i = 0; i < n; ++i) failure.guard(i, [&] { work(i); });
///   failure.rethrow();
///
/// If several items fail, the exception of the least item is thrown, whatever the number of threads: items after a
/// failed one are skipped, items before it are still tried.
class FirstFailure {
 public:
  /// Item index of a thread's work before its part of the loop, such as allocating scratch memory; less than every
  /// other.
  static constexpr std::int64_t preparation = -1;

  /// Calls work() unless a lesser item has failed, and stores the exception it throws.
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

  /// Throws the stored exception, if any. To be called after the parallel region.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<std::int64_t> least_failed_{std::numeric_limits<std::int64_t>::max()};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Calls work(i) for 0 <= i < count in parallel, one contiguous range of items per thread. Throws the exception of the
/// least item that failed (FirstFailure).
template <class Index, class Work>
void parallel_for(Index count, const Work& work) {
  FirstFailure failure;
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < count; ++i) failure.guard(static_cast<std::int64_t>(i), [&] { work(i); });
  failure.rethrow();
}

/// The same with work(scratch, i), where each thread makes its own scratch memory with make().
template <class Index, class Make, class Work>
void parallel_for(Index count, const Make& make, const Work& work) {
  using Scratch = std::invoke_result_t<const Make&>;
  struct InPlace {  // avoids a move of the scratch memory
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
