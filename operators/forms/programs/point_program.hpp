#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "operators/forms/programs/point_operation.hpp"

namespace femcg::operators {

/// One or more functions of x, y and z, as a list of operations on registers: constants first, then x, y and z, then
/// results of operations. Each operation runs on several points before the next one, to spread the interpreter's cost.
class PointProgram {
 public:
  using Register = std::uint16_t;
  struct Instruction {
    PointOperation operation;
    Register to;
    std::array<Register, 3> from;  ///< the last ones are repeated if there are fewer operands
  };

  PointProgram(double constant) : constants_{constant}, results_{0} {}  // NOLINT: a number is a function

  /// Values at points [count][3], as [functions][count]. Safe to call from several threads concurrently. A value
  /// depends on its point alone.
  void evaluate(std::span<const double> points, std::span<double> values) const;

  const std::vector<double>& constants() const { return constants_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  /// Number of registers behind the constants: x, y, z and results.
  int variables() const { return variables_; }
  /// Result registers, one for each function.
  const std::vector<Register>& results() const { return results_; }

 private:
  friend class PointProgramBuilder;
  PointProgram() = default;

  std::vector<double> constants_;
  std::vector<Instruction> instructions_;
  int variables_ = 3;
  std::vector<Register> results_;
};

/// Builds a program value by value: common subexpressions are computed once, constant ones immediately.
class PointProgramBuilder {
 public:
  using Value = std::int32_t;
  struct Step {
    PointOperation operation;
    std::array<Value, 3> from;
    auto operator<=>(const Step&) const = default;
  };

  /// x, y or z.
  static Value coordinate(int axis) { return axis; }
  Value constant(double number);
  Value apply(PointOperation operation, Value a);
  Value apply(PointOperation operation, Value a, Value b);
  Value apply(PointOperation operation, Value a, Value b, Value c);
  /// The number of a constant value; nothing if it is not constant.
  std::optional<double> number(Value value) const;
  /// The operation that computes a value; null for coordinates and constants.
  const Step* step(Value value) const;
  /// The program that computes `results`; nothing if it would need too many registers.
  std::optional<PointProgram> finish(std::span<const Value> results) const;

 private:
  enum class Kind : std::uint8_t { coordinate, constant, step };
  struct Entry {
    Kind kind;
    std::size_t number;  ///< among the coordinates, constants or steps
  };

  std::vector<Entry> values_{{Kind::coordinate, 0}, {Kind::coordinate, 1}, {Kind::coordinate, 2}};
  std::vector<double> constants_;
  std::vector<Step> steps_;
  std::map<std::uint64_t, Value> value_of_constant_;  ///< by its bits
  std::map<Step, Value> value_of_step_;
};

}  // namespace femcg::operators
