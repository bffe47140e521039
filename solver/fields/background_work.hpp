#pragma once

#include <omp.h>
#include <sched.h>

#include <cstdint>
#include <future>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "mesh/dofs/function_space.hpp"

namespace femcg::solver {

/// True if the problem is large enough for a background thread: writing the solution takes longer than starting one.
inline bool background_pays(const mesh::FunctionSpace& space) {
  constexpr std::int32_t dofs = 1'000'000;
  return space.dof_count() >= dofs;
}

/// Starts a thread that works on all cores but one, in the time that others leave idle. Returns a future without a
/// state where there are too few cores.
template <class Work>
std::future<std::invoke_result_t<Work>> begin_in_background(Work work) {
  constexpr int enough = 4;
  const int threads = omp_get_max_threads();
  if (threads < enough) return {};
  return std::async(std::launch::async, [threads, work = std::move(work)] {
    const sched_param none{};
    static_cast<void>(sched_setscheduler(0, SCHED_IDLE, &none));  // this thread, and those that it starts
    omp_set_num_threads(threads - 1);                             // of this thread's loops
    return work();
  });
}

/// The result of background work; where it was started for more solutions than there are, `again` makes the result.
template <class Result, class Again>
Result finished(std::future<Result>& begun, bool all_came, const Again& again) {
  try {
    return begun.get();
  } catch (const std::out_of_range&) {  // FutureSolutions::at
    if (all_came) throw;
    return again();
  }
}

}  // namespace femcg::solver
