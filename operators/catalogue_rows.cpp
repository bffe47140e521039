// The rows of the catalogue: what this program offers. On their own, so that a program of the tests can have others.
#include <array>

#include "operators/catalogue.hpp"
#include "operators/csr/csr.hpp"
#include "operators/csr_aligned/csr_aligned.hpp"
#include "operators/csr_bitmask/csr_bitmask.hpp"
#include "operators/csr_grouped/csr_grouped.hpp"
#include "operators/ellpack/ellpack.hpp"
#include "operators/ellr_t/ellr_t.hpp"
#include "operators/hyb/hyb.hpp"
#include "operators/jad/jad.hpp"
#include "operators/lma/lma.hpp"
#include "operators/matrix_free/matrix_free.hpp"
#include "operators/sell/sell.hpp"
#include "operators/vendor/cusparse.hpp"
#include "operators/vendor/eigen.hpp"

namespace femcg::operators {

std::span<const OperatorDescription> own_operators() {
  static const std::array rows{csr(),          ellpack(),       ellpack_r(),    sell(),       pjds(),
                               csr_grouped(),  csr_bitmask(),   csr_aligned(),  ellr_t(),     jad(),
                               hyb(),          lma_atomic(),    lma_coloured(), lma_gather(), matrix_free(),
                               cusparse_csr(), cusparse_sell(), eigen()};
  return rows;
}

}  // namespace femcg::operators
