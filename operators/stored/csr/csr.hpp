#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Compressed rows. On a GPU rows are streamed, a run of them per block; where many have the same columns, these are
/// stored once and their rows multiplied together; by the fixed rule of Reguly & Giles 2012 there are groups of threads
/// per row.
OperatorDescription csr();
Makers csr_on_gpu();

}  // namespace femcg::operators
