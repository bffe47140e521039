#include "solver/run/discretisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "solver/messages/stopwatch.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

void require_memory_of_loads(const ProblemData& data, const mesh::FunctionSpace& space) {
  if (data.loads.empty()) return;
  const std::int64_t vectors = 2 * std::ssize(data.loads) + 1;  // values and solutions; one being assembled
  MemoryEstimate need;
  need.host_bytes = vectors * space.dof_count() * std::int64_t{sizeof(double)};
  require_memory(need, fmt::format("a case of {} loads", data.loads.size()));
}

void require_memory_of_box(const Case& resolved, int processes) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  if (box == nullptr) return;
  const int dimension = mesh::dimension(box->shape);
  double cells = mesh::cells_per_cuboid(box->shape), dofs = 1;
  for (int axis = 0; axis < dimension; ++axis) {
    const double along = std::ldexp(box->cells[axis], resolved.mesh.refine);
    cells *= along;
    dofs *= along * resolved.degree + 1;
  }
  // Regions of cells; unknowns and load of dofs.
  const double bytes = (sizeof(std::int32_t) * cells + (sizeof(std::int32_t) + sizeof(double)) * dofs) / processes;
  constexpr double most = 1e18;
  MemoryEstimate need;
  need.host_bytes = static_cast<std::int64_t>(std::min(bytes, most));
  require_memory(need, fmt::format("a box of {:.3g} cells, with {:.3g} dofs, alone", cells, dofs));
}

std::string operator_key(const Case& resolved) {
  Case of = resolved;
  const std::size_t loads = std::max<std::size_t>(1, of.problem.loads.size());
  of.title.clear();
  of.solution = {};
  of.problem.source = {Expression(0.0), {}, {}};
  for (BoundaryCondition& condition : of.problem.boundary) condition.value = condition.ambient = Expression(0.0);
  of.problem.points.clear();
  of.problem.symmetry = 1;
  of.problem.exact.reset();
  of.problem.loads.clear();
  of.solver.tolerance = SolverChoice().tolerance;
  of.solver.max_iterations = SolverChoice().max_iterations;
  of.solver.initial.clear();
  of.output = {};
  of.compare = {};
  of.sweep.clear();
  return fmt::format("{} loads\n{}", loads, to_yaml(of));
}

namespace {

std::string mesh_key(const Case& resolved) {
  Case of;
  of.mesh = resolved.mesh;
  of.distribution = resolved.distribution;
  return to_yaml(of);
}

std::string problem_key(const Case& resolved) {
  Case of = resolved;
  of.title.clear();
  of.solver = {};
  of.output = {};
  of.compare = {};
  of.sweep.clear();
  return to_yaml(of);
}

std::shared_ptr<const DiscreteProblem> make_problem(const ProblemData& data, const CachedParts& kept,
                                                    const RunContext& context, Record& record) {
  double& seconds = record.seconds.space;
  context.progress.step("assembling the load");
  auto made = timed(seconds, [&] { return std::make_shared<DiscreteProblem>(data, *kept.space, *kept.shared); });
  if (context.alone()) return made;
  context.progress.step("finding the interface");
  made->share = timed(seconds, [&] { return operators::subdomain_of(made->problem.form(), *kept.shared); });
  return made;
}

}  // namespace

void discretise(const Case& resolved, CachedParts& kept, DeviceStart& start, const RunContext& context,
                Record& record) {
  if (std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source)) start.begin();
  std::string of_mesh = mesh_key(resolved), of_problem = problem_key(resolved), of_operator = operator_key(resolved);
  std::string of_space = fmt::format("{}degree {}", of_mesh, resolved.degree);
  if (of_operator != kept.operator_key) kept.made.reset();
  if (of_problem != kept.problem_key) kept.discrete.reset();
  if (of_space != kept.space_key) {
    kept.shared.reset();
    kept.space.reset();
  }
  if (of_mesh != kept.mesh_key) kept.part.reset();
  if (!kept.part) {
    context.progress.step("meshing");
    require_memory_of_box(resolved, context.processes.size());
    kept.part = std::make_unique<const mesh::MeshPart>(timed(
        record.seconds.mesh, [&] { return make_mesh_part(resolved.mesh, resolved.distribution, context.processes); }));
    kept.mesh_key = std::move(of_mesh);
  }
  start.begin();
  if (!kept.space) {
    context.progress.step("numbering the unknowns");
    timed(record.seconds.space, [&] {
      kept.space = std::make_unique<const mesh::FunctionSpace>(
          make_space(kept.part->mesh, resolved.degree, resolved.mesh.place));
      kept.shared = context.alone()
                        ? std::make_unique<const operators::SharedDofs>()
                        : std::make_unique<const operators::SharedDofs>(context.processes, *kept.space, *kept.part);
    });
    kept.space_key = std::move(of_space);
  }
  require_memory_of_loads(resolved.problem, *kept.space);
  if (!kept.discrete) {
    kept.discrete = make_problem(resolved.problem, kept, context, record);
    kept.problem_key = std::move(of_problem);
  }
  kept.operator_key = std::move(of_operator);
}

}  // namespace femcg::solver
