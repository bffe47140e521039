#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"
#include "solver/run/device_start.hpp"

namespace femcg::solver {

/// Discrete problem of a case on this process's part of the mesh, which is the whole mesh on one process.
struct DiscreteProblem {
  DiscreteProblem(const ProblemData& of_case, const mesh::FunctionSpace& space, const operators::SharedDofs& shared)
      : data(of_case), problem(data, space, shared) {}

  ProblemData data;  ///< referenced by `problem`
  Problem problem;
  std::optional<operators::FormSubdomain> share;  ///< of several processes

  const operators::FormSubdomain* share_or_null() const { return share ? &*share : nullptr; }
};

/// Parts that a run of a study leaves for the next one. A part is remade if its key, the text of its input, has
/// changed.
struct CachedParts {
  bool operators = false;  ///< true if operators are cached too
  std::string mesh_key, space_key, problem_key;
  std::unique_ptr<const mesh::MeshPart> part;
  std::unique_ptr<const mesh::FunctionSpace> space;
  std::unique_ptr<const operators::SharedDofs> shared;  ///< dofs of the space shared with other processes
  std::shared_ptr<const DiscreteProblem> discrete;
  std::string operator_key;
  operators::Device device = operators::Device::host;
  std::string why_device;
  double copy_bandwidth = 0;         ///< of that device, once measured
  std::shared_ptr<const void> made;  ///< the operator, with its preconditioner and its problem
};

/// Makes mesh, space and problem of a case, unless cached; frees old parts before making new ones. The device starts
/// concurrently, once no process is forked to make a mesh. Collective.
void discretise(const Case& resolved, CachedParts& kept, DeviceStart& start, const RunContext& context, Record& record);

/// Checks the least memory of a box's cells and dofs before it is made; other meshes are not checked. Throws
/// operators::OutOfMemory if a process's part exceeds the free memory.
void require_memory_of_box(const Case& resolved, int processes);

/// Checks the memory of a case's loads: values and solution of each, and sums over all dofs during assembly. Throws
/// operators::OutOfMemory if it exceeds the free memory.
void require_memory_of_loads(const ProblemData& data, const mesh::FunctionSpace& space);

/// Text of the case without the parts that do not affect the operator: loads, tolerances, output. Cases with the same
/// text may use one operator.
std::string operator_key(const Case& resolved);

}  // namespace femcg::solver
