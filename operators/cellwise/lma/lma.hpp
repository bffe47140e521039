#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The local matrix approach: y = sum_c P_c' (K_c (P_c x)) with the element matrices stored, never assembled (Reguly &
/// Giles 2012, section 8). Blocks of cells that share unknowns add to them atomically; colour by colour; or each to a
/// place of its own, from where they are gathered in a fixed order. The last two are bitwise reproducible.
///
/// On the host made from the element matrices, on a GPU from the form alone.
OperatorDescription lma_atomic();
OperatorDescription lma_coloured();
OperatorDescription lma_gather();
Makers lma_atomic_on_gpu();
Makers lma_coloured_on_gpu();
Makers lma_gather_on_gpu();

}  // namespace femcg::operators
