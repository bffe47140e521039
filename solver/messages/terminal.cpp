#include "solver/messages/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace femcg::solver {

std::size_t terminal_width() {
  constexpr std::size_t of_files = 100, least = 60;
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<std::size_t>(size.ws_col, least) : of_files;
}

}  // namespace femcg::solver
