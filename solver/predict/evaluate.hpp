#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// What `femcg predict --evaluate` is asked for.
struct EvaluationChoice {
  std::filesystem::path file;               ///< what is written
  std::vector<std::filesystem::path> more;  ///< matrices, and cases, which are taken at degree 1 to 4
  std::string device = "auto";
  Precision precision = Precision::double_;
};

/// `femcg predict --evaluate FILE.json`: predicts and measures products of the trained operators with matrices that no
/// model was trained on: generated ones, those of finite elements of degree 1 to 4 on boxes of every shape of cell, and
/// what else is named. Prints a table of difference rates by the trained model and by the bandwidth model, in Markdown,
/// and writes all numbers, with how each matrix is made.
ExitStatus evaluate(const EvaluationChoice& choice, const Console& console, const StopRequested& stop);

}  // namespace femcg::solver
