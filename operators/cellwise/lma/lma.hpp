#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The local matrix approach: y = sum_c P_c' (K_c (P_c x)) with stored, never assembled element matrices (Reguly &
/// Giles 2012, section 8). Blocks of cells add to shared unknowns atomically; or colour by colour; or write
/// contributions that are gathered in a fixed order. The last two are bitwise reproducible.
///
/// On the host made from the element matrices, on a GPU from the form alone.
OperatorDescription lma_atomic();
OperatorDescription lma_coloured();
OperatorDescription lma_gather();
Makers lma_atomic_on_gpu();
Makers lma_coloured_on_gpu();
Makers lma_gather_on_gpu();

}  // namespace femcg::operators
