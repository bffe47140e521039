#include "solver/messages/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace femcg::solver {

namespace {

/// Text cut to one line of the terminal: longer lines could not be overwritten.
std::string fitted(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return text.substr(0, known ? size.ws_col - 1U : 79U);
}

std::string in_words(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

/// Writes immediately and without stdio, whose locks a concurrently forked process would inherit.
void write_out(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (written <= 0) return;  // nobody reads it
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

Progress::Progress(bool on, Clock::time_point begin, std::string before)
    : on_(on), live_(isatty(STDERR_FILENO) == 1), times_("starting", begin), before_(std::move(before)) {
  if (on_) watcher_ = std::thread([this] { watch(); });
}

Progress::~Progress() {
  if (!on_) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  watcher_.join();
  clear();
}

void Progress::step(const std::string& what, std::string_view device) {
  times_.begin(what, device);
  if (!on_) return;
  next_ = {};
  {
    const std::lock_guard lock(mutex_);
    step_begin_ = Clock::now();
  }
  update(what);
}

void Progress::update(const std::string& what, std::optional<Share> share) {
  if (!due()) return;
  const std::lock_guard lock(mutex_);
  what_ = before_ + what;
  share_ = share;
  if (live_) show();
  next_ = Clock::now() + std::chrono::milliseconds(live_ ? 100 : 500);
}

/// Text such as "CG iteration 300 ..., 37%, 12 s left", or with the elapsed time of the step.
std::string Progress::text(Clock::time_point now) const {
  const double elapsed = std::chrono::duration<double>(now - step_begin_).count();
  if (share_) {
    constexpr std::size_t width = 20;
    const auto full = static_cast<std::size_t>(width * std::clamp(share_->done, 0.0, 1.0));
    const std::string bar = live_ ? "[" + std::string(full, '=') + std::string(width - full, ' ') + "] " : "";
    return fmt::format("{}{:.0f}%, {} left: {}", bar, 100 * share_->done, in_words(share_->seconds_left), what_);
  }
  return elapsed < 1 ? what_ : fmt::format("{}, for {} so far", what_, in_words(elapsed));
}

void Progress::show() {
  // Returns to the first column, writes the text, and erases the rest of a longer one.
  write_out("\r" + fitted(text(Clock::now())) + "\x1b[K");
  shown_ = true;
}

/// On a terminal, updates the elapsed time of a step without progress; elsewhere, writes all lines.
void Progress::watch() {
  std::unique_lock lock(mutex_);
  const auto pause = live_ ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(10'000);
  while (!ended_.wait_for(lock, pause, [this] { return over_; })) {
    const Clock::time_point now = Clock::now();
    if (live_ && shown_) show();
    if (!live_ && !what_.empty())
      write_out(fmt::format("{}: {}\n", in_words(std::chrono::duration<double>(now - begin_).count()), text(now)));
  }
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (!live_) what_.clear();
  if (!shown_) return;
  write_out("\r\x1b[K");
  shown_ = false;
}

std::string TimeLeft::text(std::size_t part, double done) const {
  const auto here = weights_.begin() + static_cast<std::ptrdiff_t>(part);
  const double before = std::accumulate(weights_.begin(), here, 0.0);
  const double fraction = (before + done * *here) / std::accumulate(here, weights_.end(), before);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const double left = elapsed.count() * (1 - fraction) / fraction;
  if (elapsed.count() < 2 || fraction < 0.01) return fmt::format("{:.0f}%: ", 100 * fraction);  // too early to tell
  return fmt::format("{:.0f}%, {} left: ", 100 * fraction, in_words(left));
}

}  // namespace femcg::solver
