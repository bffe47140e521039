#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "operators/forms/programs/point_operation.hpp"

namespace femcg::operators {

/// A function of x, y and z, or several, as a list of operations on registers: first the constants, then x, y and z,
/// then what operations make. Several points go through an operation before the next one, so that what an interpreter
/// costs is shared by all of them.
class PointProgram {
 public:
  using Register = std::uint16_t;
  struct Instruction {
    PointOperation operation;
    Register to;
    std::array<Register, 3> from;  ///< the last ones repeated where the operation takes fewer
  };

  PointProgram(double constant) : constants_{constant}, results_{0} {}  // NOLINT: a number is a function

  /// Values at points (count x 3, row by row), functions x count. Safe to call from several threads at once. A value
  /// depends on its point alone.
  void evaluate(std::span<const double> points, std::span<double> values) const;

  const std::vector<double>& constants() const { return constants_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  /// Behind the constants: x, y, z and others.
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

/// Makes a program, value by value: what is the same is computed once, and what is constant now.
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
  /// The number that a value is, where it is constant.
  std::optional<double> number(Value value) const;
  /// The operation that a value comes from, where it comes from one.
  const Step* step(Value value) const;
  /// The program that computes some values; nothing where a program has too few registers for them.
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
