#pragma once

#include <exception>
#include <string>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

/// The sentence of an exception; "out of memory" for a std::bad_alloc without one.
std::string reason_of(const std::exception& error);
/// True where an exception says that the input does not fit the problem, and not that the machine failed.
bool is_refusal(const std::exception& error);

/// Runs `work`; refusals are thrown again as InputError with the place of the key that they are about.
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
