#pragma once

// What femcg compare and femcg matrix on several processes have in common.

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operators/distributed/distributed_operator.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/progress.hpp"
#include "solver/run/distributed_record.hpp"

namespace femcg::solver {

/// One linear system that every operator is tried on, and what this process has of it; vectors as IndexMap says.
struct DistributedSystem {
  Division division;
  const Case& resolved;  ///< compare and solver
  ReferenceProduct reference;
  bool has_load = false;           ///< else products only; the same on all processes
  std::vector<double> load = {};   ///< right-hand side of CG
  double expected_iterations = 0;  ///< on the first process
  Record common;                   ///< what all records share, the device included
  std::map<std::string, std::string> sweep = {};
  std::string where = {};  ///< of the sweep, before what is done
  std::shared_ptr<const MatrixSource> source = {};
  std::shared_ptr<const operators::MatrixStatistics> statistics = {};
};

/// Makes the operator of a choice; the record gets memory and times. What fails on one process fails on all.
template <std::floating_point T>
using MakeDistributed =
    std::function<std::unique_ptr<operators::DistributedOperator<T>>(const OperatorChoice&, Record&)>;

/// Throws InputError where the comparison that the case asks for needs one process.
void require_one_device(const Case& resolved);
/// The device of all processes (choose_shared_device).
operators::Device choose_compared_device(const Case& resolved, const operators::Communicator& communicator,
                                         std::string& why);
/// Who takes part on that device.
std::vector<BenchmarkEntry> entries_on(operators::Device device, const Case& resolved, bool matrix_only);

/// Makes every entry's operator of all processes, checks it against the reference, and times those that agree, in turn,
/// by the slowest process. Those that do not fit in memory together are timed in groups. The rows are complete on the
/// first process. Together.
template <std::floating_point T>
std::vector<BenchmarkResult> compare_operators(const DistributedSystem& system,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const MakeDistributed<T>& make, const StopRequested& stop,
                                               Progress& progress);

}  // namespace femcg::solver
