#include "solver/fields/initial_solution.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/vtu/vtu_reader.hpp"
#include "solver/case/case_output.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

/// Prescribed values of a load, extended from the boundary vertices into the adjacent cells by functions of degree 1,
/// with the value `inside` at free vertices.
std::vector<double> continued(const Problem& problem, const Load& load, double inside) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const mesh::CellShape shape = space.mesh().shape;
  const std::vector<int> vertices = mesh::Lattice(shape, space.degree()).vertex_nodes(),
                         of_linear = mesh::Lattice(shape, 1).vertex_nodes();
  const auto count = static_cast<int>(vertices.size());
  const auto number = [&](std::int32_t dof) { return problem.form().unknown_of_dof[static_cast<std::size_t>(dof)]; };
  std::vector<char> has_values(static_cast<std::size_t>(space.mesh().cell_count()));
  mesh::parallel_for(space.mesh().cell_count(), [&](std::int32_t cell) {
    has_values[static_cast<std::size_t>(cell)] =
        std::ranges::any_of(vertices, [&](int vertex) { return number(space.dof(cell, vertex)) < 0; }) ? 1 : 0;
  });
  const Eigen::MatrixXd at_nodes =
      mesh::LagrangeBasis(shape, 1, mesh::NodeFamily::gauss_lobatto).values(space.basis().nodes());
  std::vector<double> x = mesh::filled<double>(static_cast<std::size_t>(problem.form().unknowns));
  std::ranges::fill(x, inside);
  Eigen::VectorXd at_vertices(count);
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell) {
    if (has_values[static_cast<std::size_t>(cell)] == 0) continue;
    const auto dofs = space.dofs(cell);
    for (int k = 0; k < count; ++k) {
      const std::int32_t i = number(dofs[static_cast<std::size_t>(vertices[k])]);
      at_vertices[of_linear[k]] = i < 0 ? load.boundary_values()[static_cast<std::size_t>(-1 - i)] : inside;
    }
    const Eigen::VectorXd values = at_nodes * at_vertices;
    for (std::size_t node = 0; node < dofs.size(); ++node)
      if (const std::int32_t i = number(dofs[node]); i >= 0)
        x[static_cast<std::size_t>(i)] = values[static_cast<Eigen::Index>(node)];
  }
  return x;
}

/// Start of full multigrid. Its coarser levels have free unknowns only, where prescribed values act as the load of one
/// layer of the finest cells; a lower degree resolves this layer if the values decay linearly. Empty where nothing is
/// gained: for degree 1, for constant values, and if components of the mesh have constants of their own
/// (ConstantStart).
InitialUnknowns continued_values(const Problem& problem) {
  if (problem.form().space->degree() == 1 || problem.components() > 1) return {};
  std::vector<double> inside;
  bool varies = false;
  for (const Load& load : problem.loads()) {
    double least = std::numeric_limits<double>::max(), most = std::numeric_limits<double>::lowest();
    for (const double value : load.boundary_values()) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
    least = problem.shared().least(least);
    most = -problem.shared().least(-most);
    inside.push_back(least / 2 + most / 2);
    varies = varies || least < most;
  }
  InitialUnknowns unknowns;
  for (std::size_t i = 0; varies && i < inside.size(); ++i)
    unknowns.push_back(continued(problem, problem.loads()[i], inside[i]));
  return unknowns;
}

}  // namespace

InitialUnknowns initial_unknowns(const SolverChoice& solver, const SolutionLabel& label, const Problem& problem,
                                 std::span<const std::int32_t> cells) {
  if (solver.full_multigrid) return continued_values(problem);
  const std::filesystem::path& folder = solver.initial;
  if (folder.empty()) return {};
  const auto refuse = [&](const std::filesystem::path& what, const std::string& why) {
    throw InputError(
        at_place(solver.initial_place, fmt::format("solver.initial: {}: {}", in_quotes(what.string()), why)));
  };
  const std::filesystem::path file = folder / "solution.vtu";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    refuse(folder, "there is no such folder; give the results folder of an earlier run");
  if (std::filesystem::exists(folder / pieces_file(Pieces::solution), error))
    refuse(folder, "this is a solution in pieces, one of each process; give the results of a run of one process");
  if (!std::filesystem::exists(file, error))
    refuse(folder, "there is no solution.vtu in it; the earlier run needs output.vtu: true");
  InitialUnknowns unknowns;
  const auto count = static_cast<std::int64_t>(problem.shared().sum(problem.form().cells()));
  try {
    std::vector<std::string> fields;
    for (const Load& load : problem.loads()) fields.push_back(name_in_file(OutputField::u, false, label, load.name()));
    for (const std::vector<double>& dofs :
         mesh::VtuFile(file).coefficients(fields, *problem.form().space, {cells, count}))
      unknowns.push_back(problem.to_unknowns(dofs));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::runtime_error& failure) {
    refuse(file, failure.what());
  }
  return unknowns;
}

std::string begun_from(const SolverChoice& solver) {
  return fmt::format("CG began from the solution in {}", solver.initial.string());
}

}  // namespace femcg::solver
