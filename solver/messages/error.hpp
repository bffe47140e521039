#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace femcg::solver {

/// The exit statuses of the program.
enum class ExitStatus { done = 0, not_converged = 1, wrong_input = 2, machine_failed = 3 };

/// Something that the user gave is wrong: one sentence a problem, each with its place ("cases/x.yaml:12:5: ..."), on
/// one line and cut where it is very long; beyond a hundred, how many more there are.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string sentence) : InputError(std::vector{std::move(sentence)}) {}
  explicit InputError(std::vector<std::string> sentences);
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  std::vector<std::string> sentences_;
};

/// The machine failed: out of memory, no such device, disk full.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace femcg::solver
