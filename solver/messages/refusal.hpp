#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "operators/backend/memory.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

/// Message of an exception; "out of memory" for a std::bad_alloc without one.
inline std::string reason_of(const std::exception& error) {
  const bool nameless = dynamic_cast<const std::bad_alloc*>(&error) != nullptr &&
                        dynamic_cast<const operators::OutOfMemory*>(&error) == nullptr;
  return nameless ? "out of memory" : error.what();
}

/// True if an exception means that the input does not fit the problem, and not that the machine failed.
inline bool is_refusal(const std::exception& error) {
  return dynamic_cast<const InputError*>(&error) != nullptr ||
         dynamic_cast<const std::invalid_argument*>(&error) != nullptr ||
         dynamic_cast<const std::overflow_error*>(&error) != nullptr;  // a number is too large for single precision
}

/// Runs `work`; rethrows refusals as InputError with the place of the key that they concern.
template <class Work>
auto placed(const std::string& place, Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!is_refusal(error)) throw;
    throw InputError(at_place(place, error.what()));
  }
}

}  // namespace femcg::solver
