#pragma once

// What rounding may do to the results of a computation, to first order. Every operation is off by at most its own
// rounding; a result by the sum over all operations of that rounding times the derivative of the result by what the
// operation gave. The derivatives by all of them come from one run backwards (Linnainmaa 1976, Taylor expansion of the
// accumulated rounding error).

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace femcg::tests {

class RoundingTape {
 public:
  using Vector = std::vector<long double>;
  /// Adds to the slopes of what an operation was made from, given the slope of what it gave.
  using Pull = std::function<void(const Vector& slope)>;
  using Place = std::size_t;

  /// What an operation gives without rounding, and by how much each number may be off; a number has one entry.
  Place add(Vector value, Vector rounding, Pull pull) {
    operations_.push_back({std::move(value), std::move(rounding), {}, std::move(pull)});
    return operations_.size() - 1;
  }
  Place given(Vector value, Vector rounding = {}) {
    rounding.resize(value.size(), 0);
    return add(std::move(value), std::move(rounding), [](const Vector&) {});
  }

  const Vector& operator[](Place place) const { return operations_[place].value; }
  long double number(Place place) const { return operations_[place].value[0]; }
  /// Of the result that is being looked at, by the numbers of an operation.
  Vector& slope(Place place) { return operations_[place].slope; }

  /// By how much a number may be off.
  long double rounding_of(Place result) {
    for (Place place = 0; place <= result; ++place) operations_[place].slope.assign(operations_[place].value.size(), 0);
    operations_[result].slope[0] = 1;
    long double sum = 0;
    for (Place place = result + 1; place-- > 0;) {
      const Operation& operation = operations_[place];
      for (std::size_t i = 0; i < operation.slope.size(); ++i)
        sum += std::abs(operation.slope[i]) * operation.rounding[i];
      operation.pull(operation.slope);
    }
    return sum;
  }

 private:
  struct Operation {
    Vector value, rounding, slope;
    Pull pull;
  };
  std::vector<Operation> operations_;
};

}  // namespace femcg::tests
