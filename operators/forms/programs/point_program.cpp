#include "operators/forms/programs/point_program.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "operators/forms/programs/point_loops.hpp"

namespace femcg::operators {

void PointProgram::evaluate(std::span<const double> points, std::span<double> values) const {
  const std::size_t points_count = points.size() / 3;
  if (points.size() % 3 != 0 || values.size() != points_count * results_.size())
    throw std::invalid_argument("PointProgram::evaluate needs three coordinates for each value");
  constexpr std::size_t most = 64;  // points of a block, whose registers stay in the cache
  static_assert(most % points_at_once == 0);
  thread_local std::vector<double> registers;
  const std::size_t constants = constants_.size();
  registers.resize((constants + static_cast<std::size_t>(variables_)) * most);
  const auto at = [&](std::size_t number) { return registers.data() + number * most; };
  const auto padded = [](std::size_t count) { return (count + points_at_once - 1) / points_at_once * points_at_once; };
  for (std::size_t k = 0; k < constants; ++k) std::fill_n(at(k), padded(std::min(most, points_count)), constants_[k]);
  for (std::size_t first = 0; first < points_count; first += most) {
    const std::size_t count = std::min(most, points_count - first), all = padded(count);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double* to = at(constants + axis);
      for (std::size_t i = 0; i < count; ++i) to[i] = points[3 * (first + i) + axis];
      std::fill(to + count, to + all, to[count - 1]);
    }
    for (const Instruction& step : instructions_)
      carry_out(step.operation, static_cast<int>(all), at(step.from[0]), at(step.from[1]), at(step.from[2]),
                at(step.to));
    for (std::size_t k = 0; k < results_.size(); ++k)
      std::copy_n(at(results_[k]), count, values.data() + k * points_count + first);
  }
}

PointProgramBuilder::Value PointProgramBuilder::constant(double number) {
  const auto [found, is_new] =
      value_of_constant_.try_emplace(std::bit_cast<std::uint64_t>(number), static_cast<Value>(values_.size()));
  if (is_new) {
    values_.push_back({Kind::constant, constants_.size()});
    constants_.push_back(number);
  }
  return found->second;
}

std::optional<double> PointProgramBuilder::number(Value value) const {
  const Entry& entry = values_[static_cast<std::size_t>(value)];
  if (entry.kind != Kind::constant) return std::nullopt;
  return constants_[entry.number];
}

PointProgramBuilder::Value PointProgramBuilder::apply(PointOperation operation, Value a) {
  return apply(operation, a, a, a);
}
PointProgramBuilder::Value PointProgramBuilder::apply(PointOperation operation, Value a, Value b) {
  return apply(operation, a, b, b);
}

PointProgramBuilder::Value PointProgramBuilder::apply(PointOperation operation, Value a, Value b, Value c) {
  if (const auto first = number(a), second = number(b), third = number(c); first && second && third) {
    std::array<double, points_at_once> x, y, z;
    x.fill(*first);
    y.fill(*second);
    z.fill(*third);
    carry_out(operation, points_at_once, x.data(), y.data(), z.data(), x.data());
    return constant(x[0]);
  }
  const Step step{operation, {a, b, c}};
  const auto [found, is_new] = value_of_step_.try_emplace(step, static_cast<Value>(values_.size()));
  if (is_new) {
    values_.push_back({Kind::step, steps_.size()});
    steps_.push_back(step);
  }
  return found->second;
}

const PointProgramBuilder::Step* PointProgramBuilder::step(Value value) const {
  const Entry& entry = values_[static_cast<std::size_t>(value)];
  return entry.kind == Kind::step ? &steps_[entry.number] : nullptr;
}

std::optional<PointProgram> PointProgramBuilder::finish(std::span<const Value> results) const {
  constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  // A register is free after the last step that reads it.
  std::vector<std::size_t> last_read(values_.size(), nowhere);
  for (const Value result : results) last_read[static_cast<std::size_t>(result)] = steps_.size();
  for (auto value = static_cast<Value>(values_.size()) - 1; value >= 0; --value) {
    const Step* made_by = step(value);
    if (made_by == nullptr || last_read[static_cast<std::size_t>(value)] == nowhere) continue;  // no result needs it
    for (const Value from : made_by->from) {
      std::size_t& last = last_read[static_cast<std::size_t>(from)];
      const std::size_t now = values_[static_cast<std::size_t>(value)].number;
      if (last == nowhere) last = now;
    }
  }
  PointProgram program;
  std::vector<std::size_t> register_of(values_.size());
  for (std::size_t value = 0; value < values_.size(); ++value)
    if (values_[value].kind == Kind::constant && last_read[value] != nowhere) {
      register_of[value] = program.constants_.size();
      program.constants_.push_back(constants_[values_[value].number]);
    }
  const std::size_t constants = program.constants_.size();
  for (std::size_t axis = 0; axis < 3; ++axis) register_of[axis] = constants + axis;
  std::vector<std::size_t> free;
  std::size_t registers = constants + 3;
  for (std::size_t value = 0; value < values_.size(); ++value) {
    const Step* made_by = step(static_cast<Value>(value));
    if (made_by == nullptr || last_read[value] == nowhere) continue;
    PointProgram::Instruction instruction{made_by->operation, 0, {}};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto from = static_cast<std::size_t>(made_by->from[k]);
      instruction.from[k] = static_cast<PointProgram::Register>(register_of[from]);
      const bool repeated =
          k > 0 && std::find(made_by->from.begin(), made_by->from.begin() + static_cast<std::ptrdiff_t>(k),
                             made_by->from[k]) != made_by->from.begin() + static_cast<std::ptrdiff_t>(k);
      if (step(made_by->from[k]) != nullptr && last_read[from] == values_[value].number && !repeated)
        free.push_back(register_of[from]);
    }
    if (free.empty()) free.push_back(registers++);
    register_of[value] = free.back();
    free.pop_back();
    instruction.to = static_cast<PointProgram::Register>(register_of[value]);
    program.instructions_.push_back(instruction);
  }
  if (registers > std::numeric_limits<PointProgram::Register>::max()) return std::nullopt;
  program.variables_ = static_cast<int>(registers - constants);
  for (const Value result : results)
    program.results_.push_back(static_cast<PointProgram::Register>(register_of[static_cast<std::size_t>(result)]));
  return program;
}

}  // namespace femcg::operators
