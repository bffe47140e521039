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
/// Selects a GPU: the one with the number in `device`, else the first usable one. Throws MachineError with the reason
/// if there is none.
void require_gpu(std::string_view device);

/// Device of a name, for operators with versions for all devices: `auto` is the GPU if there is one.
operators::Device device_named(std::string_view device);

/// Device that an operator runs on if `device` is requested. An explicitly requested GPU may be absent (require_gpu).
/// Throws InputError if the operator has no version for the device.
operators::Device choose_device(std::string_view device, const OperatorChoice& op);

/// Reason, in one sentence, for solving a problem of this size on a processor with `threads` threads although there may
/// be a GPU (`device: auto`); empty if there is none. With multigrid, 16 threads finish problems of up to 400,000
/// unknowns before a GPU has started; CG with a diagonal preconditioner makes hundreds of iterations.
std::string why_on_host(const SolverChoice& solver, std::int64_t unknowns, std::int64_t loads, int threads);

}  // namespace femcg::solver
