#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operators/backend/device.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// True if a GPU can be used now.
bool has_gpu();
/// True if a device of a case is a GPU: cuda, or cuda:1 by its number.
bool is_gpu(std::string_view device);
/// Takes a GPU into use: the one whose number the device says, else the first that can be. Throws MachineError, which
/// says why there is none.
void require_gpu(std::string_view device);

/// The device of a name, where every operator has a version for it: `auto` is the GPU where there is one.
operators::Device device_named(std::string_view device);

/// The device that an operator runs on where `device` is asked for. A GPU that is insisted on may be absent
/// (require_gpu). Throws InputError where the operator has no version for the device.
operators::Device choose_device(std::string_view device, const OperatorChoice& op);

/// Reason to leave a problem of so many unknowns and loads to a processor of so many threads where a GPU may be there
/// too (`device: auto`), one sentence; empty where there is none. With multigrid 16 threads end before a GPU has begun
/// up to 400,000 unknowns; CG with a diagonal preconditioner makes hundreds of iterations.
std::string why_on_host(const SolverChoice& solver, std::int64_t unknowns, std::int64_t loads, int threads);

}  // namespace femcg::solver
