#pragma once

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// Whether all processes run on one machine. Together.
bool on_one_machine(const Communicator& communicator);

}  // namespace femcg::operators
