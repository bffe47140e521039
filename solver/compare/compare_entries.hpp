#pragma once

#include <string>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The devices of femcg compare and femcg matrix by name.
struct ComparedDevices {
  std::vector<std::string> names;  ///< of several processes one, which all use
  std::string why_on_host;         ///< why GPUs that several processes have are not used
};
/// Throws InputError where several processes are asked for several devices, and what choose_shared_device throws.
ComparedDevices compared_devices(const CompareChoice& choice, const DistributionChoice& distribution,
                                 const operators::Communicator& communicator);

/// Who takes part: every operator on every device; where all operators are asked for, without those that do not apply.
/// `matrix_only`: there is no mesh. Throws MachineError where a GPU is asked for and there is none, InputError where no
/// operator applies.
std::vector<BenchmarkEntry> choose_entries(const CompareChoice& choice, const ComparedDevices& devices,
                                           bool matrix_only);

/// Adds sentences on the threads of several processes, and on GPUs that they do not use. True where each process has a
/// core for one more thread (check_threads). Collective.
bool note_processes(const ComparedDevices& devices, const DistributionChoice& distribution,
                    const operators::Communicator& communicator, std::vector<std::string>& warnings);

}  // namespace femcg::solver
