#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "operators/forms/programs/point_operation.hpp"

namespace femcg::solver {

using Unary = double (*)(double);
using Binary = double (*)(double, double);
using Ternary = double (*)(double, double, double);
using Variadic = double (*)(const double*, int);

/// A function of expressions: its name, its meaning, and its implementation for muParser and for programs, where a
/// variadic function is a repeated binary operation.
struct FunctionDefinition {
  std::string_view name;
  std::string_view meaning;
  std::variant<Unary, Binary, Ternary, Variadic> function;
  operators::PointOperation operation;
};
const std::vector<FunctionDefinition>& function_definitions();

/// Logical negation; its precedence is below comparisons and above &&.
inline constexpr std::string_view negation_word = "not";

/// An expression split into tokens whose names are all known, rewritten with one blank between tokens (none between a
/// function and its bracket) and with && and || for `and` and `or`, so that it is unambiguous for muParser.
struct ScannedExpression {
  std::string text;
  std::vector<std::size_t> starts;     ///< of each token in `text`
  std::vector<std::size_t> positions;  ///< of each token in the user's text, from 1
  std::vector<std::string> tokens;
  bool constant = true;  ///< uses none of x, y, z
};

/// Description of .nan, .inf and the like of YAML, and of nan and inf of other languages: "not a number" or "infinity";
/// empty for any other text.
std::string_view not_finite_words(std::string_view text);

/// Splits an expression into tokens. Throws std::invalid_argument with the error and its character: empty text, unknown
/// sign or name, number out of range, assignment, unbalanced brackets, several values.
ScannedExpression scan_expression(std::string_view text);

}  // namespace femcg::solver
