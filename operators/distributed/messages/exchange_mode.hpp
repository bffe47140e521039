#pragma once

#include <string_view>

namespace femcg::operators {

/// When what a process contributes to unknowns of others travels.
enum class ExchangeMode {
  vector,    ///< after all cells, while nobody multiplies
  overlap,   ///< while interior cells are multiplied with, as far as the library of messages works by itself
  task,      ///< meanwhile, by a thread that does nothing else
  automatic  ///< as what took least in the first products
};
std::string_view name(ExchangeMode mode);

}  // namespace femcg::operators
