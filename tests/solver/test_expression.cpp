#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "solver/coefficients/expression.hpp"
#include "solver/messages/error.hpp"

using femcg::solver::Expression;
using femcg::solver::InputError;

namespace {

constexpr double pi = std::numbers::pi;

double value(const std::string& text, double x = 0, double y = 0, double z = 0) {
  return Expression(text, "")(x, y, z);
}

/// Message of the error that the constructor throws for an invalid text, without its place.
std::string complaint(const std::string& text) {
  try {
    Expression(text, "");
  } catch (const InputError& error) {
    CHECK(error.sentences().size() == 1);
    return error.what();
  }
  FAIL("accepted: ", text);
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("and, or and not join conditions, as && and || do") {
  for (const double x : {-1.0, 0.0, 0.5, 2.0}) {
    CHECK(value("x > 0 and x < 1", x) == value("x > 0 && x < 1", x));
    CHECK(value("x < 0 or x > 1", x) == value("x < 0 || x > 1", x));
    CHECK(value("not x > 0", x) == value("x <= 0", x));
    CHECK(value("not x > 0 and x > -2 or x == 2", x) == value("(x <= 0 && x > -2) || x == 2", x));
    CHECK(value("x > -2 and not(x > 0 or x < -0.5)", x) == value("x > -2 && x <= 0 && x >= -0.5", x));
    CHECK(value("not (-x > 0.5)", x) == value("x >= -0.5", x));
  }
  CHECK(*Expression("not 0 and not (1 > 2)", "").constant() == 1);
  CHECK(contains(complaint("x & y"), "'&' has no meaning (conditions are combined by and, or, not) at character 3"));
  CHECK(contains(complaint("!x"), "combined by and, or, not"));
  CHECK(contains(complaint("x not y"), "'and' or 'or' is missing before 'not' at character 3"));
  CHECK(contains(complaint("not -x"), "brackets are missing between 'not' and '-' at character 5"));
  CHECK(contains(complaint("x and"), "it ends where a value is expected"));
  CHECK(contains(complaint("notx"), "did you mean 'not'?"));
}

TEST_CASE("numbers are constants, whatever their form") {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, double>>{{"3", 3},
                                                   {"-2.5", -2.5},
                                                   {"+4", 4},
                                                   {".5", 0.5},
                                                   {"5.", 5},
                                                   {"1e-3", 1e-3},
                                                   {"1E+3", 1000},
                                                   {"010", 10},
                                                   {" 7 ", 7},
                                                   {"1.7976931348623157e308", std::numeric_limits<double>::max()}}) {
    const Expression number(text, "");
    REQUIRE_MESSAGE(number.constant(), text);
    CHECK_MESSAGE(*number.constant() == expected, text);
  }
  CHECK(*Expression(0.1).constant() == 0.1);
  CHECK(Expression(0.1).text() == "0.1");
  CHECK(Expression(1e-8).text() == "1e-08");
}

TEST_CASE("pi is the nearest double") { CHECK(*Expression("pi", "").constant() == pi); }

TEST_CASE("only x, y and z vary") {
  CHECK(Expression("2*pi + sin(1)", "").constant());
  CHECK(*Expression("2*pi", "").constant() == 2 * pi);
  CHECK_FALSE(Expression("0*x", "").constant());
  CHECK_FALSE(Expression("y", "").constant());
  CHECK_FALSE(Expression("exp(z)", "").constant());
}

TEST_CASE("x, y and z are the first, second and third coordinate") {
  CHECK(value("x", 2, 3, 5) == 2);
  CHECK(value("y", 2, 3, 5) == 3);
  CHECK(value("z", 2, 3, 5) == 5);
  CHECK(value("100*x + 10*y + z", 2, 3, 5) == 235);
}

TEST_CASE("operators bind as in textbooks") {
  CHECK(value("1 + 2*3") == 7);
  CHECK(value("-2^2") == -4);
  CHECK(value("2^-1") == 0.5);
  CHECK(value("2^3^2") == 512);
  CHECK(value("8/4/2") == 1);
  CHECK(value("x<-1", -2) == 1);
  CHECK(value("x<-1", 0) == 0);
  CHECK(value("x*-1", 3) == -3);
  CHECK(value("x>=1 && y!=0 || z==4", 0, 0, 4) == 1);
  CHECK(value("0.5 && 0.25") == 1);
  CHECK(value("x < 1 ? 2 : 3", 0) == 2);
  CHECK(value("x < 1 ? 2 : 3", 5) == 3);
  CHECK(value("if(x < 1, 2, 3)", 0) == 2);
  CHECK(value("if (x < 1, 2, 3)", 5) == 3);
  CHECK(value("x == 0 ? 1 : sin(x)/x", 0) == 1);  // the branch not taken may have any value
}

TEST_CASE("a function and its bracket may stand apart") {
  CHECK(value("sin (x)", 0.5) == doctest::Approx(std::sin(0.5)).epsilon(1e-15));
  CHECK(value("sin\t\n(x) * cos  ( x )", 0.5) == doctest::Approx(std::sin(0.5) * std::cos(0.5)).epsilon(1e-15));
}

TEST_CASE("every function listed computes what the C++ library computes") {
  using Map = std::pair<const char*, double>;
  const double x = 0.3, y = 0.7;
  std::vector<Map> expected{{"sin(x)", std::sin(x)},
                            {"cos(x)", std::cos(x)},
                            {"tan(x)", std::tan(x)},
                            {"asin(x)", std::asin(x)},
                            {"acos(x)", std::acos(x)},
                            {"atan(x)", std::atan(x)},
                            {"atan2(y, x)", std::atan2(y, x)},
                            {"sinh(x)", std::sinh(x)},
                            {"cosh(x)", std::cosh(x)},
                            {"tanh(x)", std::tanh(x)},
                            {"exp(x)", std::exp(x)},
                            {"log(x)", std::log(x)},
                            {"log2(x)", std::log2(x)},
                            {"log10(x)", std::log10(x)},
                            {"sqrt(x)", std::sqrt(x)},
                            {"cbrt(x)", std::cbrt(x)},
                            {"pow(x, y)", std::pow(x, y)},
                            {"hypot(x, y)", std::hypot(x, y)},
                            {"abs(-x)", x},
                            {"sign(-x)", -1},
                            {"floor(-x)", -1},
                            {"ceil(x)", 1},
                            {"step(-x)", 0},
                            {"if(x, y, x)", y},
                            {"min(y, x, 1)", x},
                            {"max(y, x, -1)", y}};
  CHECK(expected.size() == femcg::solver::expression_functions().size());
  for (const auto& function : femcg::solver::expression_functions()) {
    CHECK_FALSE(function.meaning.empty());
    bool found = false;
    for (const auto& [text, result] : expected)
      if (std::string(text).starts_with(function.name + "(")) {
        found = true;
        CHECK_MESSAGE(value(text, x, y) == doctest::Approx(result).epsilon(1e-15), text);
      }
    CHECK_MESSAGE(found, function.name);
  }
  CHECK(value("sign(0)") == 0);
  CHECK(value("step(0)") == 1);
  CHECK(value("atan2(1, -1)") == doctest::Approx(3 * pi / 4));
}

TEST_CASE("a text that is no single value is refused, with the character") {
  CHECK(contains(complaint(""), "empty"));
  CHECK(contains(complaint("   "), "empty"));
  CHECK(contains(complaint("x=5"), "'=' assigns, which has no meaning here (to compare, write ==), at character 2"));
  CHECK(contains(complaint("1,2"), "several values"));
  CHECK(contains(complaint("1,2"), "character 2"));
  CHECK(contains(complaint("(1,2)"), "several values"));
  CHECK(contains(complaint("sin(x) + (1, 2)"), "character 12"));
  CHECK(contains(complaint("x +"), "it ends where a value is expected"));
  CHECK(contains(complaint("* x"), "a value is missing before '*' at character 1"));
  CHECK(contains(complaint("2x"), "an operator such as * is missing before 'x' at character 2"));
  CHECK(contains(complaint("2  (x)"), "an operator such as * is missing before '(' at character 4"));
  CHECK(contains(complaint("sin(x)cos(x)"), "an operator such as * is missing before 'cos' at character 7"));
  CHECK(contains(complaint("1.2.3"), "an operator such as * is missing before '.3' at character 4"));
  CHECK(contains(complaint("((x)"), "the '(' at character 1 is never closed"));
  CHECK(contains(complaint("(x))"), "a ')' without its '(' at character 4"));
  CHECK(contains(complaint("x ()"), "missing"));
  CHECK(contains(complaint("x**2"), "x^2"));
  CHECK(contains(complaint("x $ 2"), "'$' has no meaning at character 3"));
  CHECK(contains(complaint("2 × x"), "'×' has no meaning at character 3"));
  CHECK(contains(complaint("\"x\""), "has no meaning"));
  CHECK(contains(complaint("sin"), "the function 'sin' stands without its brackets at character 1"));
  CHECK(contains(complaint("sin()"), "too few values for the function 'sin'"));
  CHECK(contains(complaint("sin(x, y)"), "too many values for the function 'sin'"));
  CHECK(contains(complaint("min()"), "too few values for the function 'min'"));
  CHECK(contains(complaint("min(1,,2)"), "a value is missing before ','"));
  CHECK(contains(complaint("x ? 1"), "'?' without its ':'"));
  CHECK(contains(complaint("x : 1"), "':' without its '?'"));
  CHECK(contains(complaint("1e400"), "out of the range"));
  CHECK(contains(complaint("."), "lone '.'"));
  CHECK(complaint(std::string(20000, '1') + "+x").size() < 250);
}

TEST_CASE("an unknown name is answered with the nearest known one and its character") {
  CHECK(contains(complaint("1 + sni(x)"), "unknown name 'sni' at character 5; did you mean 'sin'?"));
  CHECK(contains(complaint("sqr(x)"), "did you mean 'sqrt'?"));
  CHECK(contains(complaint("Pi"), "did you mean 'pi'?"));
  CHECK(contains(complaint("X"), "did you mean 'x'?"));
  CHECK(contains(complaint("temperature"), "known are x, y, z, pi, "));
  CHECK(contains(complaint("_pi"), "unknown name"));
  CHECK(contains(complaint("0x10"), "unknown name 'x10' at character 2"));
}

TEST_CASE("the place comes first, once") {
  try {
    Expression("1 +", "cases/x.yaml:12:5");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) == "cases/x.yaml:12:5: in the expression '1 +': it ends where a value is expected");
  }
}

TEST_CASE("a value that is not finite is named with its place and point") {
  const Expression inverse("1/x", "cases/x.yaml:12:5");
  const std::vector<double> points{1, 0, 0, 0, 0.5, 0, 0, 0.25, 0};
  std::vector<double> values(3);
  CHECK_THROWS_WITH_AS(inverse.evaluate(points, values),
                       "cases/x.yaml:12:5: 1/x is not finite (inf) at the point (0, 0.5)", InputError);
  CHECK_THROWS_WITH_AS(value("sqrt(z - 2)", 0, 0, 1), "sqrt(z - 2) is not finite (nan) at the point (0, 0, 1)",
                       InputError);
  CHECK_THROWS_WITH_AS(Expression("1/0", "here"), "here: 1/0 is not finite (inf)", InputError);
  CHECK_THROWS_AS(Expression(std::nan("")), InputError);
  CHECK_THROWS_AS(Expression(std::numeric_limits<double>::infinity()), InputError);
}

TEST_CASE("a batch gives what single points give") {
  const Expression expression("sin(x)*y + z", "");
  std::vector<double> points, values(100);
  for (int i = 0; i < 300; ++i) points.push_back(0.01 * i);
  expression.evaluate(points, values);
  for (int i = 0; i < 100; ++i) CHECK(values[i] == expression(points[3 * i], points[3 * i + 1], points[3 * i + 2]));
  std::vector<double> constants(4, -1.0);
  Expression("2+3", "").evaluate(std::vector<double>(12), constants);
  CHECK(constants == std::vector<double>(4, 5.0));
  CHECK_THROWS_AS(expression.evaluate(points, constants), std::invalid_argument);
}

TEST_CASE("threads evaluate shared and copied expressions at once") {
  const Expression f("x^2 + 3*y", ""), g = f, h("x - z", "");
  std::vector<int> wrong(8, -1);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        int errors = 0;
        for (int i = 0; i < 20000; ++i) {
          const double x = t + 1e-3 * i;
          if (std::abs(f(x, 1, 0) - (x * x + 3)) > 1e-12 * x * x ||
              std::abs(g(x, t, 0) - (x * x + 3 * t)) > 1e-12 * (x * x + 24) || h(x, 0, t) != x - t)
            ++errors;
        }
        wrong[t] = errors;
      });
  }
  CHECK(wrong == std::vector<int>(8, 0));
}

TEST_CASE("an expression made after another one died is not taken for it") {
  for (int i = 0; i < 1000; ++i) {
    const Expression expression("x + " + std::to_string(i), "");
    REQUIRE(expression(0.5, 0, 0) == i + 0.5);
  }
}

TEST_CASE("a locale with decimal commas changes nothing") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_ALL, name)) break;
  CHECK(value("1.5*x", 2) == 3);
  CHECK(*Expression("0.25", "").constant() == 0.25);
  CHECK(Expression(0.25).text() == "0.25");
  std::setlocale(LC_ALL, before.c_str());
}
