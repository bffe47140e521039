#include "solver/messages/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>

namespace femcg::solver {

namespace {

/// What fits in one line of the terminal: a longer one could not be taken back.
std::string fitted(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return text.substr(0, known ? size.ws_col - 1U : 79U);
}

}  // namespace

void Progress::step(const std::string& what, std::string_view device) {
  times_.begin(what, device);
  if (!on_) return;
  next_ = {};
  update(what);
}

void Progress::update(const std::string& what) {
  if (!due()) return;
  // Back to the first column, the text, and erase what a longer one left behind.
  std::fprintf(stderr, "\r%s\x1b[K", fitted(what).c_str());
  std::fflush(stderr);
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
}

std::string TimeLeft::text(std::size_t part, double done) const {
  const auto here = weights_.begin() + static_cast<std::ptrdiff_t>(part);
  const double before = std::accumulate(weights_.begin(), here, 0.0);
  const double fraction = (before + done * *here) / std::accumulate(here, weights_.end(), before);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const double left = elapsed.count() * (1 - fraction) / fraction;
  if (elapsed.count() < 2 || fraction < 0.01) return fmt::format("{:.0f}%: ", 100 * fraction);  // too early to tell
  return fmt::format("{:.0f}%, {} left: ", 100 * fraction,
                     left < 90 ? fmt::format("{:.0f} s", left) : fmt::format("{:.0f} min", left / 60));
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace femcg::solver
