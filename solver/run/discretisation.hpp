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

/// The discrete problem of a case on the part of the mesh that this process has: all of it where it is alone.
struct DiscreteProblem {
  DiscreteProblem(const ProblemData& of_case, const mesh::FunctionSpace& space, const operators::SharedDofs& shared)
      : data(of_case), problem(data, space, shared) {}

  ProblemData data;  ///< which the problem points to
  Problem problem;
  std::optional<operators::FormSubdomain> share;  ///< of several processes

  const operators::FormSubdomain* share_or_null() const { return share ? &*share : nullptr; }
};

/// Parts that a run of a study leaves for the next. A part is made anew if its key, the text of its input, has changed.
struct CachedParts {
  bool operators = false;  ///< whether operators are kept too
  std::string mesh_key, space_key, problem_key;
  std::unique_ptr<const mesh::MeshPart> part;
  std::unique_ptr<const mesh::FunctionSpace> space;
  std::unique_ptr<const operators::SharedDofs> shared;  ///< dofs of the space that other processes have as well
  std::shared_ptr<const DiscreteProblem> discrete;
  std::string operator_key;
  operators::Device device = operators::Device::host;
  std::string why_device;
  double copy_bandwidth = 0;         ///< of that device, once it was measured
  std::shared_ptr<const void> made;  ///< the operator, with its preconditioner and the problem that it is made of
};

/// Makes mesh, space and problem of a case, as far as they are not kept already; what takes memory goes before what
/// replaces it. The device starts meanwhile, once no process is forked to make a mesh. Collective.
void discretise(const Case& resolved, CachedParts& kept, DeviceStart& start, const RunContext& context, Record& record);

/// Checks the least memory of the cells and dofs of a box before it is made. Throws operators::OutOfMemory where a
/// process's share is more than there is. Other meshes are not looked at.
void require_memory_of_box(const Case& resolved, int processes);

/// Bytes of the loads of a case: values and solution of each, and sums over all dofs while one is assembled. Throws
/// operators::OutOfMemory where there are more loads than memory for them.
void require_memory_of_loads(const ProblemData& data, const mesh::FunctionSpace& space);

/// The case as text, without what the operator does not depend on: loads, tolerances, output. Cases with the same text
/// may share one operator.
std::string operator_key(const Case& resolved);

}  // namespace femcg::solver
