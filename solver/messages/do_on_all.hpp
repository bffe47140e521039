#pragma once

#include <functional>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::solver {

/// Collective. Runs local work on every process; if it throws on one, all throw: that process its exception, the others
/// the same sentence preceded by that process's number.
void do_on_all(const operators::Communicator& communicator, const std::function<void()>& work);

}  // namespace femcg::solver
