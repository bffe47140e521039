#pragma once

#include <limits>
#include <string>
#include <vector>

namespace femcg::solver {

/// An option whose values are tried, in an order in which neighbours are alike.
struct TunedOption {
  std::string name = {};
  std::vector<std::string> values = {};
  std::size_t start = 0;   ///< place of the value that the search begins with
  bool converts = false;   ///< another value needs another conversion of the matrix, not only another launch
  bool up_first = true;    ///< which neighbour is tried first
  bool same_bits = false;  ///< products, and x'Ax, are the same to the bit whatever the value
};

/// A place in the values of each option.
using Setting = std::vector<std::size_t>;

/// Limits of the cost of a search.
struct SearchLimits {
  /// Seconds that products may take longer than with the best setting known, conversions included.
  double lost = std::numeric_limits<double>::infinity();
  double conversion = 0;     ///< seconds that another conversion is expected to take
  double products_left = 0;  ///< of the solve; 0: conversions need not pay
  double of_waiting = 0;     ///< seconds that every product loses since it is waited for
  int products = 64;         ///< after these no further setting is tried
};

/// A setting that was tried.
struct Tried {
  Setting setting;
  std::vector<double> seconds = {};  ///< of each product
  double conversion = 0;             ///< seconds until it could multiply
  std::string refused = {};          ///< why it cannot be had, else empty

  double least() const;
};

/// Run-time tuning after Reguly & Giles 2012, section 6: from a setting to its neighbours, the options in turn, as long
/// as these are faster. The caller makes one product after the other with next() and says what it took.
///
/// Noise makes products slower, never faster: a setting is as fast as the least of its products. One that is ahead of
/// the best by more than 1% takes its place at once, one that is behind by more than 5% is left, and any other makes a
/// second product. Such haste finds much in few products, and may be wrong: at the end the best and the setting of the
/// beginning, which may have met a device that was not yet at its clock, multiply in turn, three products each, and
/// that of the beginning stays unless the gain is beyond 2% and beyond the spread of both (the median of the three over
/// the least).
class Search {
 public:
  explicit Search(std::vector<TunedOption> options);

  /// May be set while the first products are made, by what these take.
  void set_limits(const SearchLimits& limits) { limits_ = limits; }

  bool over() const { return phase_ == Phase::over; }
  /// The setting of the next product; after the search the best.
  const Setting& next() const { return over() ? best() : tried_[now_].setting; }
  void took(double seconds);
  /// Adds the time of making what next() multiplies with.
  void converted(double seconds);
  void refuse_next(std::string reason);
  /// CG is over before the search: what was not confirmed does not count.
  void end();

  const Setting& best() const { return tried_[best_].setting; }
  const Setting& start() const { return tried_.front().setting; }
  const std::vector<TunedOption>& options() const { return options_; }
  /// The first is the start, and best_tried() the place of the best.
  const std::vector<Tried>& tried() const { return tried_; }
  std::size_t best_tried() const { return best_; }
  /// Seconds that products took longer than with the best setting known, waiting and conversions included.
  double lost() const { return lost_; }
  /// True if it came to its end before CG did.
  bool decided() const { return decided_; }
  /// True if no neighbour of the best was left out for its cost.
  bool complete() const { return complete_; }
  /// Which of those tried made each product.
  const std::vector<std::size_t>& products() const { return products_; }
  /// After each product: how fast the setting is that was the fastest until then, of the fastest that was found.
  std::vector<double> fractions() const;

  static constexpr int first_products = 2;  ///< with the start

 private:
  enum class Phase { begin, look, in_turn, over };
  /// State of the search along one option.
  struct Way {
    bool up = true, moved = false, turned = false, done = false;
  };

  void look();
  void turn_taken();
  void accept();
  void dismiss();
  void begin_epoch();
  void turn_back();
  bool step();
  void propose();
  bool pays() const;
  void finish();

  std::vector<TunedOption> options_;
  SearchLimits limits_;
  std::vector<Tried> tried_;
  std::size_t best_ = 0, now_ = 0, candidate_ = 0;
  Phase phase_ = Phase::begin;
  std::vector<Way> ways_;
  std::size_t option_ = 0;
  bool changed_ = false,
       again_ = false;            ///< whether this round over the options found something; whether it is the second
  std::vector<double> turns_[2];  ///< of the start and of the best, at the end
  double lost_ = 0;
  bool complete_ = true, decided_ = true;
  std::vector<std::size_t> products_;
};

}  // namespace femcg::solver
