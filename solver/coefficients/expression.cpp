#include "solver/coefficients/expression.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "solver/coefficients/expression_program.hpp"
#include "solver/coefficients/expression_scanner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// muParser with only the names of this program, its variables bound to `point`. Not copyable or movable: the parser
/// points into this object.
struct BoundParser {
  explicit BoundParser(const ScannedExpression& scanned) {
    parser.ClearFun();
    parser.ClearConst();
    parser.EnableOptimizer(false);  // the optimiser truncates numbers before && and ||
    parser.DefineConst("pi", std::numbers::pi);
    parser.DefineInfixOprtChars("+-not");
    parser.DefineInfixOprt(
        std::string(negation_word), +[](double a) { return a == 0 ? 1.0 : 0.0; }, mu::prLOGIC);
    for (const FunctionDefinition& definition : function_definitions())
      std::visit([&](auto function) { parser.DefineFun(std::string(definition.name), function); }, definition.function);
    for (int axis = 0; axis < 3; ++axis) parser.DefineVar(std::string(1, "xyz"[axis]), &point[axis]);
    parser.SetExpr(scanned.text);
  }
  BoundParser(const BoundParser&) = delete;
  BoundParser& operator=(const BoundParser&) = delete;

  std::array<double, 3> point{};
  mu::Parser parser;
};

/// muParser's message in the wording of this program.
std::string explained(const mu::ParserError& error, const ScannedExpression& scanned) {
  std::size_t token = 0;
  while (token + 1 < scanned.starts.size() && static_cast<int>(scanned.starts[token + 1]) <= error.GetPos()) ++token;
  const std::string where =
      fmt::format("{} at character {}", in_quotes(scanned.tokens[token]), scanned.positions[token]);
  switch (error.GetCode()) {
    case mu::ecUNEXPECTED_VAL:
    case mu::ecUNEXPECTED_VAR:
    case mu::ecUNEXPECTED_FUN:
      return "an operator such as * is missing before " + where;
    case mu::ecUNEXPECTED_PARENS:
      return (scanned.tokens[token] == "(" ? "an operator such as * is missing before "
                                           : "a value is missing before ") +
             where;
    case mu::ecUNEXPECTED_OPERATOR:
      if (token > 0 && scanned.tokens[token - 1] == negation_word)
        return "brackets are missing between 'not' and " + where;
      if (scanned.tokens[token] == negation_word) return "'and' or 'or' is missing before " + where;
      [[fallthrough]];
    case mu::ecUNEXPECTED_ARG_SEP:
      return "a value is missing before " + where;
    case mu::ecUNEXPECTED_EOF:
      return "it ends where a value is expected";
    case mu::ecTOO_MANY_PARAMS:
      return "too many values for the function " + in_quotes(error.GetToken());
    case mu::ecTOO_FEW_PARAMS:
      return "too few values for the function " + in_quotes(error.GetToken());
    case mu::ecMISSING_ELSE_CLAUSE:
      return "a '?' without its ':' (condition ? value : value otherwise)";
    case mu::ecUNEXPECTED_CONDITIONAL:
    case mu::ecMISPLACED_COLON:
      return "a ':' without its '?' (condition ? value : value otherwise)";
    case mu::ecEXPRESSION_TOO_LONG:
      return "it is longer than 10000 characters";
    default:
      return "it cannot be understood near " + where;
  }
}

std::string not_finite(const std::string& text, double value) {
  // The sign of a NaN is meaningless.
  const std::string shown = std::isnan(value) ? "nan" : fmt::format("{}", value);
  const std::string plain = in_quotes(text);
  return fmt::format("{} is not finite ({})", plain.substr(1, plain.size() - 2), shown);
}

/// Value of an expression that is a single number, as most are; a parser takes a hundred times as long.
std::optional<double> lone_number(const ScannedExpression& scanned) {
  const std::string& token = scanned.tokens.front();
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (scanned.tokens.size() != 1 || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

constexpr const char* too_long = "it is longer than a program may be";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

Expression::Expression(double value) : text_(fmt::format("{}", value)), constant_(value) {
  if (!std::isfinite(value)) throw InputError(not_finite(text_, value));
}

std::string Expression::placed(std::string_view sentence) const { return at_place(place_, at_place(key_, sentence)); }

Expression::Expression(std::string text, Place place, std::string key)
    : text_(trimmed(text)), place_(std::move(place)), key_(std::move(key)) {
  const auto fail = [&](const std::string& why) {
    throw InputError(placed(text_.empty() ? why : fmt::format("in the expression {}: {}", in_quotes(text_), why)));
  };
  ScannedExpression scanned;
  try {
    scanned = scan_expression(text_);
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
  if (const auto number = lone_number(scanned)) {
    constant_ = number;
    return;
  }
  double value = 0;
  try {
    BoundParser parser(scanned);
    value = parser.parser.Eval();
  } catch (const mu::ParserError& error) {
    fail(explained(error, scanned));
  }
  if (scanned.constant) {
    if (!std::isfinite(value)) throw InputError(placed(not_finite(text_, value)));
    constant_ = value;
  } else {
    std::optional<operators::PointProgram> program = program_of(scanned);
    if (!program) fail(too_long);
    program_ = std::make_shared<const operators::PointProgram>(*std::move(program));
  }
}

void Expression::evaluate(std::span<const double> points, std::span<double> values) const {
  if (points.size() != 3 * values.size())
    throw std::invalid_argument("Expression::evaluate needs three coordinates for each value");
  if (constant_) {
    std::ranges::fill(values, *constant_);
    return;
  }
  program_->evaluate(points, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw InputError(
          placed(fmt::format("{} at the point {}", not_finite(text_, values[i]), point_text(&points[3 * i]))));
  }
}

operators::PointProgram Expression::program_with_gradient() const {
  std::optional<operators::PointProgram> program = solver::program_with_gradient(scan_expression(text_));
  if (!program) throw InputError(placed(fmt::format("in the expression {}: {}", in_quotes(text_), too_long)));
  return *std::move(program);
}

double Expression::operator()(double x, double y, double z) const {
  const std::array<double, 3> point{x, y, z};
  double value = 0;
  evaluate(point, {&value, 1});
  return value;
}

std::string point_text(const double* p) {
  return p[2] == 0.0 ? fmt::format("({:g}, {:g})", p[0], p[1]) : fmt::format("({:g}, {:g}, {:g})", p[0], p[1], p[2]);
}

const std::vector<ExpressionFunction>& expression_functions() {
  static const std::vector<ExpressionFunction> functions = [] {
    std::vector<ExpressionFunction> list;
    for (const FunctionDefinition& definition : function_definitions())
      list.push_back({std::string(definition.name), std::string(definition.meaning)});
    return list;
  }();
  return functions;
}

}  // namespace femcg::solver
