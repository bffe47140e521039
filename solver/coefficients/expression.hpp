#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/forms/programs/point_program.hpp"

namespace femcg::solver {

/// A place in the case file ("cases/x.yaml:12:5") or on the command line ("--set degree").
using Place = std::string;

/// A number, or an expression in x, y, z and pi, read by muParser and evaluated by a program of its own. Copies share
/// the program.
class Expression {
 public:
  /// Throws InputError, with the place and the key of the case that has this text, where the text does not parse,
  /// assigns, has several values or names something unknown (the sentence says the nearest known name).
  Expression(std::string text, Place place, std::string key = "");
  Expression(double value);  // NOLINT: a number is an expression

  const std::string& text() const { return text_; }
  const Place& place() const { return place_; }
  /// The sentence behind the place and the key.
  std::string placed(std::string_view sentence) const;
  /// The value, where it does not depend on x, y, z.
  std::optional<double> constant() const { return constant_; }
  /// Values at points (count x 3, row by row). Safe to call from several threads at once. Throws InputError, with the
  /// place and the first such point, where a value is not finite.
  void evaluate(std::span<const double> points, std::span<double> values) const;
  /// Program that evaluates the expression, including values that are not finite.
  operators::PointProgram program() const { return constant_ ? operators::PointProgram(*constant_) : *program_; }
  /// The same of it and its derivatives along x, y and z.
  operators::PointProgram program_with_gradient() const;
  double operator()(double x, double y, double z) const;

 private:
  std::string text_;
  Place place_;
  std::string key_;
  std::optional<double> constant_;
  std::shared_ptr<const operators::PointProgram> program_;  ///< of what is not constant
};

/// A point in space as messages show it: (x, y), or (x, y, z) where z is not 0, as it always is in 2D.
std::string point_text(const double* point);

/// A function name that expressions may use, and what it is.
struct ExpressionFunction {
  std::string name;
  std::string meaning;
};
const std::vector<ExpressionFunction>& expression_functions();

}  // namespace femcg::solver
