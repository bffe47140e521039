#pragma once

#include <vector>

#include "solver/benchmark/comparison.hpp"
#include "solver/case/sweep.hpp"

namespace femcg::solver {

/// Who takes part: every operator on every device.
struct EntryChoice {
  std::vector<SweptOperator> operators;
  bool all_operators = false;        ///< those that do not apply are left out rather than shown with the reason
  std::vector<std::string> devices;  ///< auto, cpu, cuda
  bool matrix_only = false;          ///< there is no mesh
};

/// Throws MachineError where a GPU is asked for and there is none, InputError where no operator applies.
std::vector<BenchmarkEntry> choose_entries(const EntryChoice& choice);

}  // namespace femcg::solver
