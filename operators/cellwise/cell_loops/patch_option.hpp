#pragma once

#include <string_view>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// True for auto and for valid numbers of cells of a patch.
bool is_patch(std::string_view text);

/// The option of operators over patches of cells on a GPU.
inline constexpr OptionDescription patch_option{
    "patch", "auto or a multiple of 32 up to 2048", "auto",
    "cells, at most, that a thread block adds up in shared memory; auto: by shape and degree (GPU only)", is_patch};

/// The value of the option; 0 for auto. Throws std::invalid_argument if it is given for the host, which has no such
/// patches.
int asked_patch(std::string_view operator_name, const Options& given, Device device);

}  // namespace femcg::operators
