#include "solver/messages/do_on_all.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "solver/messages/refusal.hpp"

namespace femcg::solver {

void do_on_all(const operators::Communicator& communicator, const std::function<void()>& work) {
  if (communicator.size() == 1) return work();
  enum class Failure : std::int64_t { none, memory, input, other };
  Failure failure = Failure::none;
  std::string sentence;
  std::exception_ptr mine;
  try {
    work();
  } catch (const std::exception& error) {
    mine = std::current_exception();
    sentence = reason_of(error);
    failure = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? Failure::memory
              : is_refusal(error)                                    ? Failure::input
                                                                     : Failure::other;
  }
  const auto failures = communicator.gathered(std::vector{failure});
  const auto sentences = communicator.gathered(sentence);
  if (mine) std::rethrow_exception(mine);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    const std::string there = fmt::format("process {}: {}", rank, sentences[rank]);
    switch (failures[rank].front()) {
      case Failure::none:
        break;
      case Failure::memory:
        throw operators::OutOfMemory(there);
      case Failure::input:
        throw InputError(there);
      case Failure::other:
        throw std::runtime_error(there);
    }
  }
}

}  // namespace femcg::solver
