#include "operators/forms/programs/point_derivative.hpp"

#include <map>
#include <numbers>
#include <vector>

namespace femcg::operators {

namespace {

using Value = PointProgramBuilder::Value;
using Step = PointProgramBuilder::Step;
using enum PointOperation;

class Differentiator {
 public:
  Differentiator(PointProgramBuilder& builder, int axis)
      : builder_(&builder), axis_(axis), zero_(builder.constant(0)), one_(builder.constant(1)) {}

  /// Derivatives of operands before those of their results, with an explicit stack: expressions may be deep.
  Value operator()(Value of) {
    std::vector<Value> wanted{of};
    while (!wanted.empty()) {
      const Value value = wanted.back();
      const Step* found = builder_->step(value);
      if (found == nullptr) {
        slopes_[value] = value == PointProgramBuilder::coordinate(axis_) ? one_ : zero_;
      } else if (!slopes_.contains(value)) {
        const Step step = *found;
        bool ready = true;
        for (const Value from : step.from)
          if (!slopes_.contains(from)) {
            wanted.push_back(from);
            ready = false;
          }
        if (!ready) continue;
        slopes_[value] = slope(value, step);
      }
      wanted.pop_back();
    }
    return slopes_.at(of);
  }

 private:
  bool is(Value value, double number) const { return builder_->number(value) == number; }
  Value constant(double number) { return builder_->constant(number); }
  Value minus(Value a) { return is(a, 0) ? a : builder_->apply(negate, a); }
  Value sum(Value a, Value b) { return is(a, 0) ? b : is(b, 0) ? a : builder_->apply(add, a, b); }
  Value difference(Value a, Value b) { return is(b, 0) ? a : is(a, 0) ? minus(b) : builder_->apply(subtract, a, b); }
  Value product(Value a, Value b) {
    if (is(a, 0) || is(b, 0)) return zero_;
    return is(a, 1) ? b : is(b, 1) ? a : builder_->apply(multiply, a, b);
  }
  Value quotient(Value a, Value b) { return is(a, 0) || is(b, 1) ? a : builder_->apply(divide, a, b); }
  Value either_of(Value condition, Value a, Value b) { return a == b ? a : builder_->apply(select, condition, a, b); }
  Value square(Value a) { return product(a, a); }
  /// `slope` where `moves` is not 0, else 0: for functions without a finite derivative somewhere.
  Value where_it_moves(Value moves, Value slope) {
    return builder_->number(moves) ? slope : either_of(moves, slope, zero_);
  }

  Value slope(Value value, const Step& step) {
    const auto [a, b, c] = step.from;
    const Value da = slopes_.at(a), db = slopes_.at(b), dc = slopes_.at(c);
    switch (step.operation) {
      case negate:
        return minus(da);
      case add:
        return sum(da, db);
      case subtract:
        return difference(da, db);
      case multiply:
        return sum(product(da, b), product(a, db));
      case divide:
        return quotient(difference(da, product(value, db)), b);
      case power:
        return slope_of_power(value, a, b, da, db);
      case less:
      case less_or_equal:
      case equal:
      case different:
      case both:
      case either:
      case sign:
      case floor:
      case ceiling:
      case PointOperation::step:
        return zero_;
      case select:
        return either_of(a, db, dc);
      case least:
        return either_of(builder_->apply(less, b, a), db, da);
      case greatest:
        return either_of(builder_->apply(less, a, b), db, da);
      case absolute:
        return product(builder_->apply(sign, a), da);
      case arc_tangent_2:
        return quotient(difference(product(da, b), product(a, db)), sum(square(a), square(b)));
      case hypotenuse:
        return where_it_moves(value, quotient(sum(product(a, da), product(b, db)), value));
      default:
        return slope_of_function(step.operation, value, a, da);
    }
  }

  /// (a^b)' = b a^(b - 1) a' + a^b ln(a) b'
  Value slope_of_power(Value value, Value a, Value b, Value da, Value db) {
    const Value of_base = product(product(b, builder_->apply(power, a, builder_->apply(subtract, b, one_))), da);
    if (is(db, 0)) return where_it_moves(da, of_base);
    return sum(where_it_moves(da, of_base), product(product(value, builder_->apply(logarithm, a)), db));
  }

  /// The derivative of a function of one argument.
  Value slope_of_function(PointOperation operation, Value value, Value a, Value da) {
    const auto of = [&](PointOperation other) { return builder_->apply(other, a); };
    const auto cosine_of_arc = [&] { return builder_->apply(square_root, difference(one_, square(a))); };
    switch (operation) {
      case sine:
        return product(of(cosine), da);
      case cosine:
        return minus(product(of(sine), da));
      case tangent:
        return product(sum(one_, square(value)), da);
      case arc_sine:
        return quotient(da, cosine_of_arc());
      case arc_cosine:
        return minus(quotient(da, cosine_of_arc()));
      case arc_tangent:
        return quotient(da, sum(one_, square(a)));
      case hyperbolic_sine:
        return product(of(hyperbolic_cosine), da);
      case hyperbolic_cosine:
        return product(of(hyperbolic_sine), da);
      case hyperbolic_tangent:
        return product(difference(one_, square(value)), da);
      case exponential:
        return product(value, da);
      case logarithm:
        return quotient(da, a);
      case logarithm_2:
        return quotient(da, product(a, constant(std::numbers::ln2)));
      case logarithm_10:
        return quotient(da, product(a, constant(std::numbers::ln10)));
      case square_root:
        return where_it_moves(da, quotient(da, product(constant(2), value)));
      default:  // cube_root
        return where_it_moves(da, quotient(da, product(constant(3), square(value))));
    }
  }

  PointProgramBuilder* builder_;
  int axis_;
  Value zero_, one_;
  std::map<Value, Value> slopes_;
};

}  // namespace

Value derivative(PointProgramBuilder& builder, Value value, int axis) { return Differentiator(builder, axis)(value); }

}  // namespace femcg::operators
