#pragma once

// What a run on several processes begins with; run_distributed.cpp goes on from there.

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/distributed_operator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/progress.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// The sentence that refuses `what` to several processes, and says what to do instead.
std::string is_for_one_process(const std::string& what, const std::string& instead);

/// Throws InputError where the case asks for something that several processes do not have.
void require_supported(const Case& resolved);

/// Throws InputError, on all processes, where they are not of one build or have not one `what`, which `text` says all
/// of.
void require_same(const std::string& what, const std::string& text, const operators::Communicator& communicator);

/// The device of all processes, together: GPUs where the case asks for them, or leaves it open and each process can
/// have one; of those that it sees, each process has the one that the fewest before it have. `why` says why there are
/// GPUs that are not used. Throws InputError where more processes would share one than the case allows, or the operator
/// has no version for the device, and MachineError where there is none.
operators::Device choose_shared_device(const Case& resolved, const operators::Communicator& communicator,
                                       std::string& why);

/// How the cells are divided, where the case leaves it open.
Partition chosen_partition(const Case& resolved);

/// What this process has of the mesh. Blocks of a box are made by each process; else the first makes the mesh, divides
/// it, and sends each its part. Remarks stay with that. Throws InputError where the case's mesh has no blocks.
mesh::MeshPart make_mesh_part(const Case& resolved, const operators::Communicator& communicator);

/// The process of each cell of a whole mesh, of so many.
std::vector<std::int32_t> partition(const Case& resolved, const mesh::Mesh& mesh, int processes);

/// Whether every machine has a core beside the threads of its processes for each of them, together. A remark where
/// there are more threads than cores, and where companions that would need these cores go without.
bool check_threads(const operators::Communicator& communicator, bool needs_companions, Record& record);

/// What the steps of a run on this process have in common.
struct SharedRun {
  const Case& resolved;
  const Problem& problem;
  const operators::FormShare& share;
  const operators::Communicator& communicator;
  bool cores_to_spare;  ///< for a thread beside those that multiply
};

/// Does work of this process alone, together. Where it fails on one process it fails on all: with what it throws there,
/// and on the others with the same sentence behind the process's number.
void do_on_all(const operators::Communicator& communicator, const std::function<void()>& work);

/// What is needed together with what was needed so far; both are there at one time.
void add(const MemoryEstimate& need, MemoryEstimate& all);
/// Throws operators::OutOfMemory, on all processes, where a machine, or its GPU, has too little for all processes that
/// are on it. Together.
void require_memory_of_all(MemoryEstimate need, const std::string& op, operators::Device device,
                           const operators::Communicator& communicator);

/// About how many iterations CG takes on the whole, by what the first process has of it; on the others 0. Together.
double expected_iterations(const SharedRun& of);

/// The operator of all processes, and what another conversion of this process's parts, interior and interface, is made
/// from.
template <std::floating_point T>
struct MadeTogether {
  std::unique_ptr<operators::DistributedOperator<T>> a;
  std::array<std::shared_ptr<const operators::CsrMatrix<T>>, 2> matrices;  ///< null where it is made from the form
  std::int64_t reserved_bytes = 0;                                         ///< operators::Ingredients
};

/// The operator that the case names or auto takes, of this process's share; the record gets memory and times. Throws
/// operators::OutOfMemory before anything large is allocated where a machine has too little for all its processes. What
/// fails on one process fails on all.
template <std::floating_point T>
MadeTogether<T> make_operator(const SharedRun& of, const StopRequested& stop, Progress& progress, Record& record);

}  // namespace femcg::solver
