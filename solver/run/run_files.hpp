#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mesh/base/atomic_file.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Files of a run with its solutions: solution.vtu and boundary.vtu on one process; on several their pieces, which are
/// sent to the first, since the others may not share its disk. All functions are collective.
class RunFiles {
 public:
  /// All arguments must outlive this object.
  RunFiles(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, mesh::FileGroup& group)
      : output_(output), label_(label), problem_(problem), group_(group) {}
  virtual ~RunFiles() = default;
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  virtual std::vector<std::string> names() const = 0;
  /// Expected bytes of all files, before solving.
  virtual std::int64_t expected_bytes() const = 0;
  /// Computes derived fields of these solutions, coefficients of all dofs of this process, before they are written.
  virtual void prepare(const std::vector<std::vector<double>>& solutions) = 0;
  /// Adds the files to the group, on the first process, and removes those of an earlier run that are not written now.
  virtual void add(const std::vector<std::vector<double>>& solutions) = 0;

 protected:
  const OutputChoice& output_;
  const SolutionLabel& label_;
  const Problem& problem_;
  mesh::FileGroup& group_;
};

/// Files that a case asks for.
std::unique_ptr<RunFiles> make_run_files(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                                         mesh::FileGroup& group, const RunContext& context);

}  // namespace femcg::solver
