#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "solver/case/case.hpp"

namespace femcg::solver {

/// One combination of values of the sweep axes that are keys of the case.
struct SweepPoint {
  Case resolved;
  std::map<std::string, std::string> values;  ///< by key of the axis
};

/// An operator with one combination of values of the sweep axes that are options of operators.
struct SweptOperator {
  OperatorChoice op;
  std::map<std::string, std::string> values;
};

/// Keys of the case that a sweep may name by one word, with their paths.
std::span<const std::pair<std::string_view, std::string_view>> sweep_words();

/// Reads a case once for every combination of the values in its section compare.sweep; a single point if there is none.
/// Points with the same mesh and coefficients are consecutive. Throws InputError if an axis is neither a key of the
/// case nor an option of a chosen operator, or if a value is wrong.
std::vector<SweepPoint> expand_sweep(const std::filesystem::path& file, const std::vector<Override>& overrides);

/// Points of a study (femcg run): the case for every combination of the values in its section `sweep`, in the order
/// written, the last key varying fastest. Throws InputError if a key cannot be swept or a value is wrong.
std::vector<SweepPoint> expand_study(const Case& base, const std::vector<Override>& overrides);
/// Full paths of the keys of its axes, in the order written; keys of SweepPoint::values.
std::vector<std::string> study_keys(const Case& base);

/// True if a sweep of femcg compare has several preconditioners.
bool sweeps_preconditioners(const CompareChoice& choice);

/// The operators, each with every combination of those swept options that it has.
std::vector<SweptOperator> expand_operators(const CompareChoice& choice);

}  // namespace femcg::solver
