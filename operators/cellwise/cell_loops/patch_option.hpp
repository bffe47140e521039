#pragma once

#include <string_view>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// True if it is auto or a number of cells that a patch may have.
bool is_patch(std::string_view text);

/// The option of operators that go over patches of cells on a GPU.
inline constexpr OptionDescription patch_option{
    "patch", "auto or a multiple of 32 up to 2048", "auto",
    "cells, at most, that a thread block adds up in shared memory; auto: by shape and degree (GPU only)", is_patch};

/// Its value; 0 for auto. Throws std::invalid_argument where it is given on the CPU, which has no patches.
int asked_patch(std::string_view operator_name, const Options& given, Device device);

}  // namespace femcg::operators
