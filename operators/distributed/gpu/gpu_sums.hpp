#pragma once

#include <memory>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

namespace cuda {
struct ProcessSums;
}

/// Numbers of a GPU that are added up over processes: sums_c = sum of a_c + b_c, c < count, b being null for zero; and
/// the same of `more` numbers in their place.
struct Summands {
  const double *a = nullptr, *b = nullptr;
  int count = 0;
  double* sums = nullptr;
  double* more = nullptr;
  int more_count = 0;
};

/// Sums over the processes of one machine that their GPUs make themselves: each writes its numbers into the memory of
/// all, and adds up what it has there in the order of ranks, so that all have the same bits. Neither the host nor MPI
/// takes part, so that sums can be recorded with what comes before and after.
class GpuSums {
 public:
  virtual ~GpuSums() = default;

  /// Buffers for the kernels that produce or consume the sums.
  virtual const cuda::ProcessSums& memories() const = 0;
};

/// Null where a process has no GPU of its own, they are not all of one machine, or CUDA does not let them write into
/// each other's memory. Collective; so is the end of what it makes, but where a process fails. The communicator must
/// outlive it.
std::unique_ptr<GpuSums> make_gpu_sums(const Communicator& communicator);

}  // namespace femcg::operators
