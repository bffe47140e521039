#include "solver/fields/solution_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

#include "mesh/partition.hpp"
#include "mesh/vtu.hpp"
#include "mesh/vtu_grid.hpp"
#include "solver/case/case_output.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/cell_fields.hpp"
#include "solver/problem/load.hpp"

namespace femcg::solver {

namespace {

constexpr std::string_view piece_end = ".vtu";

std::string start_of(Pieces of) { return of == Pieces::solution ? "solution" : "boundary"; }

/// The rank of a piece's file; none of another.
std::optional<int> rank_of_piece(Pieces of, const std::string& name) {
  const std::string start = start_of(of) + "_";
  if (!name.starts_with(start) || !name.ends_with(piece_end)) return std::nullopt;
  int rank = 0;
  const char* end = name.data() + name.size() - piece_end.size();
  const auto [last, error] = std::from_chars(name.data() + start.size(), end, rank);
  return error == std::errc() && last == end && name == piece_name(of, rank) ? std::optional(rank) : std::nullopt;
}

std::string name_of_load(const Case& resolved, std::size_t load) {
  const std::vector<LoadData>& loads = resolved.problem.loads;
  return loads.empty() ? "" : loads[load].name;
}

/// The name of u of a load.
std::string solution_name(const Case& resolved, std::size_t load) {
  return name_in_file(OutputField::u, false, resolved.solution, name_of_load(resolved, load));
}

std::string solution_piece(const Case& resolved, const Problem& problem, const std::vector<std::int32_t>& cells,
                           int rank, const std::vector<std::vector<double>>& solutions) {
  const mesh::FunctionSpace& whole = *problem.form().space;
  const mesh::Mesh mesh = mesh::mesh_of_cells(whole.mesh(), cells);
  const mesh::FunctionSpace space(mesh, whole.degree());
  std::vector<std::vector<double>> values;
  for (const std::vector<double>& solution : solutions) {
    std::vector<double>& of_piece = values.emplace_back(space.dof_count());
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
      for (int a = 0; a < space.dofs_per_cell(); ++a)
        of_piece[space.dofs(cell)[a]] = solution[whole.dofs(cells[cell])[a]];
  }
  std::vector<mesh::PointField> fields;
  const auto add_field = [&](const std::string& name, const std::vector<double>& of) {
    fields.push_back({name, [&of] { return std::span<const double>(of); }, resolved.solution.unit});
  };
  for (std::size_t i = 0; i < values.size(); ++i) add_field(solution_name(resolved, i), values[i]);
  std::vector<double> exact, error;
  if (resolved.problem.exact) {
    exact = interpolate(FieldOnRegions(*resolved.problem.exact, "exact", mesh, std::nullopt), space);
    for (std::size_t i = 0; i < exact.size(); ++i) error.push_back(values.front()[i] - exact[i]);
    add_field("exact", exact);
    add_field("error", error);
  }
  const std::vector<std::int32_t> process(cells.size(), rank);
  const std::vector<mesh::CellField> of_cells{{"region", mesh.cell_regions}, {"process", process}};
  const std::vector<mesh::TextField> texts =
      resolved.output.boundary ? names_of_parts(whole.mesh()) : std::vector<mesh::TextField>();
  std::ostringstream stream;
  if (!resolved.output.degree) {
    mesh::write_vtu(stream, space, fields, of_cells, texts);
  } else {
    const FileCells all(*resolved.output.degree);
    const CellFields make(space, all);
    std::vector<mesh::CellwiseField> at_nodes;
    for (const mesh::PointField& field : fields)
      at_nodes.push_back({field.name, make.function(space, {field.values()}), 1, field.unit});
    mesh::write_vtu(stream, FilePoints(space, all).space(), at_nodes, of_cells, texts, all.kind());
  }
  return std::move(stream).str();
}

}  // namespace

std::string pieces_file(Pieces of) { return start_of(of) + ".pvtu"; }
std::string piece_name(Pieces of, int rank) { return fmt::format("{}_{}{}", start_of(of), rank, piece_end); }

std::string piece_text(Pieces of, const Case& resolved, const Problem& problem, int rank,
                       const std::vector<std::vector<double>>& solutions) {
  if (of == Pieces::boundary) {
    const BoundaryFile file(resolved, problem);
    std::ostringstream stream;
    file.write(stream, solutions);
    return file.empty() ? "" : std::move(stream).str();
  }
  const mesh::Mesh& mesh = problem.form().space->mesh();
  const FileCells to_write(resolved, mesh, problem.shared());
  std::vector<std::int32_t> cells(static_cast<std::size_t>(to_write.count(mesh)));
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = to_write.number(static_cast<std::int64_t>(i));
  return cells.empty() ? "" : solution_piece(resolved, problem, cells, rank, solutions);
}

std::string pieces_text(Pieces of, const Case& resolved, const std::vector<int>& ranks, std::size_t solutions) {
  std::vector<mesh::PieceArray> of_points, of_cells;
  for (std::size_t i = 0; i < solutions; ++i) {
    of_points.push_back({"Float64", solution_name(resolved, i), 1, resolved.solution.unit});
    if (of == Pieces::boundary) of_points.push_back({"Float64", normal_flux_name(name_of_load(resolved, i)), 1});
  }
  if (of == Pieces::boundary) {
    of_cells = {{"Int32", "group"}, {"Int32", "region"}};
  } else {
    if (resolved.problem.exact)
      for (const char* name : {"exact", "error"}) of_points.push_back({"Float64", name, 1, resolved.solution.unit});
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
  std::error_code unreadable;  // a folder that cannot be listed has nothing that could be removed
  for (const auto& entry : std::filesystem::directory_iterator(directory, unreadable)) {
    const std::string name = entry.path().filename().string();
    const std::optional<int> rank = rank_of_piece(of, name);
    if (rank && std::ranges::find(written, *rank) == written.end()) files.leave_out(name);
  }
}

}  // namespace femcg::solver
