#include "solver/messages/error.hpp"

#include <utility>

namespace femcg::solver {

namespace {

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    if (!text.empty()) text += '\n';
    text += sentence;
  }
  return text;
}

}  // namespace

InputError::InputError(std::vector<std::string> sentences)
    : std::runtime_error(joined(sentences)), sentences_(std::move(sentences)) {}

}  // namespace femcg::solver
