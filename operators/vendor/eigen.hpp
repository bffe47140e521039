#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The baseline: Eigen's product of a row-major sparse matrix and a dense vector, with Eigen's own threads, and CG's
/// vector passes as Eigen expressions. Columns and values are shared with the assembled matrix as long as 32 bits count
/// its nonzeros.
OperatorDescription eigen();

}  // namespace femcg::operators
