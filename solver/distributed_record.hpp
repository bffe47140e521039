#pragma once

// What records have of several processes.

#include <concepts>

#include "operators/distributed/distributed_operator.hpp"
#include "solver/distributed_setup.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// The longest that a process took, together.
double slowest(const operators::Communicator& communicator, double seconds);

/// What all processes copy a second while all of them do: nothing is kept of it for other runs. Together.
void measure_copies(const operators::Communicator& communicator, Record& record);

/// The record of all processes, on the first; the operator's numbers are of so many right-hand sides at once. Together.
template <std::floating_point T>
void complete_record(const SharedRun& of, const operators::DistributedOperator<T>& a, int right_hand_sides,
                     Record& record);

}  // namespace femcg::solver
