#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// Sizes of one subdomain of a form, for performance models (runs use IndexMap).
struct SubdomainSize {
  std::int64_t cells = 0, interface_cells = 0;
  std::int64_t unknowns = 0;  ///< ghosts included
  std::int64_t sent = 0;      ///< values sent per product
  std::int64_t neighbours = 0;
};

/// Sizes of the subdomains of all `processes`, where cell c belongs to process process_of[c].
std::vector<SubdomainSize> subdomain_sizes(const BilinearForm& form, std::span<const std::int32_t> process_of,
                                           int processes);

}  // namespace femcg::operators
