#pragma once

#include <string>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/vendor/sliced_ell.hpp"

namespace femcg::operators {

/// Whose vector passes CG uses.
enum class VectorPasses { cublas, femcg };

struct CusparseCsrChoice {
  int bits;       ///< of an offset and of a column
  int algorithm;  ///< 0 is cuSPARSE's default, 1 and 2 are CUSPARSE_SPMV_CSR_ALG1 and 2
  VectorPasses passes;
};

struct CusparseSellChoice {
  std::vector<SliceLayout> layouts;  ///< what the options leave open, of which the fastest is taken
  std::string index;                 ///< as in index_bits
  VectorPasses passes;
};

/// The choice that the options ask for. Throws std::invalid_argument where option `index` is too narrow.
template <std::floating_point T>
CusparseCsrChoice chosen_cusparse_csr(const CsrMatrix<T>& matrix, const Options& given);
template <std::floating_point T>
CusparseSellChoice chosen_cusparse_sell(const CsrMatrix<T>& matrix, const Options& given);

}  // namespace femcg::operators
