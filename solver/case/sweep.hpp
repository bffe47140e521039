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

/// One combination of the values of those axes of a sweep that belong to the case.
struct SweepPoint {
  Case resolved;
  std::map<std::string, std::string> values;  ///< by the axis's key
};

/// An operator with one combination of the values of those axes that are options of operators.
struct SweptOperator {
  OperatorChoice op;
  std::map<std::string, std::string> values;
};

/// Keys of the case that a sweep may call by one word, and their paths.
std::span<const std::pair<std::string_view, std::string_view>> sweep_words();

/// Reads a case once for every combination of the values in its section compare.sweep: a single point where it has
/// none. Points that need the same mesh and coefficients follow each other. Throws InputError where an axis is neither
/// a key of the case nor an option of a chosen operator, and where a value is wrong.
std::vector<SweepPoint> expand_sweep(const std::filesystem::path& file, const std::vector<Override>& overrides);

/// The points of a study (femcg run): the case of its file once for every combination of the values in its section
/// `sweep`, in the order written, the last key varying fastest. Throws InputError where a key cannot be swept, and
/// where a value is wrong.
std::vector<SweepPoint> expand_study(const Case& base, const std::vector<Override>& overrides);
/// The keys of its axes by their whole paths, in the order written; those of SweepPoint::values.
std::vector<std::string> study_keys(const Case& base);

/// True if a sweep of femcg compare has several preconditioners.
bool sweeps_preconditioners(const CompareChoice& choice);

/// The operators, each as often as there are combinations of the swept options that it has.
std::vector<SweptOperator> expand_operators(const CompareChoice& choice);

}  // namespace femcg::solver
