#pragma once

#include <string_view>

namespace femcg::operators {

/// Time at which contributions to unknowns of other processes are exchanged.
enum class ExchangeMode {
  vector,    ///< after all cells, without overlap
  overlap,   ///< during the product of the interior cells, as far as MPI progresses by itself
  task,      ///< the same, by a progress thread
  automatic  ///< the fastest in the first products
};
std::string_view name(ExchangeMode mode);

}  // namespace femcg::operators
