#include "solver/compare/compare_points.hpp"

#include <fmt/format.h>

#include <utility>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/problem_size.hpp"

namespace femcg::solver {

std::string key_of(Case resolved) {
  resolved.solver = {};
  resolved.output = {};
  resolved.compare = {};
  return to_yaml(resolved);
}

std::string text_of(const SweepPoint& point) {
  std::string text;
  for (const auto& [key, value] : point.values) text += fmt::format("{} {}, ", key, value);
  return text;
}

void check_point(const Case& resolved) {
  if (resolved.solver.precision == Precision::mixed)
    throw InputError(at_place(resolved.solver.precision_place,
                              "femcg compare times products and iterations, which in mixed precision are those of "
                              "single precision: use solver.precision: single or double"));
  const bool several = resolved.compare.right_hand_sides.back() > 1;
  if (!several && takes_several(resolved.solver.method))
    throw InputError(at_place(resolved.solver.method_place,
                              fmt::format("solver.cg: {} is for several right-hand sides; say how many in "
                                          "compare.right_hand_sides, such as [1, 8]",
                                          name(resolved.solver.method))));
  const CgLoop loop = resolved.solver.loop;
  if (several && (is_for_one_system(loop) || has_one_sum(resolved.solver.method)))
    throw InputError(
        at_place(resolved.compare.right_hand_sides_place,
                 fmt::format("CG for several right-hand sides has no {}; leave out one of the two",
                             loop == CgLoop::resident ? "loop inside one kernel (solver.loop: resident)"
                             : loop == CgLoop::merged ? "passes inside the product (solver.loop: merged)"
                                                      : fmt::format("solver.cg: {}", name(resolved.solver.method)))));
}

Case with_first_load(Case resolved) {
  std::vector<LoadData>& loads = resolved.problem.loads;
  if (loads.size() > 1) loads.erase(loads.begin() + 1, loads.end());
  return resolved;
}

std::vector<std::string> remarks_of(const Case& resolved, const mesh::Mesh& mesh, const Problem& problem,
                                    bool has_load) {
  std::vector<std::string> all = mesh.remarks;
  all.insert(all.end(), problem.remarks().begin(), problem.remarks().end());
  if (const std::size_t loads = resolved.problem.loads.size(); loads > 1)
    all.push_back(fmt::format("of {} loads the first, {}, is taken", loads, in_quotes(problem.loads().front().name())));
  if (!has_load) all.emplace_back("products only, no CG: the right-hand side is zero");
  return all;
}

Record common_record(const Case& resolved, const Problem& problem, const Seconds& seconds,
                     std::vector<std::string> remarks) {
  Record common;
  common.command = "compare";
  common.case_file = resolved.file.string();
  common.title = resolved.title;
  common.set = resolved.set;
  common.started = timestamp();
  common.machine = this_machine();
  common.problem = size_of(problem);
  common.seconds = seconds;
  common.remarks = std::move(remarks);
  return common;
}

}  // namespace femcg::solver
