#pragma once

#include <optional>

#include "solver/case/case_reader.hpp"
#include "solver/coefficients/diffusion_field.hpp"

namespace femcg::solver {

/// Reads equation.diffusion: an expression, a tensor, or a map of them by region. A map with a key of tensors is a
/// tensor.
std::optional<DiffusionField> read_diffusion(const ValueReader& value);

}  // namespace femcg::solver
