#pragma once

#include <functional>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::solver {

/// Runs local work on every process; if it throws on one, all throw: that process what the work threw, the others the
/// same sentence behind its number. Collective.
void do_on_all(const operators::Communicator& communicator, const std::function<void()>& work);

}  // namespace femcg::solver
