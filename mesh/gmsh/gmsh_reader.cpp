#include "mesh/gmsh/gmsh_reader.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mesh/cell_quality.hpp"
#include "mesh/curved_cells.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"
#include "mesh/gmsh/check/file_bytes.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/check/msh_check.hpp"
#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/decks/whole_deck.hpp"
#include "mesh/gmsh/groups/group_rules.hpp"
#include "mesh/gmsh/imported_mesh.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "mesh/gmsh/process/gmsh_file.hpp"
#include "mesh/gmsh/process/gmsh_process.hpp"
#include "mesh/gmsh/raw/counted.hpp"
#include "mesh/refinement_limit.hpp"

namespace femcg::mesh {

namespace {

void check_options(const GmshOptions& options) {
  if (options.order < 1 || options.order > max_degree)
    throw std::runtime_error(fmt::format("the geometric order is {}, but must be 1 to {}", options.order, max_degree));
  if (options.refine < 0)
    throw std::runtime_error(fmt::format("the number of refinements is {}, but must not be negative", options.refine));
}

void check_shape(const GmshOptions& options, const Mesh& mesh) {
  if (is_tensor(mesh.shape) ? !options.simplices : !options.tensor_cells) return;
  throw std::runtime_error(fmt::format(
      "{} cells were asked for, but Recombine commands of the geometry make {}s: set mesh.cells to {}",
      options.tensor_cells ? "tensor" : "simplex", name(mesh.shape), options.tensor_cells ? "simplex" : "tensor"));
}

/// Conversion of the file's lengths to those of the mesh.
struct Lengths {
  std::optional<double> stated;  ///< metres per unit as the file states it, if known
  double taken = 1;              ///< metres per unit of its coordinates, as assumed
  double factor = 1;             ///< for the coordinates in Gmsh: metres from a STEP file, mm from an IGES file
};

Lengths lengths_of(const GmshOptions& options) {
  if (!(options.scale > 0) || !std::isfinite(options.scale))
    throw std::runtime_error(fmt::format("the scale is {}, but must be greater than 0", options.scale));
  const bool given = options.unit != "auto", converted = states_its_unit(options.file);
  Lengths lengths;
  if (given) lengths.taken = metres_of(options.unit);
  if (lengths.taken == 0) throw std::runtime_error(fmt::format("'{}' is no unit of length", options.unit));
  if (is_step_file(options.file)) lengths.stated = stated_metres(FileBytes(options.file).view());
  if (converted && !is_step_file(options.file)) lengths.stated = iges_metres(FileBytes(options.file).view());
  if (ending_of(options.file) == ".unv") lengths.stated = unv_metres(WholeDeck(options.file).text());
  if (converted && given && !lengths.stated)
    throw std::runtime_error(
        "mesh.unit cannot replace the unit that this file states, which is converted to metres: "
        "take mesh.scale to correct its lengths");
  if (!given) lengths.taken = lengths.stated.value_or(1);
  const double of_gmsh = is_step_file(options.file) ? 1 : 1e-3;
  lengths.factor = options.scale * (converted ? of_gmsh * lengths.taken / lengths.stated.value_or(1) : lengths.taken);
  return lengths;
}

/// Extents of a mesh: "0.06 x 0.06 x 0.036".
std::string measures(const Mesh& mesh) {
  const Extent extent = extent_of(mesh);
  std::string text;
  for (int axis = 0; axis < mesh.dimension(); ++axis)
    text += fmt::format("{}{:.4g}", axis == 0 ? "" : " x ", extent.along(axis));
  return text;
}

/// Warns which unit was assumed, unless the user gave it.
void warning_lengths(const GmshOptions& options, const Lengths& lengths, Mesh& mesh) {
  const bool given = options.unit != "auto", stated = states_its_unit(options.file) || lengths.stated;
  if (given && lengths.factor == 1 && !stated) return;
  std::string how;
  if (stated && given && lengths.taken != *lengths.stated)
    how = fmt::format("taken as {}, though the file states {}", options.unit, unit_name(*lengths.stated));
  else if (stated || given)
    how = (given || lengths.stated ? fmt::format("converted from {} ", unit_name(lengths.taken)) : "converted ") +
          std::string("to metres");
  else
    how = "taken as metres, since the file states no unit (mesh.unit)";
  if (options.scale != 1) how += fmt::format(" and multiplied by {}", options.scale);
  mesh.warnings.push_back(fmt::format("lengths were {}: the mesh measures {}", how, measures(mesh)));
}

/// Warns about options that apply to geometries only.
void warning_ignored_options(const GmshOptions& options, Mesh& mesh) {
  if (options.size) mesh.warnings.push_back("a cell size has no effect on a file that is meshed");
  if (options.order != 1 && options.order != mesh.order)
    mesh.warnings.push_back(
        fmt::format("order {} was asked for, but the cells in the file have order {}", options.order, mesh.order));
  if (options.tensor_cells && !is_tensor(mesh.shape))
    mesh.warnings.push_back(fmt::format("tensor cells were asked for, but the file has {} cells", name(mesh.shape)));
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

/// Moves the nodes of a cell to the positions they have for straight sides.
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

/// Straightens cells that Gmsh turned inside out by moving nodes onto the geometry. Moving nodes may tangle their
/// neighbours, so several sweeps may be needed.
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
    mesh.warnings.push_back(
        fmt::format("straightened {} turned inside out by the curved geometry: a smaller mesh.size avoids that",
                    counted(straightened, "cell")));
}

void validate_geometry_mesh(Mesh& mesh) {
  place_inner_nodes(mesh);
  straighten_tangled_cells(mesh);
  try {
    validate(mesh);
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    const bool shape = what.find("inverted") != std::string::npos;
    throw std::runtime_error(what + (shape ? "; a smaller mesh.size follows curved geometry better" : ""));
  }
}

/// Volume or area of all cells.
double measure_of(const Mesh& mesh) {
  const Quadrature rule = cell_quadrature(mesh.shape, mesh.dimension() * mesh.order / 2 + 1);
  const GeometryTables tables(mesh, rule.points);
  CellGeometry geometry(tables);
  double sum = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    geometry.move_to(mesh, cell);
    for (int q = 0; q < geometry.points(); ++q) sum += rule.weights[q] * std::abs(geometry.determinant(q));
  }
  return sum;
}

/// Warns if straight cells miss a noticeable part of a curved geometry. `of_geometry`: its volume or area; 0: unknown.
void note_measure(double of_geometry, Mesh& mesh) {
  if (of_geometry == 0) return;
  constexpr double least = 0.01;
  const double of_cells = measure_of(mesh), more = of_cells / of_geometry - 1;
  if (std::abs(more) < least) return;
  mesh.warnings.push_back(fmt::format(
      "the cells have {} {:.4g}, {:.2g}% {} than the {:.4g} of the geometry, whose curved {} they do not "
      "follow: take a smaller mesh.size{}",
      mesh.dimension() == 3 ? "a volume of" : "an area of", of_cells, 100 * std::abs(more), more < 0 ? "less" : "more",
      of_geometry, mesh.dimension() == 3 ? "faces" : "edges", mesh.order == 1 ? ", or mesh.order: 2" : ""));
}

/// Cell sizes at groups that are defined by rules. Their conditions and points refer to a mesh, so a preliminary mesh
/// is made: of the facets alone, unless a size applies to a region.
std::vector<EntitySize> sizes_of_rules(const GmshOptions& options, double factor) {
  int needed = 0;
  for (const auto& [name, size] : options.sizes)
    if (const auto rule = options.groups.find(name); rule != options.groups.end())
      needed = std::max(needed, rule->second.dimension);
  if (needed == 0) return {};
  GmshOptions first = options;
  first.order = 1;
  first.refine = 0;
  RawMesh raw = gmsh_raw_mesh(first, {factor, {}, true});
  if (needed == raw.dimension) raw = gmsh_raw_mesh(first, {factor, {}, false});
  std::vector<EntitySize> sizes;
  for (const auto& [name, size] : options.sizes)
    if (const auto rule = options.groups.find(name); rule != options.groups.end())
      for (const int entity : entities_of(raw, name, rule->second))
        sizes.push_back({rule->second.dimension, entity, size});
  return sizes;
}

/// Checks a .msh file before Gmsh reads it; files of other formats are not checked.
MshContents check_mesh_file(const std::filesystem::path& file) {
  return ending_of(file) == ".msh" ? check_msh_file(file) : MshContents();
}

/// Raw mesh of a file that is already meshed.
RawMesh raw_mesh_of(const GmshOptions& options, double factor, std::size_t partitions) {
  return is_deck(options.file) ? read_deck(options.file, factor)
                               : gmsh_raw_mesh(options, {factor, {}, false}, partitions);
}

/// Converts a raw mesh. `declared_nodes`: number of nodes that the file declares, since Gmsh silently drops nodes of
/// format 2 that no element uses.
using Convert = std::function<Mesh(const RawMesh& raw, std::size_t declared_nodes)>;

Mesh read_as(const GmshOptions& options, const Convert& convert) {
  check_options(options);
  const bool meshed = is_mesh_file(options.file);
  const Lengths lengths = lengths_of(options);
  if (!meshed) {
    check_commands(options.file);
    double measure = 0;
    const auto make = [&] {
      const RawMesh raw = gmsh_raw_mesh(options, {lengths.factor, sizes_of_rules(options, lengths.factor), false});
      measure = raw.measure;
      return convert(raw, 0);
    };
    Mesh mesh = make();
    check_shape(options, mesh);
    validate_geometry_mesh(mesh);
    warning_lengths(options, lengths, mesh);
    note_measure(measure, mesh);
    note_slivers(mesh);
    return mesh;
  }
  const MshContents contents = check_mesh_file(options.file);
  Mesh mesh = convert(raw_mesh_of(options, lengths.factor, contents.partitions), contents.nodes);
  mesh.warnings.insert(mesh.warnings.begin(), contents.warnings.begin(), contents.warnings.end());
  validate(mesh);
  warning_ignored_options(options, mesh);
  warning_lengths(options, lengths, mesh);
  note_slivers(mesh);
  check_refinement(mesh.cell_count(), mesh.dimension(), options.refine);
  for (int level = 0; level < options.refine; ++level) mesh = refine(mesh);
  return mesh;
}

Mesh read(const GmshOptions& options, const Convert& convert) {
  try {
    Mesh mesh = read_as(options, convert);
    if (has_options_beside(options.file))
      mesh.warnings.push_back(
          fmt::format("{}.opt, options of Gmsh's own programs, is not read", options.file.filename().string()));
    return mesh;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", options.file.string(), error.what()));
  }
}

}  // namespace

Mesh read_gmsh(const GmshOptions& options) {
  return read(options, [&](const RawMesh& raw, std::size_t nodes) { return to_mesh(raw, options, nodes); });
}

EntityMesh read_gmsh_entities(const GmshOptions& options) {
  EntityMesh made;
  made.mesh = read(options, [&](const RawMesh& raw, std::size_t nodes) {
    EntityMesh by_entity = to_entity_mesh(raw, options, nodes);
    made.regions = std::move(by_entity.regions);
    made.faces = std::move(by_entity.faces);
    return std::move(by_entity.mesh);
  });
  return made;
}

}  // namespace femcg::mesh
