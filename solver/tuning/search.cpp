#include "solver/tuning/search.hpp"

#include <algorithm>

namespace femcg::solver {

namespace {

constexpr double hopeless = 1.5, far_ahead = 0.9;  // of the seconds of the best
constexpr double least_gain = 0.02;
constexpr double hoped_for = 0.1;  // of the seconds of a product, by another conversion
constexpr std::size_t turns = 3;

double least_of(const std::vector<double>& seconds) { return *std::ranges::min_element(seconds); }

double spread_of(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle - least_of(seconds);
}

/// Whether the second is faster, beyond the spread of both.
bool is_faster(const std::vector<double>& first, const std::vector<double>& second) {
  const double gain = least_of(first) - least_of(second);
  return gain > std::max({least_gain * least_of(first), spread_of(first), spread_of(second)});
}

}  // namespace

double Tried::least() const { return seconds.empty() ? std::numeric_limits<double>::infinity() : least_of(seconds); }

Search::Search(std::vector<TunedOption> options) : options_(std::move(options)) {
  Setting start;
  for (const TunedOption& option : options_) start.push_back(option.start);
  tried_.push_back({.setting = std::move(start)});
  if (options_.empty()) phase_ = Phase::over;
}

void Search::took(double seconds) {
  if (over()) return;
  lost_ += limits_.of_waiting;
  if (now_ != best_) lost_ += std::max(0.0, seconds - tried_[best_].least());
  tried_[now_].seconds.push_back(seconds);
  products_.push_back(now_);
  switch (phase_) {
    case Phase::begin:
      if (tried_.front().seconds.size() < first_products) return;
      up_ = options_.front().up_first;
      propose();
      return;
    case Phase::look:
      look();
      return;
    default:
      turns_[now_ == turn_[0] ? 0 : 1].push_back(seconds);
      turn_taken();
  }
}

void Search::look() {
  const Tried& tried = tried_[candidate_];
  const double of_best = tried_[best_].least();
  if (tried.seconds.size() == 1 && tried.least() < hopeless * of_best) return;  // once more
  if (tried.least() >= of_best)
    dismiss();
  else if (tried.least() < far_ahead * of_best)
    accept();
  else
    take_turns(best_, candidate_, Phase::in_turn);
}

void Search::take_turns(std::size_t first, std::size_t second, Phase phase) {
  phase_ = phase;
  turn_[0] = first;
  turn_[1] = second;
  for (std::vector<double>& seconds : turns_) seconds.clear();
  now_ = first;
}

void Search::turn_taken() {
  if (turns_[1].size() < turns) {
    now_ = now_ == turn_[0] ? turn_[1] : turn_[0];
    return;
  }
  const bool faster = is_faster(turns_[0], turns_[1]);
  if (phase_ == Phase::at_last) {
    if (!faster) best_ = 0;
    phase_ = Phase::over;
  } else {
    faster ? accept() : dismiss();
  }
}

void Search::accept() {
  best_ = candidate_;
  moved_ = changed_ = true;
  propose();
}

void Search::dismiss() {
  next_direction();
  propose();
}

void Search::next_direction() {
  if (!moved_ && !turned_) {
    turned_ = true;
    up_ = !up_;
    return;
  }
  ++option_;
  if (option_ == options_.size() && changed_ && !again_ && options_.size() > 1) {
    option_ = 0;  // what one option is best at may depend on the others
    again_ = true;
  }
  moved_ = turned_ = false;
  if (option_ < options_.size()) up_ = options_[option_].up_first;
}

bool Search::pays() const {
  const double of_best = tried_[best_].least();  // a product of another setting may take as long again
  const double conversion = options_[option_].converts ? limits_.conversion : 0;
  const double saved = hoped_for * limits_.products_left * of_best;
  return lost_ + of_best + conversion < limits_.lost &&
         (conversion == 0 || limits_.products_left == 0 || saved > conversion);
}

void Search::propose() {
  for (; option_ < options_.size() && products_.size() < static_cast<std::size_t>(limits_.products); next_direction()) {
    Setting setting = best();
    std::size_t& place = setting[option_];
    const bool at_end = up_ ? place + 1 == options_[option_].values.size() : place == 0;
    if (at_end) continue;
    if (!pays()) {
      complete_ = false;
      continue;
    }
    place = up_ ? place + 1 : place - 1;
    if (std::ranges::find(tried_, setting, &Tried::setting) != tried_.end()) continue;
    phase_ = Phase::look;
    now_ = candidate_ = tried_.size();
    tried_.push_back({.setting = std::move(setting)});
    return;
  }
  if (option_ < options_.size()) complete_ = false;
  finish();
}

void Search::finish() {
  if (best_ != 0)
    take_turns(0, best_, Phase::at_last);
  else
    phase_ = Phase::over;
}

void Search::converted(double seconds) {
  lost_ += seconds;
  tried_[now_].conversion += seconds;
}

void Search::refuse_next(std::string reason) {
  tried_[now_].refused = std::move(reason);
  if (phase_ == Phase::look)
    dismiss();
  else
    end();
}

void Search::end() {
  if (over()) return;
  best_ = 0;
  decided_ = false;
  phase_ = Phase::over;
}

std::vector<double> Search::fractions() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Tried& tried : tried_) least = std::min(least, tried.least());
  std::vector<std::size_t> made(tried_.size(), 0);
  std::vector<double> fractions;
  double so_far = std::numeric_limits<double>::infinity();
  std::size_t fastest = 0;
  for (const std::size_t which : products_) {
    const double seconds = tried_[which].seconds[made[which]++];
    if (seconds < so_far) {
      so_far = seconds;
      fastest = which;
    }
    fractions.push_back(least / tried_[fastest].least());
  }
  return fractions;
}

}  // namespace femcg::solver
