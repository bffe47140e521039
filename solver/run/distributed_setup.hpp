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

/// The sentence that refuses `what` to several processes, and says what to do instead.
std::string is_for_one_process(const std::string& what, const std::string& instead);

/// Throws InputError where output is asked for that several processes do not have.
void require_supported(const OutputChoice& output);

/// Throws InputError, on all processes, where they are of different builds, or have different texts: of `what`.
/// Collective.
void require_same(const std::string& what, const std::string& text, const operators::Communicator& communicator);

/// The device of all processes: GPUs where the case asks for them, or leaves it open and each process can have one. A
/// process takes the GPU, of those that it sees, that the fewest processes before it have taken. `why` says why GPUs
/// are not used. Throws InputError where more processes would share a GPU than the case allows, or the operator has no
/// version for the device, and MachineError where there is no GPU. Collective.
operators::Device choose_shared_device(const SolverChoice& solver, const DistributionChoice& distribution,
                                       const operators::Communicator& communicator, std::string& why);

/// How the cells are divided; never automatic. Throws InputError where the mesh has no blocks.
Partition chosen_partition(const MeshChoice& mesh, const DistributionChoice& distribution);

/// The part of the mesh of this process, all of it where it is alone. Blocks of a box are made by each process;
/// otherwise the first makes the mesh, divides it, and sends each its part. Warnings stay with the first. Collective.
mesh::MeshPart make_mesh_part(const MeshChoice& choice, const DistributionChoice& distribution,
                              const operators::Communicator& communicator);

/// The process of each cell of a whole mesh, one of so many.
std::vector<std::int32_t> partition(const MeshChoice& choice, const DistributionChoice& distribution,
                                    const mesh::Mesh& mesh, int processes);

/// True if every host has a spare core for each of its processes beside their threads. The record gets a warning where
/// there are more threads than cores, and where progress threads (distribution.mode: task) go without for want of
/// cores. Collective.
bool check_threads(const operators::Communicator& communicator, bool needs_progress_threads, Record& record);

/// Adds a need to `all`, where both are in memory at the same time.
void add(const MemoryEstimate& need, MemoryEstimate& all);
/// Throws operators::OutOfMemory, on all processes, where a host, or its GPU, has too little memory for all processes
/// that are on it. Collective.
void require_memory_of_all(MemoryEstimate need, const std::string& op, operators::Device device,
                           const operators::Communicator& communicator);

/// About how many iterations CG takes on the whole, by what the first process has of it; on the others 0. Collective.
double expected_iterations(const Problem& problem, const SolverChoice& solver,
                           const operators::Communicator& communicator);

}  // namespace femcg::solver
