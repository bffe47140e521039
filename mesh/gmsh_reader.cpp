#include "mesh/gmsh_reader.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>

#include "mesh/curved_cells.hpp"
#include "mesh/geometry.hpp"
#include "mesh/gmsh_file.hpp"
#include "mesh/gmsh_geometry.hpp"
#include "mesh/gmsh_groups.hpp"
#include "mesh/gmsh_model.hpp"
#include "mesh/gmsh_session.hpp"
#include "mesh/ordering.hpp"
#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

void check_options(const GmshOptions& options) {
  if (options.order < 1 || options.order > max_degree)
    throw std::runtime_error(fmt::format("the geometric order is {}, but must be 1 to {}", options.order, max_degree));
  if (options.refine < 0)
    throw std::runtime_error(fmt::format("the number of refinements is {}, but must not be negative", options.refine));
}

/// The cells of which an earlier one has the same vertices: format 2 repeats cells that are in several groups.
std::vector<char> repeated_cells(const Mesh& mesh) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const auto sorted_vertices = [&](std::int32_t cell) {
    std::array<std::int32_t, 8> key;
    key.fill(mesh.node_count());  // After every node.
    std::transform(vertices.begin(), vertices.end(), key.begin(), [&](int v) { return mesh.nodes(cell)[v]; });
    std::sort(key.begin(), key.end());
    return key;
  };
  // Cells with the same vertices have the same least one; few others do.
  std::vector<std::vector<std::int32_t>> by_least_vertex(mesh.node_count());
  std::vector<char> repeated(mesh.cell_count(), 0);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto key = sorted_vertices(cell);
    std::vector<std::int32_t>& others = by_least_vertex[key[0]];
    repeated[cell] =
        std::any_of(others.begin(), others.end(), [&](std::int32_t other) { return sorted_vertices(other) == key; });
    if (!repeated[cell]) others.push_back(cell);
  }
  return repeated;
}

void drop_repeated_cells(Mesh& mesh) {
  const std::vector<char> repeated = repeated_cells(mesh);
  const auto count = std::count(repeated.begin(), repeated.end(), 1);
  if (count == 0) return;
  std::int32_t kept = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (repeated[cell]) continue;
    std::copy_n(mesh.nodes(cell).begin(), mesh.nodes_per_cell(),
                mesh.cell_nodes.begin() + std::int64_t{kept} * mesh.nodes_per_cell());
    mesh.cell_regions[kept++] = mesh.cell_regions[cell];
  }
  mesh.cell_nodes.resize(std::size_t(kept) * mesh.nodes_per_cell());
  mesh.cell_regions.resize(kept);
  mesh.remarks.push_back(fmt::format("left out {} repeating another one", counted(count, "cell")));
}

void check_shape(const GmshOptions& options, const Mesh& mesh) {
  if (is_tensor(mesh.shape) == options.tensor_cells) return;
  throw std::runtime_error(fmt::format(
      "{} cells were asked for, but Recombine commands of the geometry make {}s: set mesh.cells to {}",
      options.tensor_cells ? "tensor" : "simplex", name(mesh.shape), options.tensor_cells ? "simplex" : "tensor"));
}

/// What was asked of a mesh file that only a geometry can give.
void remark_ignored_options(const GmshOptions& options, Mesh& mesh) {
  if (options.size) mesh.remarks.push_back("a cell size has no effect on a .msh file");
  if (options.order != 1 && options.order != mesh.order)
    mesh.remarks.push_back(
        fmt::format("order {} was asked for, but the cells in the file have order {}", options.order, mesh.order));
  if (options.tensor_cells && !is_tensor(mesh.shape))
    mesh.remarks.push_back(fmt::format("tensor cells were asked for, but the file has {} cells", name(mesh.shape)));
}

/// Cells whose Jacobian determinant changes sign.
std::vector<std::int32_t> tangled_cells(const Mesh& mesh) {
  const Eigen::MatrixXd lattice = LagrangeBasis(mesh.shape, mesh.order, NodeFamily::equispaced).nodes();
  const Eigen::MatrixXd gauss = cell_quadrature(mesh.shape, mesh.order + 1).points;
  Eigen::MatrixXd points(lattice.rows(), lattice.cols() + gauss.cols());
  points << lattice, gauss;
  const GeometryTables tables(mesh, points);
  CellGeometry geometry(tables);
  std::vector<std::int32_t> tangled;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    geometry.move_to(mesh, cell);
    const double first = geometry.determinant(0);
    bool same_sign = true;
    for (int q = 0; q < geometry.points(); ++q) same_sign = same_sign && geometry.determinant(q) * first > 0;
    if (!same_sign) tangled.push_back(cell);
  }
  return tangled;
}

/// Moves the nodes of a cell to where they would be if its sides were straight.
void straighten(Mesh& mesh, std::int32_t cell, const Eigen::MatrixXd& vertex_values, const std::vector<int>& vertices) {
  const int d = mesh.dimension();
  const auto nodes = mesh.nodes(cell);
  Eigen::MatrixXd corners(vertices.size(), d);
  for (std::size_t v = 0; v < vertices.size(); ++v)
    for (int i = 0; i < d; ++i) corners(v, i) = mesh.point(nodes[vertices[v]])[i];
  const Eigen::MatrixXd straight = vertex_values * corners;
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (int i = 0; i < d; ++i) mesh.coordinates[std::size_t(nodes[a]) * d + i] = straight(a, i);
}

/// Gmsh curves cells by moving nodes onto the geometry; where that turns a cell inside out, the cell is made straight
/// again. Its neighbours follow, so a few passes may be needed.
void straighten_tangled_cells(Mesh& mesh) {
  if (mesh.order == 1) return;
  const Eigen::MatrixXd nodes = LagrangeBasis(mesh.shape, mesh.order, NodeFamily::equispaced).nodes();
  const Eigen::MatrixXd vertex_values = LagrangeBasis(mesh.shape, 1, NodeFamily::equispaced).values(nodes);
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::size_t straightened = 0;
  constexpr int passes = 5;
  for (int pass = 0; pass < passes; ++pass) {
    const std::vector<std::int32_t> tangled = tangled_cells(mesh);
    if (tangled.empty()) break;
    for (const std::int32_t cell : tangled) straighten(mesh, cell, vertex_values, vertices);
    straightened += tangled.size();
  }
  if (straightened > 0)
    mesh.remarks.push_back(
        fmt::format("straightened {} turned inside out by the curved geometry: a smaller mesh.size avoids that",
                    counted(straightened, "cell")));
}

void validate_geometry_mesh(Mesh& mesh) {
  place_inner_nodes(mesh);
  straighten_tangled_cells(mesh);
  try {
    validate(mesh);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}; a smaller mesh.size follows curved geometry better", error.what()));
  }
}

Mesh read(const GmshOptions& options) {
  check_options(options);
  const bool is_mesh = is_mesh_file(options.file);
  Mesh mesh;
  std::size_t declared = 0;
  if (is_mesh) {
    gmsh::open(options.file.string());
    declared = declared_nodes(options.file);
  } else {
    mesh_geometry(options, mesh.remarks);
  }

  const GmshModel model = read_gmsh_model();
  const std::vector<std::int32_t> node_numbers = copy_cells(model, mesh);
  const std::size_t orphans = std::max(declared, model.node_count()) - mesh.node_count();
  if (is_mesh && orphans > 0)
    mesh.remarks.push_back(fmt::format("left out {} used by no cell", counted(orphans, "node")));
  assign_regions(model, options, mesh);
  drop_repeated_cells(mesh);
  assign_boundaries(model, options, node_numbers, mesh);
  if (!is_mesh) {
    check_shape(options, mesh);
    validate_geometry_mesh(mesh);
    return mesh;
  }
  validate(mesh);
  remark_ignored_options(options, mesh);
  check_refinement(mesh.cell_count(), mesh.dimension(), options.refine);
  for (int level = 0; level < options.refine; ++level) mesh = refine(mesh);
  return mesh;
}

/// "line 3: ..." instead of "'path/to/file', line 3: ..."
std::string without_file_name(const std::string& reason, const std::filesystem::path& file) {
  const std::string prefix = fmt::format("'{}', ", file.string());
  return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
}

}  // namespace

bool gmsh_available() { return true; }

std::string gmsh_version() {
  const GmshSession session;
  std::string version;
  gmsh::option::getString("General.Version", version);
  return version;
}

Mesh read_gmsh(const GmshOptions& options) {
  const GmshSession session;
  std::string reason;
  try {
    return read(options);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::runtime_error& error) {
    reason = error.what();
  } catch (...) {
    reason = gmsh_error();
    const std::string defect = options.file.extension() == ".msh" ? defect_of_mesh_file(options.file) : "";
    reason = defect.empty() ? "Gmsh could not read or mesh it: " + without_file_name(reason, options.file) : defect;
  }
  const std::string printed = session.printed();
  throw std::runtime_error(
      fmt::format("{}: {}{}", options.file.string(), reason, printed.empty() ? "" : " (" + printed + ")"));
}

}  // namespace femcg::mesh
