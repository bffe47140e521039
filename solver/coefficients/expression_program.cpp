// Operators wait on a stack until one that binds less comes (Dijkstra 1961). They bind as muParser's do.

#include "solver/coefficients/expression_program.hpp"

#include <algorithm>
#include <charconv>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "operators/forms/point_derivative.hpp"

namespace femcg::solver {

namespace {

using operators::PointOperation;
using Builder = operators::PointProgramBuilder;
using Value = Builder::Value;

enum class Sign : std::uint8_t {
  bracket,
  function,
  condition,  ///< '?', and then ':'
  otherwise,
  either,
  both,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  equal,
  different,
  add,
  subtract,
  multiply,
  divide,
  negate,
  power
};

/// How tightly a sign binds; 0 of those that only their own end takes away.
int tightness(Sign sign) {
  switch (sign) {
    case Sign::bracket:
    case Sign::function:
    case Sign::condition:
      return 0;
    case Sign::otherwise:
      return 1;
    case Sign::either:
      return 2;
    case Sign::both:
      return 3;
    case Sign::less:
    case Sign::less_or_equal:
    case Sign::greater:
    case Sign::greater_or_equal:
    case Sign::equal:
    case Sign::different:
      return 4;
    case Sign::add:
    case Sign::subtract:
      return 5;
    case Sign::multiply:
    case Sign::divide:
    case Sign::negate:
      return 6;
    case Sign::power:
      break;
  }
  return 7;
}

Sign sign_between(std::string_view token) {
  static constexpr std::pair<std::string_view, Sign> signs[] = {
      {"||", Sign::either}, {"&&", Sign::both},    {"<", Sign::less},       {"<=", Sign::less_or_equal},
      {">", Sign::greater}, {"==", Sign::equal},   {"!=", Sign::different}, {">=", Sign::greater_or_equal},
      {"+", Sign::add},     {"-", Sign::subtract}, {"*", Sign::multiply},   {"/", Sign::divide},
      {"^", Sign::power}};
  return std::ranges::find(signs, token, [](const auto& each) { return each.first; })->second;
}

class Compiler {
 public:
  explicit Compiler(const ScannedExpression& scanned) : scanned_(&scanned) {}

  std::optional<operators::PointProgram> compile(bool with_gradient) {
    for (const std::string& token : scanned_->tokens) take(token);
    close_until(0);
    std::vector<Value> results{values_.back()};
    for (int axis = 0; with_gradient && axis < 3; ++axis)
      results.push_back(operators::derivative(builder_, results.front(), axis));
    return builder_.finish(results);
  }

 private:
  struct Waiting {
    Sign sign;
    const FunctionDefinition* function = nullptr;
    int values = 0;  ///< of a function, those before the last comma
  };

  void take(const std::string& token) {
    if (token == "(") {
      signs_.push_back({Sign::bracket});
      operand_next_ = true;
    } else if (token == ")") {
      close_bracket();
      operand_next_ = false;
    } else if (token == ",") {
      close_until(0);
      ++signs_[signs_.size() - 2].values;  // the function is before its bracket
      operand_next_ = true;
    } else if (operand_next_) {
      take_operand(token);
    } else {
      take_operator(token);
      operand_next_ = true;
    }
  }

  void take_operand(const std::string& token) {
    if (token == "-") return signs_.push_back({Sign::negate});
    if (token == "+") return;
    const auto definition = std::ranges::find(function_definitions(), token, &FunctionDefinition::name);
    if (definition != function_definitions().end()) return signs_.push_back({Sign::function, &*definition});
    operand_next_ = false;
    if (token == "pi") return values_.push_back(builder_.constant(std::numbers::pi));
    if (token == "x" || token == "y" || token == "z") return values_.push_back(Builder::coordinate(token[0] - 'x'));
    double number = 0;
    std::from_chars(token.data(), token.data() + token.size(), number);
    values_.push_back(builder_.constant(number));
  }

  void take_operator(const std::string& token) {
    if (token == "?") {
      close_until(2);  // a condition within a condition is a part of it
      signs_.push_back({Sign::condition});
    } else if (token == ":") {
      close_until(1);
      signs_.back().sign = Sign::otherwise;
    } else {
      const Sign sign = sign_between(token);
      close_until(tightness(sign) + (sign == Sign::power ? 1 : 0));  // a^b^c is a^(b^c)
      signs_.push_back({sign});
    }
  }

  /// Applies what waits and binds at least so tightly.
  void close_until(int least) {
    while (!signs_.empty() && tightness(signs_.back().sign) >= std::max(least, 1)) {
      const Sign sign = signs_.back().sign;
      signs_.pop_back();
      apply(sign);
    }
  }

  void close_bracket() {
    close_until(0);
    signs_.pop_back();
    if (signs_.empty() || signs_.back().sign != Sign::function) return;
    const Waiting call = signs_.back();
    signs_.pop_back();
    apply(*call.function, call.values + 1);
  }

  Value pop() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

  void apply(Sign sign) {
    const Value last = pop();
    if (sign == Sign::negate) return values_.push_back(builder_.apply(PointOperation::negate, last));
    const Value before = pop();
    switch (sign) {
      case Sign::otherwise: {
        const Value condition = pop();
        return values_.push_back(builder_.apply(PointOperation::select, condition, before, last));
      }
      case Sign::greater:
        return values_.push_back(builder_.apply(PointOperation::less, last, before));
      case Sign::greater_or_equal:
        return values_.push_back(builder_.apply(PointOperation::less_or_equal, last, before));
      case Sign::power:
        return values_.push_back(power(before, last));
      default:
        return values_.push_back(builder_.apply(operation_of(sign), before, last));
    }
  }

  static PointOperation operation_of(Sign sign) {
    switch (sign) {
      case Sign::either:
        return PointOperation::either;
      case Sign::both:
        return PointOperation::both;
      case Sign::less:
        return PointOperation::less;
      case Sign::less_or_equal:
        return PointOperation::less_or_equal;
      case Sign::equal:
        return PointOperation::equal;
      case Sign::different:
        return PointOperation::different;
      case Sign::add:
        return PointOperation::add;
      case Sign::subtract:
        return PointOperation::subtract;
      case Sign::multiply:
        return PointOperation::multiply;
      default:
        return PointOperation::divide;
    }
  }

  void apply(const FunctionDefinition& function, int count) {
    const std::vector<Value> of(values_.end() - count, values_.end());
    values_.resize(values_.size() - of.size());
    if (function.operation == PointOperation::power) return values_.push_back(power(of[0], of[1]));
    Value value = of[0];
    if (count == 3 && function.operation == PointOperation::select)
      value = builder_.apply(function.operation, of[0], of[1], of[2]);
    else if (count == 1 && !std::holds_alternative<Variadic>(function.function))
      value = builder_.apply(function.operation, value);
    else
      for (std::size_t k = 1; k < of.size(); ++k) value = builder_.apply(function.operation, value, of[k]);
    values_.push_back(value);
  }

  Value power(Value base, Value exponent) {
    const std::optional<double> number = builder_.number(exponent);
    if (builder_.number(base) || (number != 2.0 && number != 3.0 && number != 4.0))
      return builder_.apply(PointOperation::power, base, exponent);
    Value product = base;
    for (int k = 1; k < *number; ++k) product = builder_.apply(PointOperation::multiply, product, base);
    return product;
  }

  const ScannedExpression* scanned_;
  Builder builder_;
  std::vector<Waiting> signs_;
  std::vector<Value> values_;
  bool operand_next_ = true;
};

}  // namespace

std::optional<operators::PointProgram> program_of(const ScannedExpression& scanned) {
  return Compiler(scanned).compile(false);
}
std::optional<operators::PointProgram> program_with_gradient(const ScannedExpression& scanned) {
  return Compiler(scanned).compile(true);
}

}  // namespace femcg::solver
