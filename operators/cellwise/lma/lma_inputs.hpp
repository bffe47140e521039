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

/// Values of the options of lma.
struct LmaChoice {
  Dedup dedup = Dedup::automatic;
  int patch = 0;  ///< cells per patch, at most; 0: chosen automatically
};

/// The values of the options. Throws std::invalid_argument for options that the host does not have, or if dedup is on
/// and the diffusion varies within cells, so that no cells are known to be congruent.
LmaChoice chosen_lma(const BilinearForm& form, Device device, std::string_view operator_name, const Options& given);

/// Makes the input of lma on a GPU, for a valid choice.
LmaInputs lma_inputs(const BilinearForm& form, ConflictResolution resolution, const LmaChoice& choice);

}  // namespace femcg::operators
