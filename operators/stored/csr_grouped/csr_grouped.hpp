#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Slices of 32 rows as in SELL-C-sigma (Kreutzer et al. 2014), where rows with equal columns are adjacent and store
/// these once, by runs of consecutive columns: the dense sub-blocks of Baskaran & Bordawekar 2009.
OperatorDescription csr_grouped();
Makers csr_grouped_on_gpu();

}  // namespace femcg::operators
