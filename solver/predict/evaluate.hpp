#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// Arguments of `femcg predict --evaluate`.
struct EvaluationChoice {
  std::filesystem::path file;               ///< output file
  std::vector<std::filesystem::path> more;  ///< matrices, and cases, which are evaluated at degrees 1 to 4
  std::string device = "auto";
  Precision precision = Precision::double_;
};

/// `femcg predict --evaluate FILE.json`: predicts and measures products of the trained operators for matrices that no
/// model was trained on: generated ones, finite-element matrices of degrees 1 to 4 on boxes of every cell shape, and
/// the given ones. Prints a Markdown table of difference rates of the trained and of the bandwidth model, and writes
/// all numbers and how each matrix is made.
ExitStatus evaluate(const EvaluationChoice& choice, const Console& console, const StopRequested& stop);

}  // namespace femcg::solver
