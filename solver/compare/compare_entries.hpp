#pragma once

#include <string>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// Devices of femcg compare and femcg matrix, by name.
struct ComparedDevices {
  std::vector<std::string> names;  ///< on several processes a single one, common to all
  std::string why_on_host;         ///< why several processes do not use their GPUs
};
/// Throws InputError if several processes are asked for several devices, and the exceptions of choose_shared_device.
ComparedDevices compared_devices(const CompareChoice& choice, const DistributionChoice& distribution,
                                 const operators::Communicator& communicator);

/// Entries of a comparison: every operator on every device; if all operators are asked for, without those that do not
/// apply. `matrix_only`: there is no mesh. Throws MachineError if a GPU is asked for and there is none, InputError if
/// no operator applies.
std::vector<BenchmarkEntry> choose_entries(const CompareChoice& choice, const ComparedDevices& devices,
                                           bool matrix_only);

/// Adds warnings about the threads of several processes, and about GPUs that they do not use. Returns true if each
/// process has a core for one more thread (check_threads). Collective.
bool note_processes(const ComparedDevices& devices, const DistributionChoice& distribution,
                    const operators::Communicator& communicator, std::vector<std::string>& warnings);

}  // namespace femcg::solver
