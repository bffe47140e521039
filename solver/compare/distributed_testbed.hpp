#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operators/distributed/maps/matrix_subdomain.hpp"
#include "solver/benchmark/testbed.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/run/distributed_record.hpp"

namespace femcg::solver {

/// Subdomain of this process of a distributed system. Vectors are in the order of its map.
struct Subdomain {
  Division division;
  const operators::FormSubdomain* form = nullptr;      ///< null for a matrix
  const operators::MatrixSubdomain* matrix = nullptr;  ///< null for a form
  DistributionChoice distribution = {};
  bool cores_to_spare = false;                                         ///< check_threads
  std::shared_ptr<const operators::MatrixStatistics> statistics = {};  ///< of a whole matrix, on the first process
  std::string why_not_single = {};                                     ///< why single precision cannot hold the matrix
};

/// Testbed of several processes: operators of the subdomains, with the exchange between them.
template <std::floating_point T>
class DistributedTestbed final : public Testbed<T> {
 public:
  /// The system's load is scaled (scaled_load). All arguments must outlive the testbed; `stop` ends CG on all
  /// processes.
  DistributedTestbed(const System& system, const Subdomain& subdomain, const StopRequested& stop);

  std::int64_t size() const override { return subdomain_.division.subdomain.map.size(); }
  void assemble(std::span<const BenchmarkEntry> entries) override;
  MemoryEstimate need_of(MemoryUser user) const override;
  void require(const MemoryEstimate& need, const MemoryUser& user) const override;
  MadeOperator<T> make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const override;
  std::vector<operators::Vector<T>> loads(int count, operators::Device device) const override;
  ReferenceProduct reference() const override;
  CopyBandwidth copy_bandwidth(operators::Device device) const override;
  void note_made(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row) const override;
  void note_timed(const operators::Operator<T>& a, BenchmarkResult& row) const override;

 private:
  using Testbed<T>::system_;

  const Subdomain& subdomain_;
  const StopRequested& stop_;
  const operators::Communicator& communicator_;
  std::optional<Assembly<T>> interior_, interface_;  ///< of the parts (operators::Share) that have unknowns
};

/// compare_operators on several processes. Collective.
std::vector<BenchmarkResult> compare_operators(const System& system, const Subdomain& subdomain,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common);

}  // namespace femcg::solver
