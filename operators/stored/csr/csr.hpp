#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Compressed rows. On a GPU rows are streamed, one run of them per block; if many rows have equal columns, columns are
/// stored once and these rows multiplied together; by the fixed rule of Reguly & Giles 2012 there are groups of threads
/// per row.
OperatorDescription csr();
Makers csr_on_gpu();

}  // namespace femcg::operators
