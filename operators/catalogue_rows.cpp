// The rows of the catalogue. On their own, so that a program of the tests can have others.
#include "operators/catalogue.hpp"

#include <array>

#include "operators/csr/csr.hpp"
#include "operators/csr_aligned/csr_aligned.hpp"
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

std::span<const OperatorDescription> catalogue() {
  static const std::array rows{
      OperatorDescription{"csr", "compressed rows", "Reguly & Giles 2012; Greathouse & Daga 2014", Needs::matrix, true,
                          true, csr_options(), make_csr<double>, make_csr<float>, bytes_of_csr<double>,
                          bytes_of_csr<float>},
      OperatorDescription{"ellpack",
                          "rows padded to the longest, column by column",
                          "Bell & Garland 2009",
                          Needs::matrix,
                          true,
                          true,
                          {},
                          make_ellpack<double>,
                          make_ellpack<float>,
                          bytes_of_ellpack<double>,
                          bytes_of_ellpack<float>},
      OperatorDescription{"ellpack-r",
                          "ELLPACK that skips the padding",
                          "Kreutzer et al. 2012",
                          Needs::matrix,
                          true,
                          true,
                          {},
                          make_ellpack_r<double>,
                          make_ellpack_r<float>,
                          bytes_of_ellpack_r<double>,
                          bytes_of_ellpack_r<float>},
      OperatorDescription{"sell", "slices of C rows, each padded to its longest, rows sorted by length within sigma",
                          "Kreutzer et al. 2014", Needs::matrix, true, true, sell_options(), make_sell<double>,
                          make_sell<float>, bytes_of_sell<double>, bytes_of_sell<float>},
      OperatorDescription{"pjds", "sell with C = 32, all rows sorted together, CG's vectors in the same order",
                          "Kreutzer et al. 2012", Needs::matrix, true, true, pjds_options(), make_pjds<double>,
                          make_pjds<float>, bytes_of_pjds<double>, bytes_of_pjds<float>},
      OperatorDescription{"csr-aligned",
                          "compressed rows that begin at multiples of 16 entries",
                          "Baskaran & Bordawekar 2009",
                          Needs::matrix,
                          true,
                          true,
                          {},
                          make_csr_aligned<double>,
                          make_csr_aligned<float>,
                          bytes_of_csr_aligned<double>,
                          bytes_of_csr_aligned<float>},
      OperatorDescription{"ellr-t", "ELLPACK-R for T threads a row, rows padded to a multiple of T",
                          "Vazquez et al. 2012; Ortega et al. 2013", Needs::matrix, true, true, ellr_t_options(),
                          make_ellr_t<double>, make_ellr_t<float>, bytes_of_ellr_t<double>, bytes_of_ellr_t<float>},
      OperatorDescription{"jad",
                          "jagged diagonals: rows sorted by length, column by column, no padding",
                          "Li & Saad 2013; Wang et al. 2017",
                          Needs::matrix,
                          true,
                          true,
                          {},
                          make_jad<double>,
                          make_jad<float>,
                          bytes_of_jad<double>,
                          bytes_of_jad<float>},
      OperatorDescription{"hyb", "ELLPACK for the typical row, coordinates for the rest", "Bell & Garland 2009",
                          Needs::matrix, true, true, hyb_options(), make_hyb<double>, make_hyb<float>,
                          bytes_of_hyb<double>, bytes_of_hyb<float>},
      OperatorDescription{"lma-atomic", "element matrices (symmetric half); shared unknowns added atomically",
                          "Reguly & Giles 2012", Needs::element_matrices, true, true, lma_options(),
                          make_lma_atomic<double>, make_lma_atomic<float>, bytes_of_lma_atomic<double>,
                          bytes_of_lma_atomic<float>},
      OperatorDescription{
          "lma-coloured", "element matrices (symmetric half); shared unknowns added colour by colour, reproducible",
          "Reguly & Giles 2012", Needs::element_matrices, true, true, lma_options(), make_lma_coloured<double>,
          make_lma_coloured<float>, bytes_of_lma_coloured<double>, bytes_of_lma_coloured<float>},
      OperatorDescription{
          "lma-gather", "element matrices (symmetric half); shared unknowns gathered in a fixed order, reproducible",
          "Reguly & Giles 2012", Needs::element_matrices, true, true, lma_options(), make_lma_gather<double>,
          make_lma_gather<float>, bytes_of_lma_gather<double>, bytes_of_lma_gather<float>},
      OperatorDescription{"matrix-free", "no matrix: sum factorisation (tensor cells), reference matrices (simplices)",
                          "Orszag 1980; Lynch, Rice & Thomas 1964; Kronbichler & Kormann 2012", Needs::form, true, true,
                          matrix_free_options(), make_matrix_free<double>, make_matrix_free<float>,
                          bytes_of_matrix_free<double>, bytes_of_matrix_free<float>},
      OperatorDescription{
          "cusparse-csr", "compressed rows, cuSPARSE's product and cuBLAS's vector operations: the baseline",
          "NVIDIA cuSPARSE", Needs::matrix, false, true, cusparse_csr_options(), make_cusparse_csr<double>,
          make_cusparse_csr<float>, bytes_of_cusparse_csr<double>, bytes_of_cusparse_csr<float>},
      OperatorDescription{"cusparse-sell",
                          "slices of 32 rows, cuSPARSE's product and cuBLAS's vector operations",
                          "NVIDIA cuSPARSE",
                          Needs::matrix,
                          false,
                          true,
                          {},
                          make_cusparse_sell<double>,
                          make_cusparse_sell<float>,
                          bytes_of_cusparse_sell<double>,
                          bytes_of_cusparse_sell<float>},
      OperatorDescription{"eigen",
                          "Eigen's row-major sparse matrix, product and vector operations: the baseline",
                          "Eigen 3.4",
                          Needs::matrix,
                          true,
                          false,
                          {},
                          make_eigen<double>,
                          make_eigen<float>,
                          bytes_of_eigen<double>,
                          bytes_of_eigen<float>},
  };
  return rows;
}

}  // namespace femcg::operators
