#include "solver/fields/solution_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "mesh/base/pages.hpp"
#include "mesh/parts/partition.hpp"
#include "mesh/vtu/vtu.hpp"
#include "mesh/vtu/vtu_grid.hpp"
#include "solver/case/case_output.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/cell_fields.hpp"
#include "solver/problem/load.hpp"

namespace femcg::solver {

namespace {

constexpr std::string_view piece_end = ".vtu";

std::string start_of(Pieces of) { return of == Pieces::solution ? "solution" : "boundary"; }

/// Rank of a piece's file; empty for any other file.
std::optional<int> rank_of_piece(Pieces of, const std::string& name) {
  const std::string start = start_of(of) + "_";
  if (!name.starts_with(start) || !name.ends_with(piece_end)) return std::nullopt;
  int rank = 0;
  const char* end = name.data() + name.size() - piece_end.size();
  const auto [last, error] = std::from_chars(name.data() + start.size(), end, rank);
  return error == std::errc() && last == end && name == piece_name(of, rank) ? std::optional(rank) : std::nullopt;
}

std::string name_of_load(const ProblemData& problem, std::size_t load) {
  const std::vector<LoadData>& loads = problem.loads;
  return loads.empty() ? "" : loads[load].name;
}

/// Name of u for a load.
std::string solution_name(const SolutionLabel& label, const ProblemData& problem, std::size_t load) {
  return name_in_file(OutputField::u, false, label, name_of_load(problem, load));
}

/// Values at a piece's dofs, from those at all dofs of the part.
std::vector<double> of_piece(std::span<const double> all, const mesh::FunctionSpace& whole,
                             const std::vector<std::int32_t>& cells, const mesh::FunctionSpace& piece) {
  std::vector<double> some = mesh::filled<double>(static_cast<std::size_t>(piece.dof_count()));
#pragma omp parallel for schedule(static)
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const auto to = piece.dofs(static_cast<std::int32_t>(cell)), from = whole.dofs(cells[cell]);
    for (std::size_t a = 0; a < to.size(); ++a)  // cells that share a dof write the same to it
      std::atomic_ref(some[to[a]]).store(all[from[a]], std::memory_order_relaxed);
  }
  return some;
}

}  // namespace

std::string pieces_file(Pieces of) { return start_of(of) + ".pvtu"; }
std::string piece_name(Pieces of, int rank) { return fmt::format("{}_{}{}", start_of(of), rank, piece_end); }

SolutionPiece::SolutionPiece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, int rank,
                             mesh::FileGroup* files)
    : output_(&output),
      label_(&label),
      problem_(&problem),
      rank_(rank),
      files_(files),
      cells_(output, problem.form().space->degree(), problem.form().space->mesh(), problem.shared()) {}

bool SolutionPiece::has_cells() const { return cells_.count(problem_->form().space->mesh()) > 0; }

std::string SolutionPiece::text(std::span<const std::vector<double>> solutions) {
  if (!has_cells()) return "";
  if (files_ != nullptr) {
    files_->add(piece_name(Pieces::solution, rank_), [&](std::ostream& file) { write(file, solutions); });
    return "";
  }
  std::ostringstream text;
  write(text, solutions);
  return std::move(text).str();
}

void SolutionPiece::write(std::ostream& stream, std::span<const std::vector<double>> all_solutions) const {
  const std::size_t solutions = all_solutions.size();
  const ProblemData& problem = problem_->data();
  const mesh::FunctionSpace& whole = *problem_->form().space;
  const bool some = cells_.numbers != nullptr;  // otherwise the piece is the whole part
  const mesh::Mesh mesh_of_some = some ? mesh::mesh_of_cells(whole.mesh(), *cells_.numbers) : mesh::Mesh();
  std::optional<mesh::FunctionSpace> space_of_some;
  if (some) space_of_some.emplace(mesh_of_some, whole.degree());
  const mesh::FunctionSpace& space = some ? *space_of_some : whole;
  std::vector<std::vector<double>> of_some(solutions);
  std::vector<std::span<const double>> values(solutions + 2);  // solutions, exact solution, error
  std::vector<double> exact, error;
  for (std::size_t i = 0; i < solutions; ++i) {
    if (some) of_some[i] = of_piece(all_solutions[i], whole, *cells_.numbers, space);
    values[i] = some ? of_some[i] : all_solutions[i];
  }
  if (problem.exact) {
    exact = interpolate(FieldOnRegions(*problem.exact, "exact", space.mesh(), std::nullopt), space);
    for (std::size_t i = 0; i < exact.size(); ++i) error.push_back(values.front()[i] - exact[i]);
    values[solutions] = exact;
    values[solutions + 1] = error;
  }
  std::vector<mesh::PointField> fields;
  const auto add_field = [&](const std::string& name, std::size_t number) {
    fields.push_back({name, values[number], label_->unit});
  };
  for (std::size_t i = 0; i < solutions; ++i) add_field(solution_name(*label_, problem, i), i);
  if (problem.exact) {
    add_field("exact", solutions);
    add_field("error", solutions + 1);
  }
  const std::vector<std::int32_t> process(static_cast<std::size_t>(space.mesh().cell_count()), rank_);
  const std::vector<mesh::CellField> of_cells{{"region", space.mesh().cell_regions}, {"process", process}};
  const std::vector<mesh::TextField> texts = names_of_parts(whole.mesh());
  if (!output_->degree) {
    mesh::write_vtu(stream, space, fields, of_cells, texts);
  } else {
    const FileCells all(*output_->degree);
    const CellFields make(space, all);
    std::vector<mesh::CellwiseField> at_nodes;
    for (const mesh::PointField& field : fields)
      at_nodes.push_back({field.name, make.function(space, {field.values}), 1, field.unit});
    mesh::write_vtu(stream, FilePoints(space, all).space(), at_nodes, of_cells, texts, all.kind());
  }
}

std::string boundary_piece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                           std::span<const std::vector<double>> solutions) {
  const BoundaryFile file(output, label, problem);
  std::ostringstream stream;
  file.write(stream, solutions);
  return file.empty() ? "" : std::move(stream).str();
}

std::string pieces_text(Pieces of, const SolutionLabel& label, const ProblemData& problem,
                        const std::vector<int>& ranks, std::size_t solutions) {
  std::vector<mesh::PieceArray> of_points, of_cells;
  for (std::size_t i = 0; i < solutions; ++i) {
    of_points.push_back({"Float64", solution_name(label, problem, i), 1, label.unit});
    if (of == Pieces::boundary) of_points.push_back({"Float64", normal_flux_name(name_of_load(problem, i)), 1});
  }
  if (of == Pieces::boundary) {
    of_cells = {{"Int32", "group"}, {"Int32", "region"}};
  } else {
    if (problem.exact)
      for (const char* name : {"exact", "error"}) of_points.push_back({"Float64", name, 1, label.unit});
    of_cells = {{"Int32", "region"}, {"Int32", "process"}};
  }
  std::vector<std::string> pieces;
  for (const int rank : ranks) pieces.push_back(piece_name(of, rank));
  std::ostringstream stream;
  mesh::write_pieces(stream, of_points, of_cells, pieces);
  return std::move(stream).str();
}

void leave_out_pieces(Pieces of, const std::filesystem::path& directory, const std::vector<int>& written,
                      mesh::FileGroup& files) {
  std::error_code unreadable;  // a folder that cannot be listed has nothing to remove
  for (const auto& entry : std::filesystem::directory_iterator(directory, unreadable)) {
    const std::string name = entry.path().filename().string();
    const std::optional<int> rank = rank_of_piece(of, name);
    if (rank && std::ranges::find(written, *rank) == written.end()) files.leave_out(name);
  }
}

}  // namespace femcg::solver
