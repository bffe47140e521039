// The rows of the catalogue: what this program offers. On their own, so that a program of the tests can have others.
#include <array>

#include "operators/catalogue.hpp"
#include "operators/cellwise/lma/lma.hpp"
#include "operators/cellwise/matrix_free/matrix_free.hpp"
#include "operators/stored/csr/csr.hpp"
#include "operators/stored/csr_aligned/csr_aligned.hpp"
#include "operators/stored/csr_bitmask/csr_bitmask.hpp"
#include "operators/stored/csr_grouped/csr_grouped.hpp"
#include "operators/stored/ellpack/ellpack.hpp"
#include "operators/stored/ellr_t/ellr_t.hpp"
#include "operators/stored/hyb/hyb.hpp"
#include "operators/stored/jad/jad.hpp"
#include "operators/stored/sell/sell.hpp"
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
