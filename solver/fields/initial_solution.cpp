#include "solver/fields/initial_solution.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "mesh/vtu/vtu_reader.hpp"
#include "solver/case/case_output.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

InitialUnknowns initial_unknowns(const SolverChoice& solver, const SolutionLabel& label, const Problem& problem,
                                 std::span<const std::int32_t> cells) {
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
