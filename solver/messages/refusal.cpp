#include "solver/messages/refusal.hpp"

#include <new>
#include <stdexcept>

#include "operators/backend/memory.hpp"

namespace femcg::solver {

std::string reason_of(const std::exception& error) {
  const bool nameless = dynamic_cast<const std::bad_alloc*>(&error) != nullptr &&
                        dynamic_cast<const operators::OutOfMemory*>(&error) == nullptr;
  return nameless ? "out of memory" : error.what();
}

bool is_refusal(const std::exception& error) {
  return dynamic_cast<const InputError*>(&error) != nullptr ||
         dynamic_cast<const std::invalid_argument*>(&error) != nullptr ||
         dynamic_cast<const std::overflow_error*>(&error) != nullptr;  // a number is too large for single precision
}

}  // namespace femcg::solver
