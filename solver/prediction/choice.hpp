#pragma once

#include <string>
#include <vector>

#include "solver/prediction/prediction.hpp"

namespace femcg::solver {

/// Operator of `operator: auto`, with the reason as one sentence.
struct OperatorDecision {
  OperatorChoice named = {};
  std::string why = {};
};

/// Decision of auto, by a rule in place of measured speeds (tables in cases/h200 and cases/predicting.md), for a problem of
/// which each of `processes` has one part; `of.iterations` and `of.available` are not read.
///
/// With multigrid and other preconditioners that leave few products: csr where their levels share a matrix, else
/// matrix-free. Several loads at once: csr, whose entries are read once for all; but matrix-free for
/// hexahedra (on the host of degree 4) and, on a GPU, for tetrahedra of degree 4. One load on a GPU: csr for few
/// unknowns of degree 1 to 3 in the plane, 1 and 2 of tetrahedra; simplices of degree 1 sell in the plane, csr in
/// space; else matrix-free. One load on the host: sell for simplices of degree 1 and 2 and for quadrilaterals of degree
/// 1; lma-gather for few unknowns of tetrahedra of degree 3 and 4; else matrix-free.
OperatorDecision decide(const PredictionInput& of, int processes);

/// Measured times of an operator, for evaluating auto.
struct Measured {
  std::string name;
  double product = 0, set_up = 0, iteration = 0;  ///< seconds; iteration 0 if only products were measured
  double seconds(double iterations) const { return iteration > 0 ? set_up + iterations * iteration : product; }
};
struct Regret {
  std::size_t chosen = 0, best = 0;  ///< indices into the measured operators
  double regret = 0;                 ///< seconds of the chosen over those of the best, minus 1
  bool of_solution = true;           ///< in time to solution; false: in time of a product
};
/// Regret of a choice against the best operator, for `iterations` iterations.
Regret regret_of(std::size_t chosen, const std::vector<Measured>& measured, double iterations);

}  // namespace femcg::solver
