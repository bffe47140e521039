#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Slices of 32 rows as in SELL-C-sigma (Kreutzer et al. 2014), in which rows that share their columns lie side by side
/// and store them once, by runs of consecutive ones: the dense sub-blocks of Baskaran & Bordawekar 2009.
OperatorDescription csr_grouped();
Makers csr_grouped_on_gpu();

}  // namespace femcg::operators
