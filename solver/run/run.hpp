#pragma once

#include <string>

#include <memory>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// `femcg run`: mesh, space, problem, operator, CG, report; writes the results folder.
ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop);

/// What one run leaves for the next one of a study: what the next case has the same. Each is made anew where its key,
/// what it is made from as text, is another.
struct KeptParts {
  bool operators = false;  ///< whether operators are kept too
  std::string mesh_key, space_key, problem_key;
  std::unique_ptr<const mesh::Mesh> mesh;
  std::unique_ptr<const mesh::FunctionSpace> space;
  std::shared_ptr<const Problem> problem;
  std::string operator_key;
  operators::Device device = operators::Device::host;
  std::string why_device;
  double copy_bandwidth = 0;         ///< of that device, once it was measured
  std::shared_ptr<const void> made;  ///< the operator, with its preconditioner and the problem that it is made of
};

/// A run without what it prints; it writes its results folder where that is wanted.
Record run_case(const Case& resolved, KeptParts& kept, bool writes, Progress& progress, const StopRequested& stop);

/// The case as text, without what the operator does not depend on: loads, tolerances, output. Cases for which it is the
/// same may have one operator.
std::string operator_key(const Case& resolved);

/// `femcg check`: everything that a case names is read and checked, nothing is solved or written. Remarks go to
/// standard error. Returns what memory a run would need, as comments of YAML.
std::string check(const Case& resolved, const Console& console);

}  // namespace femcg::solver
