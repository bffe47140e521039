#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace femcg::solver {

/// Exit statuses of the program.
enum class ExitStatus { done = 0, not_converged = 1, wrong_input = 2, machine_failed = 3 };

/// Invalid input: one sentence per problem, each with its place ("cases/x.yaml:12:5: ..."), on one line and truncated
/// if very long; beyond a hundred, the number of the others.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string sentence) : InputError(std::vector{std::move(sentence)}) {}
  explicit InputError(std::vector<std::string> sentences);
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  std::vector<std::string> sentences_;
};

/// Failure of the machine: out of memory, no such device, disk full.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace femcg::solver
