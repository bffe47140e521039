#include "solver/case/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "operators/catalogue.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// Keys of the case that a sweep may name by their last word. Keys of the solver come last: they do not affect the mesh
/// and the coefficients, and vary fastest.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> short_keys{{
    {"degree", "degree"},
    {"quadrature", "quadrature"},
    {"refine", "mesh.refine"},
    {"cells", "mesh.box.cells"},
    {"cell", "mesh.box.cell"},
    {"dofs", "mesh.box.dofs"},
    {"distort", "mesh.box.distort"},
    {"precision", "solver.precision"},
    {"preconditioner", "solver.preconditioner"},
    {"cg", "solver.cg"},
    {"loop", "solver.loop"},
}};

/// Key of the case that an axis refers to; empty if it is none.
std::optional<std::string> case_key(const std::string& axis) {
  for (const auto& [word, key] : short_keys)
    if (axis == word) return std::string(key);
  if (axis.find('.') == std::string::npos) return std::nullopt;
  return axis;
}

/// Shortest name of a key of the case, used in reports.
std::string word_of(const std::string& key) {
  for (const auto& [word, known] : short_keys)
    if (key == known) return std::string(word);
  return key;
}

bool has_option(const OperatorChoice& choice, const std::string& option) {
  const auto options = operators::find_operator(choice.name)->options;
  return std::ranges::any_of(options, [&](const operators::OptionDescription& known) { return known.name == option; });
}

void check_axis(const SweepAxis& axis, const CompareChoice& compare) {
  if (const auto key = case_key(axis.key)) {
    for (const std::string_view section : {"compare.", "output.", "solver.device", "solver.operator"})
      if (key->starts_with(section))
        throw InputError(at_place(axis.place, fmt::format("{} cannot be swept; compare has operators and devices for "
                                                          "that",
                                                          in_quotes(axis.key))));
    return;
  }
  std::vector<std::string> known;
  bool found = false;
  for (const OperatorChoice& choice : compare.operators) {
    found = found || has_option(choice, axis.key);
    for (const operators::OptionDescription& option : operators::find_operator(choice.name)->options)
      if (std::ranges::find(known, option.name) == known.end()) known.emplace_back(option.name);
  }
  if (found) return;
  for (const auto& [word, key] : short_keys) known.emplace_back(word);
  throw InputError(
      at_place(axis.place, fmt::format("{} is neither a key of the case nor an option of a chosen operator{}",
                                       in_quotes(axis.key), did_you_mean(axis.key, known))));
}

constexpr double most_points = 10'000;

void check_number_of_points(const std::vector<SweepAxis>& axes) {
  double points = 1;
  for (const SweepAxis& axis : axes) points *= static_cast<double>(axis.values.size());
  if (points > most_points)
    throw InputError(
        at_place(axes.front().place, fmt::format("the sweep has {} points; {} are the most", points, most_points)));
}

/// All combinations of one value per axis, the last axis varying fastest.
std::vector<std::map<std::string, std::string>> combinations(const std::vector<SweepAxis>& axes) {
  check_number_of_points(axes);
  std::vector<std::map<std::string, std::string>> all{{}};
  for (const SweepAxis& axis : axes) {
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& combination : all)
      for (const std::string& value : axis.values) {
        longer.push_back(combination);
        longer.back()[axis.key] = value;
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> sweep_words() { return short_keys; }

std::vector<SweepPoint> expand_sweep(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  const Case base = read_case(file, overrides);
  std::vector<SweepAxis> axes;
  for (const SweepAxis& axis : base.compare.sweep) {
    check_axis(axis, base.compare);
    const auto key = case_key(axis.key);
    const auto same = [&](const SweepAxis& other) { return case_key(other.key) == key; };
    if (key && std::ranges::any_of(axes, same))
      throw InputError(at_place(axis.place, fmt::format("{} is swept twice; {} is short for it", in_quotes(*key),
                                                        in_quotes(key->substr(key->rfind('.') + 1)))));
    if (key) axes.push_back({word_of(*key), axis.values, axis.place});
  }
  std::stable_partition(axes.begin(), axes.end(),
                        [](const SweepAxis& axis) { return !case_key(axis.key)->starts_with("solver."); });
  std::vector<SweepPoint> points;
  for (const auto& values : combinations(axes)) {
    std::vector<Override> with_values = overrides;
    for (const SweepAxis& axis : axes) with_values.push_back({*case_key(axis.key), values.at(axis.key), axis.place});
    points.push_back({axes.empty() ? base : read_case(file, with_values), values});
  }
  return points;
}

std::vector<SweepPoint> expand_study(const Case& base, const std::vector<Override>& overrides) {
  std::vector<SweepAxis> axes;
  for (const SweepAxis& axis : base.sweep) {
    const bool of_top = case_keys().find(axis.key) != nullptr && axis.key != "compare" && axis.key != "sweep";
    const auto key = of_top ? std::optional(axis.key) : case_key(axis.key);
    for (const std::string_view section : {"compare.", "sweep.", "output.directory", "output.points"})
      if (key && key->starts_with(section))
        throw InputError(at_place(
            axis.place,
            fmt::format("{} cannot be swept by femcg run; it is the same for all points", in_quotes(axis.key))));
    if (!key) {
      std::vector<std::string> known = case_keys().key_names();
      for (const auto& [word, path] : short_keys) known.emplace_back(word);
      throw InputError(at_place(axis.place, fmt::format("{} is no key of the case that could be swept{}",
                                                        in_quotes(axis.key), did_you_mean(axis.key, known))));
    }
    if (std::ranges::find(axes, *key, &SweepAxis::key) != axes.end())
      throw InputError(at_place(axis.place, fmt::format("{} is swept twice", in_quotes(*key))));
    axes.push_back({*key, axis.values, axis.place});
  }
  std::vector<SweepPoint> points;
  for (const auto& values : combinations(axes)) {
    std::vector<Override> with_values = overrides;
    for (const SweepAxis& axis : axes) with_values.push_back({axis.key, values.at(axis.key), axis.place});
    points.push_back({read_case(base.file, with_values), values});
  }
  return points;
}

std::vector<std::string> study_keys(const Case& base) {
  std::vector<std::string> keys;
  for (const SweepAxis& axis : base.sweep)
    keys.push_back(case_keys().find(axis.key) != nullptr ? axis.key : case_key(axis.key).value_or(axis.key));
  return keys;
}

bool sweeps_preconditioners(const CompareChoice& choice) {
  return std::ranges::any_of(choice.sweep, [](const SweepAxis& axis) {
    const auto key = case_key(axis.key);
    return key && key->starts_with("solver.preconditioner") && axis.values.size() > 1;
  });
}

std::vector<SweptOperator> expand_operators(const CompareChoice& choice) {
  std::vector<SweptOperator> all;
  for (const OperatorChoice& op : choice.operators) {
    std::vector<SweepAxis> axes;
    for (const SweepAxis& axis : choice.sweep)
      if (!case_key(axis.key) && has_option(op, axis.key)) axes.push_back(axis);
    for (const auto& values : combinations(axes)) {
      SweptOperator swept{op, values};
      for (const auto& [option, value] : values) swept.op.options[option] = value;
      for (const SweepAxis& axis : axes) try {
          operators::check_options(*operators::find_operator(op.name), {{axis.key, values.at(axis.key)}});
        } catch (const std::invalid_argument& error) {
          throw InputError(at_place(axis.place, error.what()));
        }
      all.push_back(std::move(swept));
    }
  }
  return all;
}

}  // namespace femcg::solver
