#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace femcg::tests {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// File of this process with this content; the next call replaces it.
inline std::filesystem::path file_of(const std::string& text, const std::string& suffix) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("femcg_fuzz_" + std::to_string(::getpid()) + suffix);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  return file;
}

/// Aborts unless `holds`, so that the fuzzer reports the input.
inline void require(bool holds, const std::string& sentence) {
  if (holds) return;
  std::cerr << "does not hold: " << sentence << '\n';
  std::abort();
}

/// Requires a message for a user: one line of readable length.
inline void require_sentence(const std::string& sentence) {
  require(!sentence.empty() && sentence.find('\n') == std::string::npos, "a sentence on one line: " + sentence);
  require(sentence.size() < 4000, "a sentence of some hundred characters: " + sentence);
}

}  // namespace femcg::tests
