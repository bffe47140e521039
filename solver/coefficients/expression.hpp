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

/// A number, or an expression in x, y, z and pi, parsed by muParser and evaluated by a program of femcg. Copies share
/// the program.
class Expression {
 public:
  /// Throws InputError, with the place and the key of the case, if the text does not parse, assigns, has several values
  /// or contains an unknown name (the message gives the nearest known name).
  Expression(std::string text, Place place, std::string key = "");
  Expression(double value);  // NOLINT: a number is an expression

  const std::string& text() const { return text_; }
  const Place& place() const { return place_; }
  /// The sentence, preceded by the place and the key.
  std::string placed(std::string_view sentence) const;
  /// The value, if it does not depend on x, y, z.
  std::optional<double> constant() const { return constant_; }
  /// Values at points, [count][3]. Thread-safe. Throws InputError, with the place and the first such point, if a value
  /// is not finite.
  void evaluate(std::span<const double> points, std::span<double> values) const;
  /// Program that evaluates the expression; its values may be non-finite.
  operators::PointProgram program() const { return constant_ ? operators::PointProgram(*constant_) : *program_; }
  /// Program of the expression and its derivatives along x, y and z.
  operators::PointProgram program_with_gradient() const;
  double operator()(double x, double y, double z) const;

 private:
  std::string text_;
  Place place_;
  std::string key_;
  std::optional<double> constant_;
  std::shared_ptr<const operators::PointProgram> program_;  ///< null for a constant
};

/// Text of a point for messages: (x, y), or (x, y, z) if z is not 0; z is always 0 in 2D.
std::string point_text(const double* point);

/// A function that expressions may use, and its meaning.
struct ExpressionFunction {
  std::string name;
  std::string meaning;
};
const std::vector<ExpressionFunction>& expression_functions();

}  // namespace femcg::solver
