#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// Something that takes memory on the way to a solution.
struct MemoryPart {
  std::string what;
  operators::Device device;
  std::int64_t bytes;
  std::int64_t slack = 0;  ///< how much less may do, where columns fit in 16 bits or cells are affine
};

/// The memory needed beside the mesh, the dofs and the load, which are there when this is estimated.
struct MemoryEstimate {
  std::vector<MemoryPart> parts;
  std::int64_t host_bytes = 0, device_bytes = 0;  ///< the most that is there at one time, of the host and of the GPU
  std::int64_t slack_host_bytes = 0, slack_device_bytes = 0;  ///< how much less may do
  std::int64_t loop_bytes = 0;                                ///< of a persistent kernel; 0: surely there is none
  std::int64_t reserved_bytes = 0;  ///< of the GPU, what is needed beside the operator: operators::Ingredients
  std::int64_t streamed_bytes = 0;  ///< of the host, what goes to the GPU with each product
  operators::StorageEstimate of_operator = {};
  std::string way_out = {};  ///< what to do where the GPU has too little; empty where nothing is known
};

/// Who needs memory: an operator of the catalogue with its options, on a device, in a CG.
struct MemoryUser {
  const operators::OperatorDescription* row;
  const operators::Options* options;
  operators::Device device;
  const PreconditionerDescription* preconditioner;
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  std::int64_t systems = 1;              ///< right-hand sides that there are
  std::int64_t also_on_device = 0;       ///< bytes that the caller has there meanwhile
  std::int64_t least_reserved = 0;       ///< of the device, for others with the same operator
  std::optional<std::int64_t> levels{};  ///< PreconditionerDescription::bytes_of_levels, where it is known

  /// The CG that takes all of them at once; automatic where they are solved one after the other. Block CG takes fewer
  /// iterations the more systems there are. On the host it is faster whatever the operator is; on a GPU its small
  /// matrices go through the host in every iteration, which pays where a system, or their number, is large enough.
  /// Multigrid in single precision is no constant M to rounding, as block CG needs it, and leaves few iterations to
  /// save.
  CgMethod batched_method(std::int64_t unknowns) const {
    constexpr std::int64_t pays_on_gpu = 1'000'000;  // of an H200
    if (takes_several(method)) return method;
    if (method != CgMethod::automatic || is_for_one_system(loop) || systems < 2) return CgMethod::automatic;
    const bool gains = row->gains_from_multi_vectors(device);
    if (preconditioner->iterations > 0)
      return gains && preconditioner->gains_on_host && device == operators::Device::host ? CgMethod::batched
                                                                                         : CgMethod::automatic;
    if (device == operators::Device::host || unknowns * systems * systems >= pays_on_gpu) return CgMethod::block;
    return gains ? CgMethod::batched : CgMethod::automatic;
  }
  bool takes_all(std::int64_t unknowns) const { return batched_method(unknowns) != CgMethod::automatic; }
  /// Systems that the preconditioner is applied to at once.
  std::int64_t systems_at_once(std::int64_t unknowns) const { return takes_all(unknowns) ? systems : 1; }
};

/// The memory of `femcg run`, which gives back what the operator was made from. Element matrices, then the matrix
/// assembled from them, then the operator made from it; then CG's vectors. `rows` is null for operators that need no
/// matrix.
template <std::floating_point T>
MemoryEstimate need_of_run(const MemoryUser& user, const operators::BilinearForm& form,
                           const operators::MatrixRows<T>* rows);

/// The memory of one operator in a comparison, beside the matrix and the element matrices, which are kept for the
/// others. `matrix` and `form` are null where there are none.
template <std::floating_point T>
MemoryEstimate need_of_operator(const MemoryUser& user, const operators::BilinearForm* form,
                                const operators::CsrMatrix<T>* matrix);

/// The memory of what all operators of a comparison are made from. `rows` is null where none needs a matrix.
template <std::floating_point T>
MemoryEstimate need_of_assembly(const operators::BilinearForm& form, const operators::MatrixRows<T>* rows);

/// Throws InputError where a persistent kernel is insisted on and surely cannot be had. A GPU with few threads may have
/// none all the same.
void require_loop(const MemoryEstimate& need, const MemoryUser& user);

/// Throws operators::OutOfMemory, which says what `who` needs and what is free, where that is less than surely needed.
void require_memory(const MemoryEstimate& need, const std::string& who);

/// A line per part and one in all, each beginning with `start`.
std::string to_text(const MemoryEstimate& need, const std::string& start);

}  // namespace femcg::solver
