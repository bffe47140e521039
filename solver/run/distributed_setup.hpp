#pragma once

// What several processes agree on before they solve a case, or compare operators on it.

#include <cstdint>
#include <functional>
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

/// Throws InputError, on all processes, where they are not of one build or have not one `what`, which `text` says all
/// of.
void require_same(const std::string& what, const std::string& text, const operators::Communicator& communicator);

/// The device of all processes, together: GPUs where the case asks for them, or leaves it open and each process can
/// have one; of those that it sees, each process has the one that the fewest before it have. `why` says why there are
/// GPUs that are not used. Throws InputError where more processes would share one than the case allows, or the operator
/// has no version for the device, and MachineError where there is none.
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

/// Whether every machine has a core beside the threads of its processes for each of them, together. A warning where
/// there are more threads than cores, and where progress threads that would need these cores go without.
bool check_threads(const operators::Communicator& communicator, bool needs_progress_threads, Record& record);

/// Collective. Runs local work on every process; if it throws on one, all throw: the others the same sentence behind
/// that process's number.
void do_on_all(const operators::Communicator& communicator, const std::function<void()>& work);

/// What is needed together with what was needed so far; both are there at one time.
void add(const MemoryEstimate& need, MemoryEstimate& all);
/// Throws operators::OutOfMemory, on all processes, where a machine, or its GPU, has too little for all processes that
/// are on it. Collective.
void require_memory_of_all(MemoryEstimate need, const std::string& op, operators::Device device,
                           const operators::Communicator& communicator);

/// About how many iterations CG takes on the whole, by what the first process has of it; on the others 0. Collective.
double expected_iterations(const Problem& problem, const SolverChoice& solver,
                           const operators::Communicator& communicator);

}  // namespace femcg::solver
