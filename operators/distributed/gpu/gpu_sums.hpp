#pragma once

#include <memory>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

namespace cuda {
struct ProcessSums;
}

/// Values of a GPU to be summed over processes: sums_c = sum of a_c + b_c, c < count, where a null b is zero; and
/// `more_count` values of `more`, in place.
struct Summands {
  const double *a = nullptr, *b = nullptr;
  int count = 0;
  double* sums = nullptr;
  double* more = nullptr;
  int more_count = 0;
};

/// Sums over the processes of one host made by their GPUs: each GPU writes its values into the memory of all, and each
/// adds up its copies in the order of ranks, so that all get the same bits. Neither the host nor MPI takes part, so
/// that sums can be captured in CUDA graphs with the work around them.
class GpuSums {
 public:
  virtual ~GpuSums() = default;

  /// Buffers for the kernels that produce or consume the sums.
  virtual const cuda::ProcessSums& memories() const = 0;
};

/// Null if a process has no GPU of its own, the processes are on several hosts, or CUDA does not let the GPUs write
/// into each other's memory. Collective, as is the destruction of the result unless a process fails. The communicator
/// must outlive it.
std::unique_ptr<GpuSums> make_gpu_sums(const Communicator& communicator);

}  // namespace femcg::operators
