#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// SELL-C-sigma (Kreutzer et al. 2012, 2014): chunks of C rows, each padded to its longest row and stored column by
/// column, rows sorted by length within windows of sigma rows.
OperatorDescription sell();
Makers sell_on_gpu();

/// The same with C = 32 and all rows sorted together; x and y are in that order too, so that nothing is scattered.
OperatorDescription pjds();
Makers pjds_on_gpu();

}  // namespace femcg::operators
