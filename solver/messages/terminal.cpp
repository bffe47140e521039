#include "solver/messages/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace femcg::solver {

std::size_t terminal_width() {
  constexpr std::size_t of_files = 100, least = 60;
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<std::size_t>(size.ws_col, least) : of_files;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool of_two_bytes = c == 0xC2 && next >= 0x80 && next <= 0x9F;
    const bool controls = of_two_bytes || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    shown += controls ? '?' : text[i];
    if (of_two_bytes) ++i;
  }
  return shown;
}

void print(std::string_view text) {
  const std::string shown = printable(text);
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
}

void print_note(std::string_view sentence) {
  std::string line = printable(sentence);
  std::ranges::replace(line, '\n', ' ');
  std::fputs(("note: " + line + "\n").c_str(), stderr);
}

}  // namespace femcg::solver
