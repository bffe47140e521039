#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The baseline on the GPU: cuSPARSE's generic product with compressed rows, and CG's vector passes as cuBLAS calls
/// with scalars on the device, or femcg's own.
OperatorDescription cusparse_csr();
Makers cusparse_csr_on_gpu();

/// The same with cuSPARSE's sliced ELLPACK; of the heights of slices and orders of rows that the options leave open,
/// the one that measures fastest. With rows in another order x and y have that order too.
OperatorDescription cusparse_sell();
Makers cusparse_sell_on_gpu();

}  // namespace femcg::operators
