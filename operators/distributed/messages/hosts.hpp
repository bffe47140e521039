#pragma once

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// True if all processes run on one host. Collective.
bool on_one_host(const Communicator& communicator);

}  // namespace femcg::operators
