#pragma once

#include <limits>
#include <string>
#include <vector>

namespace femcg::solver {

/// An option to be tuned, with values ordered such that neighbours behave alike.
struct TunedOption {
  std::string name = {};
  std::vector<std::string> values = {};
  std::size_t start = 0;   ///< index of the initial value
  bool converts = false;   ///< another value needs another conversion of the matrix, not only another launch
  bool up_first = true;    ///< direction of the first step
  bool same_bits = false;  ///< products and x'Ax are bitwise independent of the value
};

/// Index of the value of each option.
using Setting = std::vector<std::size_t>;

/// Limits of the cost of a search.
struct SearchLimits {
  /// Seconds that products may lose relative to the best known setting, conversions included.
  double lost = std::numeric_limits<double>::infinity();
  double conversion = 0;     ///< expected seconds of another conversion
  double products_left = 0;  ///< of the solve; 0: conversions need not pay
  double of_waiting = 0;     ///< seconds that every product loses because it is waited for
  int products = 64;         ///< number of products after which no new setting is tried
};

/// A tried setting.
struct Tried {
  Setting setting;
  std::vector<double> seconds = {};  ///< of each product
  double conversion = 0;             ///< seconds of the conversion
  std::string refused = {};          ///< reason why it is not possible, else empty

  double least() const;
};

/// Run-time tuning after Reguly & Giles 2012, section 6: coordinate search from a setting to its neighbours, one option
/// after the other, as long as they are faster. The caller makes one product after the other with next() and reports
/// its time.
///
/// Noise only makes products slower, so the time of a setting is the least of its products. A setting that is faster
/// than the best by more than 1% replaces it immediately, one that is slower by more than 5% is dropped, and any other
/// makes a second product. These quick decisions may be wrong: at the end the best and the initial setting, which may
/// have been timed before the device reached its clock rate, make three products each, alternating, and the initial
/// setting stays unless the gain exceeds 2% and the spread of both (the median of the three over the least).
class Search {
 public:
  explicit Search(std::vector<TunedOption> options);

  /// May be called during the first products, based on their times.
  void set_limits(const SearchLimits& limits) { limits_ = limits; }

  bool over() const { return phase_ == Phase::over; }
  /// Setting of the next product; after the search the best one.
  const Setting& next() const { return over() ? best() : tried_[now_].setting; }
  void took(double seconds);
  /// Adds the time of making the operator for next().
  void converted(double seconds);
  void refuse_next(std::string reason);
  /// Ends the search because CG has ended: an unconfirmed setting does not count.
  void end();

  const Setting& best() const { return tried_[best_].setting; }
  const Setting& start() const { return tried_.front().setting; }
  const std::vector<TunedOption>& options() const { return options_; }
  /// All tried settings, the start first; best_tried() is the index of the best.
  const std::vector<Tried>& tried() const { return tried_; }
  std::size_t best_tried() const { return best_; }
  /// Seconds that products lost relative to the best known setting, waiting and conversions included.
  double lost() const { return lost_; }
  /// True if the search ended before CG did.
  bool decided() const { return decided_; }
  /// True if no neighbour of the best was skipped for its cost.
  bool complete() const { return complete_; }
  /// Index into tried() for each product.
  const std::vector<std::size_t>& products() const { return products_; }
  /// After each product: speed of the fastest setting so far, relative to the fastest found.
  std::vector<double> fractions() const;

  static constexpr int first_products = 2;  ///< with the initial setting

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
       again_ = false;            ///< changed_: this sweep over the options has a gain; again_: second sweep
  std::vector<double> turns_[2];  ///< final products of the start and of the best
  double lost_ = 0;
  bool complete_ = true, decided_ = true;
  std::vector<std::size_t> products_;
};

}  // namespace femcg::solver
