#include "solver/messages/error.hpp"

#include <utility>

#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

constexpr std::size_t longest_sentence = 2000;
constexpr std::size_t most_sentences = 100;

/// Limits the number and length of sentences, which contain the user's keys and names.
std::vector<std::string> readable(std::vector<std::string> sentences) {
  if (sentences.size() > most_sentences) {
    const std::size_t more = sentences.size() - most_sentences;
    sentences.resize(most_sentences);
    sentences.push_back("and " + std::to_string(more) + " more");
  }
  for (std::string& sentence : sentences) sentence = on_one_line(sentence, longest_sentence);
  return sentences;
}

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
    : std::runtime_error(joined(readable(sentences))), sentences_(readable(std::move(sentences))) {}

}  // namespace femcg::solver
