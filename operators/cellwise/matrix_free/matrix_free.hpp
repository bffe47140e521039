#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// Matrix-free: y = sum_c P_c' (B' D_c B) (P_c x) with stored factors D_c at the quadrature points, one per cell if the
/// cell is affine and its diffusion constant. Sum factorisation on tensor cells (Orszag 1980), reference matrices or
/// gradient tables on simplices (Kronbichler & Kormann 2012).
OperatorDescription matrix_free();
Makers matrix_free_on_gpu();

}  // namespace femcg::operators
