#include "solver/prediction/iterations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "mesh/geometry.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

namespace {

/// Longest extent of the mesh over the mean size of its cells, each measured along the axes.
double cells_across(const mesh::Mesh& mesh) {
  const double extent = mesh::extent_of(mesh).largest();
  if (mesh.is_uniform_box()) return extent / mesh::extent_of(mesh, 0).largest();
  double sizes = 0;
#pragma omp parallel for schedule(static) reduction(+ : sizes)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) sizes += mesh::extent_of(mesh, cell).largest();
  return extent * mesh.cell_count() / sizes;
}

/// Largest number of cells for which CG is run with degree 1. Of several loads only the first is solved.
std::int64_t most_cells(std::size_t loads) { return loads > 1 ? 100'000 * static_cast<std::int64_t>(loads) : 40'000; }

/// Iterations of CG on the first load with degree 1; empty if the estimate is not based on them.
std::optional<std::int64_t> iterations_of_degree_1(const Problem& problem, const SolverChoice& solver) {
  const mesh::FunctionSpace& fine = *problem.form().space;
  if (!problem.shared().is_alone()) return std::nullopt;
  if (fine.degree() == 1 || fine.mesh().cell_count() > most_cells(problem.loads().size())) return std::nullopt;
  ProblemData data = problem.data();
  data.loads.clear();
  data.source = problem.loads().front().source();
  data.boundary = problem.loads().front().boundary();
  data.exact.reset();
  data.quadrature = 2;
  const mesh::FunctionSpace space(fine.mesh(), 1);
  const Problem coarse(data, space);
  if (coarse.form().unknowns == 0) return std::nullopt;
  const operators::ElementMatrices cells = operators::assemble_element_matrices(coarse.form());
  operators::Ingredients<double> from;
  from.form = &coarse.form();
  from.matrix = std::make_shared<const operators::CsrMatrix<double>>(operators::assemble<double>(coarse.form(), cells));
  const auto a = operators::find_operator("csr")->make<double>(from, {});
  const auto preconditioner = make_preconditioner(solver.preconditioner.name, *a, solver.preconditioner.options);
  CgOptions<double> options;
  options.tolerance = solver.tolerance;
  options.max_iterations = solver.max_iterations;
  options.preconditioner = preconditioner.get();
  std::vector<double> x;
  const CgResult result =
      conjugate_gradients(*a, scaled_load(coarse.load()).rounded<double>(operators::Device::host), x, options);
  if (result.reason != StopReason::converged || result.iterations == 0) return std::nullopt;
  return result.iterations;
}

}  // namespace

double expected_iterations(const operators::BilinearForm& form, double tolerance, std::int64_t most) {
  constexpr std::array constants{1.35, 1.85, 1.45, 2.5};  // quadrilaterals, triangles, hexahedra, tetrahedra
  const mesh::Mesh& mesh = form.space->mesh();
  const double p = form.space->degree(), across = p * cells_across(mesh);
  const double of_tolerance = std::log(2 / tolerance) / std::log(2e8);
  const double iterations = constants[static_cast<std::size_t>(mesh.shape)] * std::pow(p, 0.4) * across * of_tolerance;
  return std::clamp(iterations, 1.0, std::max(1.0, static_cast<double>(most)));
}

double expected_iterations(std::int64_t rows, std::int64_t most) {
  return std::clamp(2 * std::sqrt(static_cast<double>(rows)), 1.0, std::max(1.0, static_cast<double>(most)));
}

double expected_iterations(const Problem& problem, const SolverChoice& solver) {
  if (const double known = find_preconditioner(solver.preconditioner.name)->iterations; known > 0) return known;
  const auto of_degree_1 = iterations_of_degree_1(problem, solver);
  if (!of_degree_1) return expected_iterations(problem.form(), solver.tolerance, solver.max_iterations);
  const double iterations = static_cast<double>(*of_degree_1) * std::pow(problem.form().space->degree(), 1.3);
  return std::min(iterations, static_cast<double>(solver.max_iterations));
}

}  // namespace femcg::solver
