#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Compressed rows. On a GPU rows are streamed, a run of them per block, or by the fixed rule of Reguly & Giles 2012,
/// groups of threads per row.
OperatorDescription csr();
Makers csr_on_gpu();

}  // namespace femcg::operators
