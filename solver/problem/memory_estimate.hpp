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

/// A part of the memory needed on the way to a solution.
struct MemoryPart {
  std::string what;
  operators::Device device;
  std::int64_t bytes;
  std::int64_t slack = 0;  ///< possible reduction, if columns fit in 16 bits or cells are affine
};

/// Memory needed in addition to the mesh, the dofs and the load, which exist when this is estimated.
struct MemoryEstimate {
  std::vector<MemoryPart> parts;
  std::int64_t host_bytes = 0, device_bytes = 0;              ///< peak memory of the host and of the GPU
  std::int64_t slack_host_bytes = 0, slack_device_bytes = 0;  ///< possible reduction
  std::int64_t loop_bytes = 0;                                ///< of a persistent kernel; 0: certainly none
  std::int64_t reserved_bytes = 0;  ///< of the GPU, needed in addition to the operator: operators::Ingredients
  std::int64_t streamed_bytes = 0;  ///< of the host, sent to the GPU with each product
  operators::StorageEstimate of_operator = {};
  std::string way_out = {};  ///< what to do if the GPU has too little; may be empty
};

/// User of the memory: an operator of the catalogue with its options, on a device, in CG.
struct MemoryUser {
  const operators::OperatorDescription* row;
  const operators::Options* options;
  operators::Device device;
  const PreconditionerDescription* preconditioner;
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  std::int64_t systems = 1;              ///< number of right-hand sides
  std::int64_t also_on_device = 0;       ///< bytes of the caller on the device at the same time
  std::int64_t least_reserved = 0;       ///< on the device, for others with the same operator
  std::optional<std::int64_t> levels{};  ///< PreconditionerDescription::bytes_of_levels, if known

  /// Method of CG that takes all systems at once; automatic if they are solved one after the other. Block CG needs
  /// fewer iterations the more systems there are. On the host it is faster with any operator. On a GPU its small
  /// matrices are processed on the host in every iteration, which pays if the systems or their number are large enough.
  /// Multigrid in single precision is not a constant M to rounding, as block CG requires, and leaves few iterations to
  /// save.
  CgMethod batched_method(std::int64_t unknowns) const {
    constexpr std::int64_t pays_on_gpu = 1'000'000;  // for an H200
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
  /// Number of systems that the preconditioner is applied to at once.
  std::int64_t systems_at_once(std::int64_t unknowns) const { return takes_all(unknowns) ? systems : 1; }
};

/// Memory of `femcg run`, which frees the ingredients of the operator: element matrices, then the matrix assembled from
/// them, then the operator made from it, then CG's vectors. `rows` is null for operators without a matrix.
template <std::floating_point T>
MemoryEstimate need_of_run(const MemoryUser& user, const operators::BilinearForm& form,
                           const operators::MatrixRows<T>* rows);

/// Memory of one operator in a comparison, in addition to the matrix and the element matrices, which remain for the
/// others. `matrix` and `form` may be null.
template <std::floating_point T>
MemoryEstimate need_of_operator(const MemoryUser& user, const operators::BilinearForm* form,
                                const operators::CsrMatrix<T>* matrix);

/// Memory of the ingredients of all operators of a comparison. `rows` is null if none needs a matrix.
template <std::floating_point T>
MemoryEstimate need_of_assembly(const operators::BilinearForm& form, const operators::MatrixRows<T>* rows);

/// Throws InputError if a persistent kernel is required and certainly not possible. A GPU with few threads may still
/// have none.
void require_loop(const MemoryEstimate& need, const MemoryUser& user);

/// Throws operators::OutOfMemory with the memory that `who` needs and the free memory, if that is less than the certain
/// need.
void require_memory(const MemoryEstimate& need, const std::string& who);

/// Text with a line per part and a total, each beginning with `start`.
std::string to_text(const MemoryEstimate& need, const std::string& start);

}  // namespace femcg::solver
