#include "operators/distributed/messages/exchange_mode.hpp"

namespace femcg::operators {

std::string_view name(ExchangeMode mode) {
  switch (mode) {
    case ExchangeMode::vector:
      return "vector";
    case ExchangeMode::overlap:
      return "overlap";
    case ExchangeMode::task:
      return "task";
    case ExchangeMode::automatic:
      return "auto";
  }
  return "";
}

}  // namespace femcg::operators
