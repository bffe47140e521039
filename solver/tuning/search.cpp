#include "solver/tuning/search.hpp"

#include <algorithm>

namespace femcg::solver {

namespace {

constexpr double ahead = 0.99, hopeless = 1.05, least_gain = 0.02;  // relative to the seconds of the best
constexpr double hoped_for = 0.1;  // gain from another conversion, relative to the seconds of a product
constexpr std::size_t turns = 3;

double least_of(const std::vector<double>& seconds) { return *std::ranges::min_element(seconds); }

double spread_of(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle - least_of(seconds);
}

/// True if the second is faster by more than the spread of both.
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
  begin_epoch();
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
      propose();
      return;
    case Phase::look:
      look();
      return;
    default:
      turns_[now_ == 0 ? 0 : 1].push_back(seconds);
      turn_taken();
  }
}

void Search::look() {
  const Tried& tried = tried_[candidate_];
  const double of_best = tried_[best_].least();
  if (tried.least() < ahead * of_best)
    accept();
  else if (tried.seconds.size() > 1 || tried.least() > hopeless * of_best)
    dismiss();
}

void Search::turn_taken() {
  if (turns_[1].size() < turns) {
    now_ = now_ == 0 ? best_ : 0;
    return;
  }
  if (!is_faster(turns_[0], turns_[1])) best_ = 0;
  phase_ = Phase::over;
}

void Search::accept() {
  best_ = candidate_;
  ways_[option_].moved = changed_ = true;
  option_ = (option_ + 1) % options_.size();
  propose();
}

void Search::dismiss() {
  turn_back();
  propose();
}

void Search::begin_epoch() {
  ways_.clear();
  for (const TunedOption& option : options_) ways_.push_back({.up = option.up_first});
  option_ = 0;
  changed_ = false;
}

/// Changes direction; the search along this option ends after both directions.
void Search::turn_back() {
  Way& way = ways_[option_];
  way.done = way.moved || way.turned;
  way.turned = true;
  way.up = !way.up;
  if (way.done) option_ = (option_ + 1) % options_.size();
}

bool Search::pays() const {
  const double of_best = tried_[best_].least();  // a product of another setting may cost as much again
  const double conversion = options_[option_].converts ? limits_.conversion : 0;
  const double saved = hoped_for * limits_.products_left * of_best;
  return lost_ + of_best + conversion < limits_.lost &&
         (conversion == 0 || limits_.products_left == 0 || saved > conversion);
}

/// Takes a step; false if there is no further value.
bool Search::step() {
  const Way& way = ways_[option_];
  Setting setting = best();
  std::size_t& place = setting[option_];
  if (way.up ? place + 1 == options_[option_].values.size() : place == 0) return false;
  place = way.up ? place + 1 : place - 1;
  if (std::ranges::find(tried_, setting, &Tried::setting) != tried_.end()) return false;
  if (!pays()) {
    complete_ = false;
    return false;
  }
  phase_ = Phase::look;
  now_ = candidate_ = tried_.size();
  tried_.push_back({.setting = std::move(setting)});
  return true;
}

void Search::propose() {
  while (products_.size() < static_cast<std::size_t>(limits_.products)) {
    if (std::ranges::all_of(ways_, &Way::done)) {
      if (!changed_ || again_ || options_.size() == 1) break;
      again_ = true;  // the best value of one option may depend on the others
      begin_epoch();
    }
    if (ways_[option_].done)
      option_ = (option_ + 1) % options_.size();
    else if (step())
      return;
    else
      turn_back();
  }
  if (products_.size() >= static_cast<std::size_t>(limits_.products)) complete_ = false;
  finish();
}

void Search::finish() {
  phase_ = best_ != 0 ? Phase::in_turn : Phase::over;
  now_ = 0;
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
