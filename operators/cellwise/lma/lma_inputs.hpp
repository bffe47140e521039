#pragma once

#include <string_view>

#include "operators/catalogue.hpp"
#include "operators/cellwise/cell_loops/dedup_option.hpp"
#include "operators/cellwise/lma/lma_cuda.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

constexpr std::string_view lma_name(ConflictResolution resolution) {
  return resolution == ConflictResolution::atomic     ? "lma-atomic"
         : resolution == ConflictResolution::coloured ? "lma-coloured"
                                                      : "lma-gather";
}

/// Choice of the options of lma.
struct LmaChoice {
  Dedup dedup = Dedup::automatic;
  int patch = 0;  ///< cells per patch, at most; 0: as many as is best
};

/// Throws std::invalid_argument where the CPU has no such option, or identical matrices are insisted on and the
/// diffusion varies within cells, so that none are known to be.
LmaChoice chosen_lma(const BilinearForm& form, Device device, std::string_view operator_name, const Options& given);

/// Makes the input of lma on a GPU, for a choice that fits the form.
LmaInputs lma_inputs(const BilinearForm& form, ConflictResolution resolution, const LmaChoice& choice);

}  // namespace femcg::operators
