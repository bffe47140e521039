#pragma once

// Effect of rounding on the results of a computation, to first order. Each operation has an error bound of its own; the
// error of a result is the sum over all operations of that bound times the derivative of the result with respect to the
// operation's output. All derivatives come from one reverse sweep (Linnainmaa 1976, Taylor expansion of the accumulated
// rounding error).

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace femcg::tests {

class RoundingTape {
 public:
  using Vector = std::vector<long double>;
  /// Adds to the slopes of an operation's inputs, given the slope of its output.
  using Pull = std::function<void(const Vector& slope)>;
  using Place = std::size_t;

  /// Adds an operation with its exact output and the rounding bound of each entry; a scalar has one entry.
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
  /// Derivatives of the current result with respect to an operation's output.
  Vector& slope(Place place) { return operations_[place].slope; }

  /// Rounding bound of a scalar.
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
