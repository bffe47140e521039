#pragma once

#include "operators/bilinear_form.hpp"
#include "operators/lma/lma_cuda.hpp"

namespace femcg::operators {

/// Whether identical element matrices are stored once.
enum class Dedup {
  automatic,  ///< where at most an eighth of them are distinct
  on,
  off
};

/// What the GPU makes lma from, in patches of at most `patch` cells; 0: as many as is best. Throws
/// std::invalid_argument where identical matrices are insisted on and the diffusion varies within cells, so that none
/// are known to be.
LmaInputs lma_inputs(const BilinearForm& form, Races races, Dedup dedup, int patch);

}  // namespace femcg::operators
