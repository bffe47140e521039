#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Eight neighbouring rows over the columns that any of them has, four at a time: 32 bits say which of these 32 entries
/// there are, and these alone are stored, as in the bitmasked register blocks of Buluc et al. 2011. Made for products
/// with several vectors, by double-precision matrix instructions on a GPU: a row of X is read once for eight rows.
OperatorDescription csr_bitmask();
Makers csr_bitmask_on_gpu();

}  // namespace femcg::operators
