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

/// A function of expressions: its name, what it computes, and how, for muParser and in programs; there a variadic one
/// is an operation on two values, again and again.
struct FunctionDefinition {
  std::string_view name;
  std::string_view meaning;
  std::variant<Unary, Binary, Ternary, Variadic> function;
  operators::PointOperation operation;
};
const std::vector<FunctionDefinition>& function_definitions();

/// The word before a condition that shall not hold; it binds less than comparisons, more than &&.
inline constexpr std::string_view negation_word = "not";

/// An expression cut into tokens whose names are all known, written again with one blank between them (none between a
/// function and its bracket) and with && and || for `and` and `or`, which leaves muParser nothing to guess.
struct ScannedExpression {
  std::string text;
  std::vector<std::size_t> starts;     ///< of each token in `text`
  std::vector<std::size_t> positions;  ///< of each token in the user's text, from 1
  std::vector<std::string> tokens;
  bool constant = true;  ///< names none of x, y, z
};

/// Words for .nan, .inf and the like of YAML, and nan and inf of other languages: "not a number" or "infinity"; empty
/// for any other text.
std::string_view not_finite_words(std::string_view text);

/// Throws std::invalid_argument with what is wrong and at which character: nothing there, a sign or name without
/// meaning, a number out of range, an assignment, brackets that do not match, several values.
ScannedExpression scan_expression(std::string_view text);

}  // namespace femcg::solver
