// Operator-precedence parser: operators wait on a stack until one of lower precedence comes (Dijkstra 1961).
// Precedences are muParser's.

#include "solver/coefficients/expression_program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "operators/forms/programs/point_derivative.hpp"

namespace femcg::solver {

namespace {

using operators::PointOperation;
using Builder = operators::PointProgramBuilder;
using Value = Builder::Value;

/// A binary or unary operator.
struct Sign {
  std::string_view token;
  int tightness;  ///< precedence: a larger one binds tighter
  PointOperation operation;
  bool swapped = false;  ///< the second value is the first operand
};
constexpr int condition_tightness = 1;
constexpr std::array<Sign, 13> signs_between{{{"||", 2, PointOperation::either},
                                              {"&&", 3, PointOperation::both},
                                              {"<", 4, PointOperation::less},
                                              {"<=", 4, PointOperation::less_or_equal},
                                              {">", 4, PointOperation::less, true},
                                              {">=", 4, PointOperation::less_or_equal, true},
                                              {"==", 4, PointOperation::equal},
                                              {"!=", 4, PointOperation::different},
                                              {"+", 5, PointOperation::add},
                                              {"-", 5, PointOperation::subtract},
                                              {"*", 6, PointOperation::multiply},
                                              {"/", 6, PointOperation::divide},
                                              {"^", 7, PointOperation::power}}};
constexpr Sign minus{"-", 6, PointOperation::negate};
constexpr Sign negation{negation_word, 3, PointOperation::equal};  ///< value == 0

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
  /// A construct that is not complete yet: an operator without its last value, a bracket, a function before its
  /// bracket, or a condition before or after its ':'.
  enum class Kind : std::uint8_t { sign, bracket, function, condition, otherwise };
  struct Waiting {
    Kind kind;
    const Sign* sign = nullptr;
    const FunctionDefinition* function = nullptr;
    int values = 0;  ///< of a function, those before the last comma

    /// Precedence towards the preceding operator; 0 if only its own end completes it.
    int tightness() const {
      return kind == Kind::sign ? sign->tightness : kind == Kind::otherwise ? condition_tightness : 0;
    }
  };

  void take(const std::string& token) {
    if (token == "(") {
      waiting_.push_back({Kind::bracket});
      operand_next_ = true;
    } else if (token == ")") {
      close_bracket();
      operand_next_ = false;
    } else if (token == ",") {
      close_until(0);
      ++waiting_[waiting_.size() - 2].values;  // the function precedes its bracket
      operand_next_ = true;
    } else if (operand_next_) {
      take_operand(token);
    } else {
      take_operator(token);
      operand_next_ = true;
    }
  }

  void take_operand(const std::string& token) {
    if (token == "-") return waiting_.push_back({Kind::sign, &minus});
    if (token == negation_word) return waiting_.push_back({Kind::sign, &negation});
    if (token == "+") return;
    const auto definition = std::ranges::find(function_definitions(), token, &FunctionDefinition::name);
    if (definition != function_definitions().end()) return waiting_.push_back({Kind::function, nullptr, &*definition});
    operand_next_ = false;
    if (token == "pi") return values_.push_back(builder_.constant(std::numbers::pi));
    if (token == "x" || token == "y" || token == "z") return values_.push_back(Builder::coordinate(token[0] - 'x'));
    double number = 0;
    std::from_chars(token.data(), token.data() + token.size(), number);
    values_.push_back(builder_.constant(number));
  }

  void take_operator(const std::string& token) {
    if (token == "?") {
      close_until(condition_tightness + 1);  // a nested condition is part of the outer one
      waiting_.push_back({Kind::condition});
    } else if (token == ":") {
      close_until(condition_tightness);
      waiting_.back().kind = Kind::otherwise;
    } else {
      const Sign& sign = *std::ranges::find(signs_between, token, &Sign::token);
      close_until(sign.tightness + (sign.operation == PointOperation::power ? 1 : 0));  // a^b^c is a^(b^c)
      waiting_.push_back({Kind::sign, &sign});
    }
  }

  /// Applies the waiting constructs of precedence `least` or more.
  void close_until(int least) {
    while (!waiting_.empty() && waiting_.back().tightness() >= std::max(least, 1)) {
      const Waiting last = waiting_.back();
      waiting_.pop_back();
      if (last.kind == Kind::otherwise)
        apply_condition();
      else
        apply(*last.sign);
    }
  }

  void close_bracket() {
    close_until(0);
    waiting_.pop_back();
    if (waiting_.empty() || waiting_.back().kind != Kind::function) return;
    const Waiting call = waiting_.back();
    waiting_.pop_back();
    apply(*call.function, call.values + 1);
  }

  Value pop() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

  void apply(const Sign& sign) {
    const Value last = pop();
    if (&sign == &negation) return values_.push_back(builder_.apply(sign.operation, last, builder_.constant(0)));
    if (sign.operation == PointOperation::negate) return values_.push_back(builder_.apply(sign.operation, last));
    const Value first = pop();
    if (sign.operation == PointOperation::power) return values_.push_back(power(first, last));
    values_.push_back(builder_.apply(sign.operation, sign.swapped ? last : first, sign.swapped ? first : last));
  }
  void apply_condition() {
    const Value otherwise = pop(), then = pop(), condition = pop();
    values_.push_back(builder_.apply(PointOperation::select, condition, then, otherwise));
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
  std::vector<Waiting> waiting_;
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
