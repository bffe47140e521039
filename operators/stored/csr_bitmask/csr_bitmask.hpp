#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Eight neighbouring rows over all columns that occur in them, four columns at a time: a 32-bit mask for 32 possible
/// entries, and the existing entries without padding, as in the bitmasked register blocks of Buluc et al. 2011. For
/// products with multi-vectors, by double-precision matrix instructions on a GPU: a row of X is read once for eight
/// rows.
OperatorDescription csr_bitmask();
Makers csr_bitmask_on_gpu();

}  // namespace femcg::operators
