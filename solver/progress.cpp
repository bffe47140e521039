#include "solver/progress.hpp"

#include <cstdio>

namespace femcg::solver {

void Progress::step(const std::string& what) {
  if (!on_) return;
  next_ = {};
  update(what);
}

void Progress::update(const std::string& what) {
  if (!due()) return;
  // Back to the first column, the text, and erase what a longer one left behind.
  std::fprintf(stderr, "\r%s\x1b[K", what.c_str());
  std::fflush(stderr);
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace femcg::solver
