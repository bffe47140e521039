#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// What one process would have of a form, as far as a model needs it (IndexMap has what a run needs).
struct Surface {
  std::int64_t cells = 0, interface_cells = 0;
  std::int64_t unknowns = 0;  ///< copies included
  std::int64_t sent = 0;      ///< numbers a product
  std::int64_t neighbours = 0;
};

/// Of each of `processes`, where cell c is of process process_of[c].
std::vector<Surface> surfaces_of(const BilinearForm& form, std::span<const std::int32_t> process_of, int processes);

}  // namespace femcg::operators
