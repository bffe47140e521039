#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <vector>

#include "operators/operator.hpp"
#include "solver/cg_choice.hpp"

namespace femcg::solver {

/// Seconds of one thing, measured several times.
class Samples {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  bool empty() const { return seconds_.empty(); }
  int count() const { return static_cast<int>(seconds_.size()); }
  /// 0 where there are none.
  double median() const;
  double minimum() const;
  double maximum() const;

 private:
  std::vector<double> seconds_;
};

/// Times products y = A x, x'Ax included, of one operator: after a warm-up, at least 5 of them and then for about half
/// a second, 101 at most.
template <std::floating_point T>
Samples time_products(const operators::Operator<T>& a);

/// An operator among others that are timed in turn, and what came out.
template <std::floating_point T>
struct Contestant {
  const operators::Operator<T>* a = nullptr;
  const operators::Vector<T>* b = nullptr;                 ///< right-hand side of CG; null: products only
  const operators::Vector<T>* inverse_diagonal = nullptr;  ///< preconditioner of CG, may be null
  CgMethod method = CgMethod::automatic;                   ///< as asked for; afterwards as chosen
  CgLoop loop = CgLoop::automatic;
  bool paired = false;     ///< CgResult::paired
  Samples product = {};    ///< seconds of one product
  Samples iteration = {};  ///< seconds of one CG iteration
};

struct Contest {
  std::int64_t iterations = 200;  ///< of CG, in each repetition
  int repetitions = 5;
  /// Called after every repetition of every contestant; false ends the contest, and what was measured stays.
  std::function<bool()> go_on;
  /// Asked at every iteration whether to end the contest at once; the repetition at hand is then dropped.
  std::function<bool()> stop;
};

/// Times products and CG iterations of several operators in turn, repetition by repetition, so that a drift of the
/// machine hits all alike. A repetition is a batch of products that lasts some milliseconds and then `iterations`
/// iterations of CG from x = 0 without a test of convergence; where the residual vanishes before, CG begins again.
/// Whatever one contestant throws is told to `failed`, and the others go on.
template <std::floating_point T>
void hold(std::vector<Contestant<T>>& contestants, const Contest& contest,
          const std::function<void(std::size_t contestant, const std::exception&)>& failed);

}  // namespace femcg::solver
