#pragma once

// What the points of a sweep have in common, of femcg compare on one process and on several.

#include <string>
#include <vector>

#include "mesh/mesh.hpp"
#include "solver/case/sweep.hpp"
#include "solver/problem/problem.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

/// Points of the same key have the same mesh and coefficients.
std::string key_of(Case resolved);
/// The values of a point, before what is done there.
std::string text_of(const SweepPoint& point);

/// Throws InputError where a comparison cannot have what the point's case asks of CG.
void check_point(const Case& resolved);

/// The case with the first of its loads, which is compared.
Case with_first_load(Case resolved);

/// What is to be said of a comparison before it begins.
std::vector<std::string> remarks_of(const Case& resolved, const mesh::Mesh& mesh, const Problem& problem,
                                    bool has_load);

/// What the records of all operators have alike; the problem has the first load.
Record common_record(const Case& resolved, const Problem& problem, const Seconds& seconds,
                     std::vector<std::string> remarks);

}  // namespace femcg::solver
