#include <doctest/doctest.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "solver/coefficients/expression_program.hpp"

using namespace femcg;
using operators::PointProgram;
using solver::program_of;
using solver::scan_expression;

namespace {

/// Values of an expression as muParser computes them.
class Parser {
 public:
  explicit Parser(const std::string& text) {
    parser_.ClearFun();
    parser_.ClearConst();
    parser_.EnableOptimizer(false);  // as in the program
    parser_.DefineConst("pi", std::numbers::pi);
    for (const auto& definition : solver::function_definitions())
      std::visit([&](auto function) { parser_.DefineFun(std::string(definition.name), function); },
                 definition.function);
    for (int axis = 0; axis < 3; ++axis) parser_.DefineVar(std::string(1, "xyz"[axis]), &point_[axis]);
    parser_.SetExpr(scan_expression(text).text);
  }
  bool accepts() {
    try {
      parser_.Eval();
      return true;
    } catch (const mu::ParserError&) {
      return false;
    }
  }
  double operator()(const std::array<double, 3>& point) {
    point_ = point;
    return parser_.Eval();
  }

 private:
  std::array<double, 3> point_{};
  mu::Parser parser_;
};

/// Random texts that follow the grammar; subexpressions seldom have brackets.
class RandomText {
 public:
  explicit RandomText(unsigned seed) : random_(seed) {}

  std::string operator()(int depth = 4) {
    const int what = pick(depth > 0 ? 12 : 3);
    if (what < 2) return std::string(1, "xyz"[pick(3)]);
    if (what == 2) return std::array<const char*, 6>{"2", "0.5", "3", "pi", "1e-1", ".25"}[pick(6)];
    if (what == 3) return "(" + (*this)(depth - 1) + ")";
    if (what == 4) return "-" + (*this)(depth - 1);
    if (what == 5) return (*this)(depth - 1) + " ? " + (*this)(depth - 1) + " : " + (*this)(depth - 1);
    if (what == 6) return call(depth);
    static constexpr std::array signs{"+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    return (*this)(depth - 1) + signs[pick(pick(3) > 0 ? 5 : static_cast<int>(signs.size()))] + (*this)(depth - 1);
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::string call(int depth) {
    const auto& functions = solver::function_definitions();
    const auto& chosen = functions[pick(static_cast<int>(functions.size()))];
    const int count = std::holds_alternative<solver::Unary>(chosen.function)     ? 1
                      : std::holds_alternative<solver::Binary>(chosen.function)  ? 2
                      : std::holds_alternative<solver::Ternary>(chosen.function) ? 3
                                                                                 : 1 + pick(4);
    std::string text = std::string(chosen.name) + "(";
    for (int k = 0; k < count; ++k) text += (k > 0 ? ", " : "") + (*this)(depth - 1);
    return text + ")";
  }

  std::mt19937 random_;
};

double value(const PointProgram& program, const std::array<double, 3>& point) {
  double found = 0;
  program.evaluate(point, {&found, 1});
  return found;
}

PointProgram program(const std::string& text) { return *program_of(scan_expression(text)); }

}  // namespace

TEST_CASE("programs have muParser's values, whatever binds to what") {
  RandomText text(7);
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string some = text();
    CAPTURE(some);
    Parser parser(some);
    if (!parser.accepts()) continue;  // two signs in a row
    const PointProgram compiled = program(some);
    for (const std::array<double, 3>& point : {std::array{0.3, 0.7, 1.9}, {-1.2, 0.45, 2.5}, {1, 0, -2}}) {
      const double expected = parser(point);
      if (!std::isfinite(expected) || std::abs(expected) > 1e6) continue;
      // Estimates the effect of rounding: steps move, and differences of nearly equal numbers magnify the error.
      double spread = 0;
      for (const double nudge : {1 - 1e-14, 1 + 1e-14, 1 - 3e-15, 1 + 3e-15})
        spread = std::max(spread,
                          std::abs(parser({point[0] * nudge, point[1] / nudge, point[2] * nudge * nudge}) - expected));
      if (!(spread < 1e-10)) continue;
      ++compared;
      CHECK(value(compiled, point) == doctest::Approx(expected).epsilon(1e-11).scale(1 + 1e3 * spread));
    }
  }
  CHECK(compared > 30000);
}

TEST_CASE("signs bind in their order") {
  const std::array point{0.5, 3.0, -2.0};
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, double>>{{"-y^2", -9},
                                                   {"2^-y", 0.125},
                                                   {"2^-z^2", std::pow(2, -4)},
                                                   {"2^y^2", 512},
                                                   {"y-2-1", 0},
                                                   {"y/2/2", 0.75},
                                                   {"y-2*z+1", 8},
                                                   {"-y*z", 6},
                                                   {"y*-z", 6},
                                                   {"+y", 3},
                                                   {"1<y==y<4", 1},  // ((1 < y) == y) < 4, since 0 < 4
                                                   {"1<y==y", 0},
                                                   {"x<1 || y<1 && z>0", 1},
                                                   {"z>0 ? 1 : y>0 ? 2 : 3", 2},
                                                   {"y>0 ? z>0 ? 1 : 2 : 3", 2},
                                                   {"y>0 ? 1 : 2 + 10", 1},
                                                   {"min(y, z, x)", -2},
                                                   {"max(y)", 3},
                                                   {"if(z<0, y, 1/0)", 3}}) {
    CAPTURE(text);
    Parser parser(text);
    const double of_parser = parser(point);
    CHECK(value(program(text), point) == of_parser);
    CHECK(of_parser == expected);
  }
}

TEST_CASE("what is the same is computed once, what is constant never") {
  CHECK(program("3*pi^2*x").instructions().size() == 1);
  CHECK(program("2*(1 + sin(1))").instructions().empty());
  CHECK(program("sin(pi*x)*cos(pi*y) + sin(pi*x)*cos(pi*z)").instructions().size() == 3 + 3 + 2 + 1);
  CHECK(program("x").instructions().empty());
  CHECK(program("x^4").instructions().size() == 3);
  // Registers are reused.
  std::string sum = "sin(x)";
  for (int i = 0; i < 100; ++i) sum += " + sin(" + std::to_string(i) + "*x)";
  CHECK(program(sum).variables() <= 3 + 3);
}

TEST_CASE("a value depends on its point alone") {
  const PointProgram f = program("sin(x)^1.5 + exp(-y)*hypot(x, z) - atan2(y, z) + log(1 + x^2)");
  std::vector<double> points, values(203);
  for (std::size_t i = 0; i < 3 * values.size(); ++i) points.push_back(0.05 + 0.004 * static_cast<double>(i));
  f.evaluate(points, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == value(f, {points[3 * i], points[3 * i + 1], points[3 * i + 2]}));
    std::vector<double> from_here(values.size() - i);
    f.evaluate(std::span(points).subspan(3 * i), from_here);
    CHECK(from_here[0] == values[i]);
  }
}

TEST_CASE("gradients are those of calculus") {
  for (const auto& definition : solver::function_definitions()) {
    const std::string name(definition.name);
    const bool one = std::holds_alternative<solver::Unary>(definition.function),
               three = std::holds_alternative<solver::Ternary>(definition.function);
    const std::string text = name + (one     ? "(0.3 + 0.1*x*y + z/9)"
                                     : three ? "(x<y, x^2*z, sin(y))"
                                             : "(0.3 + 0.1*x*y, z + x/7)");
    CAPTURE(text);
    const PointProgram f = program(text), with_gradient = *solver::program_with_gradient(scan_expression(text));
    for (const std::array<double, 3>& point : {std::array{0.9, 0.7, 1.1}, {0.4, 0.8, 0.6}, {1.2, 0.2, 0.3}}) {
      std::array<double, 4> found{};
      with_gradient.evaluate(point, found);
      CHECK(found[0] == value(f, point));
      for (std::size_t axis = 0; axis < 3; ++axis) {
        constexpr double h = 1e-3;  // step of central differences of fourth order
        const auto at = [&](double step) {
          std::array<double, 3> moved = point;
          moved[axis] += step * h;
          return value(f, moved);
        };
        const double expected = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
        CHECK(found[axis + 1] == doctest::Approx(expected).epsilon(1e-9).scale(1));
      }
    }
  }
  for (const auto& [text, slopes] : std::vector<std::pair<std::string, std::array<double, 3>>>{
           {"-x + 2*y - z/4", {-1, 2, -0.25}},
           {"x*y^2/z", {9.0 / -2, 6.0 * 0.5 / -2, -4.5 / 4}},
           {"y^x", {std::sqrt(3) * std::log(3), 0.5 / std::sqrt(3), 0}},
           {"max(0, z)^0.5 + sqrt(max(0, z))", {0, 0, 0}},  // gradient 0 where max is constant
           {"x>0 && y>0 ? z^3 : x", {0, 0, 12}},
           {"(x<y) + floor(z)", {0, 0, 0}},
           {"exp(x)", {std::exp(0.5), 0, 0}},
           {"3", {0, 0, 0}}}) {
    CAPTURE(text);
    std::array<double, 4> found{};
    solver::program_with_gradient(scan_expression(text))->evaluate(std::array{0.5, 3.0, -2.0}, found);
    for (std::size_t axis = 0; axis < 3; ++axis) CHECK(found[axis + 1] == doctest::Approx(slopes[axis]).epsilon(1e-14));
  }
}

TEST_CASE("what is no number stays none") {
  for (const char* text : {"sqrt(-x)", "log(-x)", "0/(x-x)", "asin(2*x)", "(-x)^0.5", "sin(1/(x-x))", "1 + sqrt(-x)*0"})
    CHECK_MESSAGE(std::isnan(value(program(text), {1, 0, 0})), text);
  CHECK(value(program("step(sqrt(-x))"), {1, 0, 0}) == 1);
  CHECK(value(program("1/(x-x)"), {1, 0, 0}) == INFINITY);
  CHECK(value(program("exp(1000*x)"), {1, 0, 0}) == INFINITY);
}

TEST_CASE("as many brackets as a text may have") {
  const std::string open(4000, '('), close(4000, ')');
  CHECK(value(program(open + "x" + close), {7, 0, 0}) == 7);
}
