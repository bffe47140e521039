// The operators that a build with CUDA has for the GPU.
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

namespace femcg::operators {

std::span<const CudaRow> cuda_rows() {
  static const std::array rows{
      CudaRow{"csr", csr_on_gpu()},
      CudaRow{"ellpack", ellpack_on_gpu()},
      CudaRow{"ellpack-r", ellpack_r_on_gpu()},
      CudaRow{"sell", sell_on_gpu()},
      CudaRow{"pjds", pjds_on_gpu()},
      CudaRow{"csr-grouped", csr_grouped_on_gpu()},
      CudaRow{"csr-bitmask", csr_bitmask_on_gpu()},
      CudaRow{"csr-aligned", csr_aligned_on_gpu()},
      CudaRow{"ellr-t", ellr_t_on_gpu()},
      CudaRow{"jad", jad_on_gpu()},
      CudaRow{"hyb", hyb_on_gpu()},
      CudaRow{"lma-atomic", lma_atomic_on_gpu()},
      CudaRow{"lma-coloured", lma_coloured_on_gpu()},
      CudaRow{"lma-gather", lma_gather_on_gpu()},
      CudaRow{"matrix-free", matrix_free_on_gpu()},
      CudaRow{"cusparse-csr", cusparse_csr_on_gpu()},
      CudaRow{"cusparse-sell", cusparse_sell_on_gpu()},
  };
  return rows;
}

}  // namespace femcg::operators
