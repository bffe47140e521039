#pragma once

// Agreement of several processes before they solve a case, or compare operators on it.

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// Message that refuses `what` on several processes, and suggests an alternative.
std::string is_for_one_process(const std::string& what, const std::string& instead);

/// Throws InputError if output is requested that several processes do not support.
void require_supported(const OutputChoice& output);

/// Throws InputError on all processes if their builds or their texts of `what` differ. Collective.
void require_same(const std::string& what, const std::string& text, const operators::Communicator& communicator);

/// Device of all processes: GPUs if the case asks for them, or leaves the choice and each process can have one. A
/// process takes the GPU, among those visible to it, that the fewest preceding processes have taken. `why`: reason why
/// GPUs are not used. Throws InputError if more processes would share a GPU than the case allows, or if the operator
/// has no version for the device, and MachineError if there is no GPU. Collective.
operators::Device choose_shared_device(const SolverChoice& solver, const DistributionChoice& distribution,
                                       const operators::Communicator& communicator, std::string& why);

/// Partition of the cells; never automatic. Throws InputError if blocks are requested for a mesh without blocks.
Partition chosen_partition(const MeshChoice& mesh, const DistributionChoice& distribution);

/// This process's part of the mesh, the whole mesh on one process. Blocks of a box are made by each process; otherwise
/// the first process makes the mesh, divides it, and sends the parts. Only the first has warnings. Collective.
mesh::MeshPart make_mesh_part(const MeshChoice& choice, const DistributionChoice& distribution,
                              const operators::Communicator& communicator);

/// Process of each cell of a whole mesh, for `processes` processes.
std::vector<std::int32_t> partition(const MeshChoice& choice, const DistributionChoice& distribution,
                                    const mesh::Mesh& mesh, int processes);

/// True if every host has a spare core for each of its processes in addition to their threads. Adds a warning to the
/// record if there are more threads than cores, and if progress threads (distribution.mode: task) are not used for lack
/// of cores. Collective.
bool check_threads(const operators::Communicator& communicator, bool needs_progress_threads, Record& record);

/// Adds a need to `all`; both are in memory at the same time.
void add(const MemoryEstimate& need, MemoryEstimate& all);
/// Throws operators::OutOfMemory on all processes if a host, or its GPU, has too little memory for all its processes.
/// Collective.
void require_memory_of_all(MemoryEstimate need, const std::string& op, operators::Device device,
                           const operators::Communicator& communicator);

/// Estimated CG iterations for the whole problem, from the first process's part; 0 on the others. Collective.
double expected_iterations(const Problem& problem, const SolverChoice& solver,
                           const operators::Communicator& communicator);

}  // namespace femcg::solver
