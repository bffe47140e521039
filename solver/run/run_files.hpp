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

/// The files of a run that have its solutions: solution.vtu and boundary.vtu of one process; of several their pieces,
/// which travel to the first, since the others need not see its disk. Everything here is collective.
class RunFiles {
 public:
  /// All must outlive it.
  RunFiles(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, mesh::FileGroup& group)
      : output_(output), label_(label), problem_(problem), group_(group) {}
  virtual ~RunFiles() = default;
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  virtual std::vector<std::string> names() const = 0;
  /// Bytes of all of them, before anything is solved.
  virtual std::int64_t expected_bytes() const = 0;
  /// Computes what these solutions, coefficients of all dofs of this process, must have before they are written.
  virtual void prepare(const std::vector<std::vector<double>>& solutions) = 0;
  /// Adds the files to the group, on the first process, and has those of an earlier run that are not written now go.
  virtual void add(const std::vector<std::vector<double>>& solutions) = 0;

 protected:
  const OutputChoice& output_;
  const SolutionLabel& label_;
  const Problem& problem_;
  mesh::FileGroup& group_;
};

/// The files that a case asks for.
std::unique_ptr<RunFiles> make_run_files(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                                         mesh::FileGroup& group, const RunContext& context);

}  // namespace femcg::solver
