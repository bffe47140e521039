#pragma once

// Measurements and records of several processes.

#include <concepts>
#include <cstdint>
#include <string>

#include "operators/distributed/distributed_operator.hpp"
#include "solver/benchmark/clock.hpp"
#include "solver/case/case.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// Measures the copy bandwidth of all processes at the same time, in total; it is not cached. Collective.
void measure_copies(const operators::Communicator& communicator, Record& record);

/// Division of a problem among processes.
struct Division {
  const operators::Communicator& communicator;
  const operators::Subdomain& subdomain;
  std::string partition;
  bool automatic_mode = false;
  std::int64_t cells = 0, interface_cells = 0;  ///< of this process; rows, for a matrix
};
Division division_of(const operators::FormSubdomain& subdomain, const MeshChoice& mesh,
                     const DistributionChoice& distribution, const operators::Communicator& communicator);

/// Seconds of products, each that of the slowest process. Collective.
template <std::floating_point T>
Samples time_products(const operators::Operator<T>& a, const operators::Communicator& communicator);

/// Completes the record of all processes on the first one. The operator's numbers are for `right_hand_sides` right-hand
/// sides at once, its exchanges those since `before`. Collective.
template <std::floating_point T>
void complete_record(const Division& of, const operators::DistributedOperator<T>& a, int right_hand_sides,
                     Record& record, const operators::ExchangeRecord& before = {});

}  // namespace femcg::solver
