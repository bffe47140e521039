#pragma once

#include <memory>

#include "operators/distributed/communicator.hpp"

namespace femcg::operators {

/// Sums over the processes of one machine that their GPUs make themselves: each writes its numbers into the memory of
/// all, and adds up what it has there in the order of ranks, so that all have the same bits. Neither the host nor MPI
/// takes part, so that sums can be recorded with what comes before and after.
class GpuSums {
 public:
  virtual ~GpuSums() = default;

  static constexpr int most_numbers = 34;
  /// Gives the GPU: sums_c = sum over processes of a_c + b_c, c < count, b being null for zero; and the same of `more`
  /// numbers in their place.
  virtual void sum(const double* a, const double* b, int count, double* sums, double* more, int more_count) = 0;
};

/// Null where a process has no GPU of its own, they are not all of one machine, or CUDA does not let them write into
/// each other's memory. Together; so is the end of what it makes, but where a process fails. The communicator must
/// outlive it.
std::unique_ptr<GpuSums> make_gpu_sums(const Communicator& communicator);

/// Whether all processes are on one machine, and each has a GPU to itself. Together.
bool gpus_are_beside_each_other(const Communicator& communicator);

}  // namespace femcg::operators
