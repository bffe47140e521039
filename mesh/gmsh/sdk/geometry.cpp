#include "mesh/gmsh/sdk/geometry.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "mesh/gmsh/process/gmsh_file.hpp"
#include "mesh/gmsh/raw/counted.hpp"
#include "mesh/gmsh/sdk/improvement.hpp"
#include "mesh/gmsh/sdk/model.hpp"
#include "mesh/gmsh/sdk/sewing.hpp"
#include "mesh/gmsh/sdk/sizes.hpp"
#include "mesh/refinement_limit.hpp"

namespace femcg::mesh {

namespace {

void set(const char* option, double value) { gmsh::option::setNumber(option, value); }

std::int64_t element_count(int dimension, int tag) {
  std::vector<int> types;
  std::vector<std::vector<std::size_t>> elements, nodes;
  gmsh::model::mesh::getElements(types, elements, nodes, dimension, tag);
  std::int64_t count = 0;
  for (const auto& of_type : elements) count += static_cast<std::int64_t>(of_type.size());
  return count;
}

/// Joins the solids of a CAD file: each has faces of its own, even where they touch, so that without joining nothing
/// flows across.
void join_touching_parts(int dimension, std::vector<std::string>& warnings) {
  gmsh::vectorpair parts, before, after;
  gmsh::model::getEntities(parts, dimension);
  if (parts.size() < 2) return;
  gmsh::model::getEntities(before, dimension - 1);
  gmsh::model::occ::removeAllDuplicates();
  gmsh::model::occ::synchronize();
  gmsh::model::getEntities(after, dimension - 1);
  if (after.size() < before.size())
    warnings.push_back(
        fmt::format("joined {} at {}", counted(parts.size(), dimension == 3 ? "solid" : "surface"),
                    counted(before.size() - after.size(), dimension == 3 ? "shared face" : "shared edge")));
}

/// Discards the mesh that a .geo file may have made, unless its geometry is that mesh.
void clear_mesh() {
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities);
  for (const auto& [dimension, tag] : entities) {
    std::string type;
    gmsh::model::getType(dimension, tag, type);
    if (type.starts_with("Discrete")) return;
  }
  gmsh::model::mesh::clear();
}

void generate(int dimension) {
  clear_mesh();
  gmsh::model::mesh::generate(dimension);
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, dimension);
  for (const auto& [d, tag] : entities)
    if (element_count(d, tag) == 0)
      throw std::runtime_error(
          fmt::format("{} {} of the geometry could not be meshed: try another size, or look at it in Gmsh",
                      d == 3 ? "volume" : "surface", tag));
  if (dimension == 3) improve_tetrahedra();
}

bool all_tensor_cells(int dimension) {
  std::vector<int> types;
  gmsh::model::mesh::getElementTypes(types, dimension);
  return std::all_of(types.begin(), types.end(),
                     [&](int type) { return element_type(type).corners == 1 << dimension; });
}

/// Makes quadrilaterals or hexahedra, directly if the geometry is prepared for it (transfinite, or extruded in layers
/// with Recombine). Otherwise meshes twice as coarsely with any cells and splits all of them into tensor cells.
void generate_tensor_cells(int dimension) {
  if (dimension == 2) set("Mesh.RecombineAll", 1);
  generate(dimension);
  if (all_tensor_cells(dimension)) return;
  double factor = 1;
  gmsh::option::getNumber("Mesh.MeshSizeFactor", factor);
  set("Mesh.MeshSizeFactor", 2 * factor);
  generate(dimension);
  constexpr int all_quadrilaterals = 1, all_hexahedra = 2;
  set("Mesh.SubdivisionAlgorithm", dimension == 2 ? all_quadrilaterals : all_hexahedra);
  gmsh::model::mesh::refine();
  set("Mesh.SubdivisionAlgorithm", 0);
}

int open_geometry(const GmshOptions& options, std::vector<std::string>& warnings) {
  // OpenCASCADE accepts this option only before reading a STEP file; IGES files are converted to millimetres.
  if (is_step_file(options.file)) gmsh::option::setString("Geometry.OCCTargetUnit", "M");
  gmsh::open(options.file.string());
  if (holds_cad_solids(options.file)) sew_surfaces(warnings);
  const int dimension = gmsh::model::getDimension();
  if (dimension < 2) throw std::runtime_error("the geometry has no surface and no volume to be meshed");
  if (holds_cad_solids(options.file)) join_touching_parts(dimension, warnings);
  return dimension;
}

/// Warns that nodes of periodic faces or edges (Periodic) remain separate dofs.
void warning_periodic(int dimension, std::vector<std::string>& warnings) {
  gmsh::vectorpair sides;
  gmsh::model::getEntities(sides, dimension - 1);
  for (const auto& [d, tag] : sides) {
    int master = tag;
    std::vector<std::size_t> nodes, master_nodes;
    std::vector<double> map;
    gmsh::model::mesh::getPeriodicNodes(d, tag, master, nodes, master_nodes, map);
    if (master == tag) continue;
    warnings.push_back(
        "left out Periodic: there are no periodic conditions here, and the nodes that it pairs stay apart");
    return;
  }
}

}  // namespace

void mesh_geometry(const GmshOptions& options, const MeshingPlan& plan, std::vector<std::string>& warnings) {
  const int dimension = open_geometry(options, warnings);
  choose_sizes(options, plan, warnings);
  set("Mesh.ElementOrder", 1);
  set("Mesh.SecondOrderLinear", 0);
  set("Mesh.SecondOrderIncomplete", 0);
  set("Mesh.SubdivisionAlgorithm", 0);
  set("Mesh.RecombineAll", 0);
  if (plan.facets_only) {
    clear_mesh();
    return gmsh::model::mesh::generate(dimension - 1);
  }
  if (options.tensor_cells) {
    generate_tensor_cells(dimension);
  } else {
    generate(dimension);
  }
  // Refining before raising the order puts the new nodes on the geometry.
  check_refinement(element_count(dimension, -1), dimension, options.refine);
  for (int level = 0; level < options.refine; ++level) gmsh::model::mesh::refine();
  if (options.order > 1) raise_order(options.order);
  warning_periodic(dimension, warnings);
}

}  // namespace femcg::mesh
