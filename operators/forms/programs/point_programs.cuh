#pragma once

// Programs of functions of the point (point_program.hpp) on the GPU: one thread evaluates a program at a point,
// operation by operation. The threads of a warp mostly have the same program, and so take the same branches.

#include <algorithm>
#include <span>
#include <vector>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/launch.cuh"
#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators::cuda {

/// Most variables, x, y, z and results of operations, in local memory of each thread; most functions of a program.
constexpr int most_variables = 32;
constexpr int most_functions = 4;

/// A program as plain pointers.
struct PointProgramOnGpu {
  const PointProgram::Instruction* instructions;
  const double* constants;
  int instruction_count, constant_count;
  PointProgram::Register results[most_functions];

  /// Evaluates the first `count` functions.
  template <int d, int count>
  __device__ void operator()(const double (&point)[d], double (&values)[count]) const {
    double variables[most_variables];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) variables[axis] = axis < d ? point[axis < d ? axis : 0] : 0.0;
    const auto number = [&](int at) {
      return at < constant_count ? __ldg(constants + at) : variables[at - constant_count];
    };
    for (int k = 0; k < instruction_count; ++k) {
      const PointProgram::Instruction step = instructions[k];
      const double a = number(step.from[0]), b = number(step.from[1]), c = number(step.from[2]);
      double found = 0;
      with_operation(step.operation, [&]<PointOperation which>() { found = result_of<which>(a, b, c); });
      variables[step.to - constant_count] = found;
    }
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = number(results[k]);
  }
};

/// The programs of the regions of a mesh, on the GPU.
class PointPrograms {
 public:
  /// True if no program has too many variables or functions.
  static bool fit(std::span<const PointProgram> programs) {
    return std::ranges::all_of(programs, [](const PointProgram& each) {
      return each.variables() <= most_variables && each.results().size() <= most_functions;
    });
  }

  explicit PointPrograms(std::span<const PointProgram> from) {
    std::vector<PointProgram::Instruction> instructions;
    std::vector<double> constants;
    for (const PointProgram& each : from) {
      instructions.insert(instructions.end(), each.instructions().begin(), each.instructions().end());
      constants.insert(constants.end(), each.constants().begin(), each.constants().end());
    }
    instructions_ = on_gpu(instructions);
    constants_ = on_gpu(constants);
    std::vector<PointProgramOnGpu> programs;
    std::size_t instruction = 0, constant = 0;
    for (const PointProgram& each : from) {
      PointProgramOnGpu& program = programs.emplace_back();
      program = {instructions_.data() + instruction, constants_.data() + constant,
                 static_cast<int>(each.instructions().size()), static_cast<int>(each.constants().size())};
      std::ranges::copy(each.results(), program.results);
      instruction += each.instructions().size();
      constant += each.constants().size();
    }
    programs_ = on_gpu(programs);
  }

  /// Programs on the GPU, by region.
  const PointProgramOnGpu* by_region() const { return programs_.data(); }

 private:
  template <class T>
  static Vector<T> on_gpu(const std::vector<T>& numbers) {
    return copied(std::span<const T>(numbers), Device::cuda);
  }

  Vector<PointProgram::Instruction> instructions_;
  Vector<double> constants_;
  Vector<PointProgramOnGpu> programs_;
};

}  // namespace femcg::operators::cuda
