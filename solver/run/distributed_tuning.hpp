#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

/// What CG over all processes came to on the first load while settings were tried.
template <std::floating_point T>
struct BegunTogether {
  CgState<T> state;
  std::vector<double> x;
};

/// Run-time tuning over all processes where the case insists on it (solver.tune: on): the first products of CG on the
/// first load, each with a setting that all have, timed by the slowest process. What is found takes the operator's
/// place. Nothing is kept of it, nor taken of what one process keeps: from run to run several processes come to the
/// same bits unless they are asked to tune. `start`: what CG begins from; empty: 0. Together.
template <std::floating_point T>
std::optional<BegunTogether<T>> tune(const SharedRun& of, std::span<const double> start, MadeTogether<T>& made,
                                     const StopRequested& stop, Progress& progress, Record& record);

}  // namespace femcg::solver
