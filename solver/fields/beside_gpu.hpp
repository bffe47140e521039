#pragma once

#include <omp.h>

#include <cstdint>
#include <future>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "mesh/dofs/function_space.hpp"

namespace femcg::solver {

/// Whether writing the solution takes longer than beginning a thread, and CG longer than that disturbs.
inline bool pays_beside_gpu(const mesh::FunctionSpace& space) {
  constexpr std::int32_t dofs = 1'000'000;
  return space.dof_count() >= dofs;
}

/// Lets a thread of its own begin with work for all cores but one, which feeds the GPU that iterates meanwhile. A
/// future without a state where there are too few cores for it.
template <class Work>
std::future<std::invoke_result_t<Work>> begin_beside_gpu(Work work) {
  constexpr int enough = 4;
  const int threads = omp_get_max_threads();
  if (threads < enough) return {};
  return std::async(std::launch::async, [threads, work = std::move(work)] {
    omp_set_num_threads(threads - 1);  // of this thread's loops
    return work();
  });
}

/// What that made; where it was begun for more solutions than there came, `again` makes it.
template <class Result, class Again>
Result finished(std::future<Result>& begun, bool all_came, const Again& again) {
  try {
    return begun.get();
  } catch (const std::out_of_range&) {  // ComingSolutions::at
    if (all_came) throw;
    return again();
  }
}

}  // namespace femcg::solver
