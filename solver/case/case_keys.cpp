#include "solver/case/case_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "mesh/box/box.hpp"
#include "mesh/element/cell_shape.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "operators/backend/multi_vector.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

namespace {

using enum ValueKind;

NumberRule whole_from(std::int64_t least, std::int64_t largest) {
  return {.words = "a whole number", .least = static_cast<double>(least), .largest = static_cast<double>(largest)};
}

std::vector<std::string> cell_names() {
  std::vector<std::string> names;
  for (const mesh::CellShape shape : mesh::all_cell_shapes) names.emplace_back(mesh::name(shape));
  return names;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const OutputField field : all_output_fields) names.emplace_back(name(field));
  return names;
}

constexpr std::string_view of_lengths = "that of the lengths in the mesh; m for STEP and IGES files";
constexpr std::string_view of_solution = "that of u";

KeyDescription box() {
  const KeyDescription axis_cells{"", whole, "Cells along an axis", {}, {}, whole_from(1, largest_int)};
  const KeyDescription axis_size{"", number, "Length of an edge", {}, of_lengths, positive_number};
  const NumberRule distortion{"a number from 0 to 0.3", 0, mesh::most_distortion(mesh::CellShape::quadrilateral)};
  return {
      .name = "box",
      .kind = map,
      .meaning =
          "A rectangle or a box of equal cells, instead of a file; its sides are left right bottom top back "
          "front",
      .inside =
          {
              {.name = "cells",
               .kind = list,
               .meaning = "Cells along x, y and, in space, z",
               .fewest = 2,
               .most = 3,
               .inside = {axis_cells}},
              {.name = "dofs",
               .kind = whole,
               .meaning = "Number of degrees of freedom, about, instead of cells",
               .rule = whole_from(1, largest_int)},
              {.name = "size",
               .kind = list,
               .meaning = "Lengths of the edges; default 1 each",
               .most = 3,
               .inside = {axis_size}},
              {.name = "cell",
               .kind = word,
               .meaning = "Shape of the cells; default quadrilateral, in space hexahedron",
               .words = cell_names()},
              {.name = "distort",
               .kind = number,
               .meaning = "Moves inner vertices at random by up to that fraction of a cell, 0.2 at most in space",
               .default_value = "0",
               .rule = distortion},
          },
      .one_of = {{"cells"}, {"dofs"}},
  };
}

/// A point in the plane or in space; `name` is empty if the user chooses it.
KeyDescription point_of_mesh(std::string_view name, std::string_view meaning) {
  const KeyDescription coordinate{"", number, "A coordinate", {}, of_lengths};
  return {.name = name, .kind = list, .meaning = meaning, .fewest = 2, .most = 3, .inside = {coordinate}};
}

KeyDescription groups() {
  const KeyDescription tag{"", whole, "Tag of an entity", {}, {}, whole_from(1, largest_int)};
  const KeyDescription coordinate{"", number, "Along x, y, z", {}, of_lengths};
  const KeyDescription group{
      .name = "",
      .kind = map,
      .meaning = "The entities of one dimension that have this name",
      .inside =
          {
              {.name = "dimension",
               .kind = whole,
               .meaning = "3 solids, 2 surfaces, 1 curves",
               .rule = whole_from(1, 3)},
              {.name = "tags", .kind = list, .meaning = "Numbers of the entities in the file", .inside = {tag}},
              {.name = "where",
               .kind = expression,
               .meaning = "A condition on x, y, z that holds at all nodes of an entity, such as \"abs(z) < 1e-6\""},
              {.name = "near",
               .kind = list,
               .meaning = "A point that no other entity is as near to",
               .fewest = 2,
               .most = 3,
               .inside = {coordinate}},
              {.name = "name", .kind = text, .meaning = "A name that the file gives, as solids have in STEP files"},
          },
      .required = {"dimension"},
      .one_of = {{"tags"}, {"where"}, {"near"}, {"name"}},
  };
  return {.name = "groups",
          .kind = names,
          .meaning = "Names for geometry that has none, for equation and boundary to refer to",
          .fewest = 0,
          .inside = {group}};
}

std::vector<std::string> unit_names() {
  std::vector<std::string> names{"auto"};
  for (const mesh::LengthUnit& unit : mesh::length_units) names.emplace_back(unit.name);
  return names;
}

KeyDescription mesh_keys() {
  const KeyDescription size_at_group{"", number, "Size of a cell", {}, of_lengths, positive_number};
  return {
      .name = "mesh",
      .kind = map,
      .meaning = "The geometry and its cells: a file or a box",
      .inside =
          {
              {.name = "file",
               .kind = text,
               .meaning =
                   "A mesh (.msh, .inp, .bdf, .nas, .unv) or a geometry (.geo, .step, .stp, .brep, .iges, .igs), "
                   "relative to the case file"},
              {.name = "unit",
               .kind = word,
               .meaning =
                   "Unit of the file's lengths, which become metres; auto: the one that the file states, else metres",
               .default_value = "auto",
               .words = unit_names()},
              {.name = "scale",
               .kind = number,
               .meaning = "Factor of the file's lengths, in addition to their unit",
               .default_value = "1",
               .rule = positive_number},
              {.name = "size",
               .kind = number,
               .meaning = "Size of a cell, for geometry; default what Gmsh chooses",
               .unit = of_lengths,
               .rule = positive_number},
              {.name = "sizes",
               .kind = names,
               .meaning = "Size of a cell at groups, for geometry, such as bore: 0.001",
               .inside = {size_at_group}},
              {.name = "order",
               .kind = whole,
               .meaning = "Geometric order of the cells, for geometry: above 1 they bend with it",
               .default_value = "1",
               .rule = whole_from(1, mesh::max_degree)},
              {.name = "cells",
               .kind = word,
               .meaning = "Shape of the cells of a geometry: triangles and tetrahedra, or quadrilaterals and "
                          "hexahedra; auto: the first, unless its own commands (Recombine) make the second",
               .default_value = "auto",
               .words = {"auto", "simplex", "tensor"}},
              {.name = "cache",
               .kind = flag,
               .meaning = "Keep the mesh of a geometry for later runs",
               .default_value = "true"},
              {.name = "refine",
               .kind = whole,
               .meaning = "How often every cell is divided uniformly",
               .default_value = "0",
               .rule = whole_from(0, 12)},
              groups(),
              box(),
          },
      .one_of = {{"file"}, {"box"}},
  };
}

/// The keys of a symmetric tensor.
std::vector<KeyDescription> tensor_keys() {
  const auto entry = [](std::string_view name, std::string_view meaning) {
    return KeyDescription{.name = name, .kind = expression, .meaning = meaning};
  };
  const KeyDescription coordinate{"", number, "A coordinate"};
  const KeyDescription direction{
      .name = "", .kind = list, .meaning = "A direction", .fewest = 2, .most = 3, .inside = {coordinate}};
  return {entry("xx", "Entry of a symmetric tensor; the tensor must be positive definite"),
          entry("yy", "Entry of the tensor"),
          entry("zz", "Entry of the tensor; in space only"),
          entry("xy", "Entry of the tensor; default 0"),
          entry("xz", "Entry of the tensor; in space only; default 0"),
          entry("yz", "Entry of the tensor; in space only; default 0"),
          {.name = "axes",
           .kind = list,
           .meaning = "Axes of the entries: the direction of x', and in space another one in the plane of x' and y'; "
                      "default those of space",
           .fewest = 1,
           .most = 2,
           .inside = {direction}}};
}

KeyDescription equation() {
  return {
      .name = "equation",
      .kind = map,
      .meaning = "-div(diffusion grad u) = source",
      .inside =
          {
              {.name = "diffusion",
               .kind = ValueKind::diffusion,
               .meaning = "Positive: a number, an expression in x y z, a symmetric tensor of them, or one of these for "
                          "each region",
               .default_value = "1",
               .unit = "such as W/(m K) for heat",
               .inside = tensor_keys()},
              {.name = "source",
               .kind = field,
               .meaning = "A number, an expression in x y z, or one for each region",
               .default_value = "0",
               .unit = "such as W/m^3 for heat"},
          },
  };
}

KeyDescription prescribed_value() {
  return {.name = "value", .kind = expression, .meaning = "u on the boundary (Dirichlet)", .unit = of_solution};
}
KeyDescription prescribed_flux() {
  return {.name = "flux",
          .kind = expression,
          .meaning = "diffusion du/dn with the outward normal, positive for what flows in (Neumann)",
          .unit = "such as W/m^2 for heat"};
}
KeyDescription ambient() {
  return {.name = "ambient",
          .kind = expression,
          .meaning = "u outside, where diffusion du/dn = transfer (ambient - u)",
          .unit = of_solution};
}

/// Layers of a boundary that the mesh does not have.
KeyDescription layers() {
  const auto positive = [](std::string_view name, std::string_view meaning, std::string_view unit) {
    return KeyDescription{.name = name, .kind = number, .meaning = meaning, .unit = unit, .rule = positive_number};
  };
  const KeyDescription layer{.name = "",
                             .kind = map,
                             .meaning = "A layer, whatever their order",
                             .inside = {positive("thickness", "Thickness of the layer", of_lengths),
                                        positive("conductivity", "Conductivity across it", "that of diffusion")},
                             .required = {"thickness", "conductivity"}};
  return {.name = "layers",
          .kind = list,
          .meaning =
              "Layers outside the mesh, such as insulation: their resistances thickness / conductivity are in "
              "series with 1 / transfer; without transfer u is ambient behind them",
          .inside = {layer}};
}

KeyDescription boundary() {
  const KeyDescription condition{
      .name = "",
      .kind = map,
      .meaning = "Condition on this group or side of a box: value, flux, or transfer, layers or both with ambient",
      .inside = {prescribed_value(),
                 prescribed_flux(),
                 {.name = "transfer",
                  .kind = expression,
                  .meaning = "Transfer coefficient in diffusion du/dn = transfer (ambient - u) (Robin), not negative",
                  .unit = "such as W/(m^2 K) for heat"},
                 ambient(),
                 layers()},
      .one_of =
          {{"value"}, {"flux"}, {"transfer", "ambient"}, {"layers", "ambient"}, {"layers", "transfer", "ambient"}},
  };
  return {.name = "boundary",
          .kind = names,
          .meaning = "Conditions by group or box side; `all` where no other holds; what is not named is insulated",
          .fewest = 0,
          .inside = {condition}};
}

KeyDescription power() {
  return {.name = "power",
          .kind = number,
          .meaning = "Integral of the source at the point",
          .unit = "such as W, in the plane W/m, for heat"};
}

KeyDescription points() {
  const KeyDescription point{
      .name = "",
      .kind = map,
      .meaning = "A point that has a source",
      .inside = {point_of_mesh("at", "The point"), power()},
      .required = {"at", "power"},
  };
  return {.name = "points", .kind = names, .meaning = "Sources at points, by names", .fewest = 0, .inside = {point}};
}

KeyDescription loads() {
  const KeyDescription condition{
      .name = "",
      .kind = map,
      .meaning = "Another number for the condition that `boundary` has on this group, of the same kind",
      .inside = {prescribed_value(), prescribed_flux(), ambient()},
      .one_of = {{"value"}, {"flux"}, {"ambient"}},
  };
  const KeyDescription load{
      .name = "",
      .kind = map,
      .meaning = "The case with another source, other values of conditions, or both",
      .inside =
          {
              {.name = "source",
               .kind = field,
               .meaning = "The whole source; default that of the case",
               .unit = "such as W/m^3 for heat"},
              {.name = "boundary",
               .kind = names,
               .meaning = "Other values of conditions, by group of the case's `boundary`",
               .fewest = 0,
               .inside = {condition}},
              {.name = "points",
               .kind = names,
               .meaning = "Other powers, by names of the case's `points`",
               .fewest = 0,
               .inside = {{.name = "",
                           .kind = map,
                           .meaning = "The point with another power",
                           .inside = {power()},
                           .required = {"power"}}}},
          },
  };
  return {.name = "loads",
          .kind = names,
          .meaning = "Several right-hand sides for one matrix, solved in one run",
          .inside = {load}};
}

KeyDescription ordering() {
  return {
      .name = "ordering",
      .kind = map,
      .meaning = "How cells and unknowns are numbered",
      .inside =
          {
              {.name = "cells",
               .kind = word,
               .meaning = "Order of the cells: as generated, or along a Hilbert curve; auto: as generated for a box, "
                          "else the curve",
               .default_value = "auto",
               .words = {"auto", "natural", "curve"}},
              {.name = "unknowns",
               .kind = word,
               .meaning = "Order of the unknowns: as the cells meet them, or with a small bandwidth of the matrix",
               .default_value = "first-touch",
               .words = {"first-touch", "reverse-cuthill-mckee"}},
          },
  };
}

KeyDescription solver_keys() {
  const NumberRule tolerance{"a number above 0 and below 1", 0, 1, true, true};
  return {
      .name = "solver",
      .kind = map,
      .meaning = "Conjugate gradients, and the operator that they multiply with",
      .inside =
          {
              {.name = "operator",
               .kind = operator_,
               .meaning = "Operator that computes y = A x, see femcg list operators; auto: by shape, degree, unknowns, "
                          "loads and device",
               .default_value = "auto",
               .words = {"auto"}},
              {.name = "preconditioner",
               .kind = preconditioner,
               .meaning = "Preconditioner; auto: multigrid, tensor on separable boxes, or jacobi for small problems",
               .default_value = "auto"},
              {.name = "precision",
               .kind = word,
               .meaning =
                   "Precision of matrix and vectors; mixed: single, with the residual and the solution in double",
               .default_value = "double",
               .words = {"double", "single", "mixed"}},
              {.name = "device",
               .kind = device,
               .meaning = "Device of CG's loop; auto: a GPU if there is one and the problem is large enough for it, "
                          "cuda:1 a GPU by its number",
               .default_value = "auto"},
              {.name = "tolerance",
               .kind = number,
               .meaning = "Bound on the relative residual |b - A u| / |b|, and in run on the relative error in energy",
               .default_value = "1e-8",
               .rule = tolerance},
              {.name = "max_iterations",
               .kind = whole,
               .meaning = "After which the loop gives up",
               .default_value = "10000",
               .rule = whole_from(0, 1'000'000'000)},
              {.name = "initial",
               .kind = text,
               .meaning = "Results folder of a run on the same mesh, at any degree, whose solution CG begins from, "
                          "load by load; full-multigrid: what multigrid approximates by solving on its coarser levels "
                          "first; without it from 0"},
              {.name = "cg",
               .kind = word,
               .meaning = "Recurrence: classic; with one sum an iteration (Chronopoulos & Gear 1989), or pipelined, "
                          "one beside the product (Ghysels & Vanroose 2014); of all loads at once: batched, block",
               .default_value = "auto",
               .words = {"auto", "classic", "single-reduction", "pipelined", "batched", "block"}},
              {.name = "loop",
               .kind = word,
               .meaning = "Products and passes launched one after the other, the whole loop in one persistent kernel "
                          "(persistent, also read as resident, on "
                          "a GPU), or passes inside the product (merged, on a CPU, for operators that have it)",
               .default_value = "auto",
               .words = {"auto", "launched", "persistent", "resident", "merged"}},
              {.name = "tune",
               .kind = word,
               .meaning = "Try other options of the operator in the first products of a run; auto: where that costs "
                          "little of the solve",
               .default_value = "auto",
               .words = {"auto", "on", "off"}},
          },
  };
}

KeyDescription distribution() {
  return {
      .name = "distribution",
      .kind = map,
      .meaning = "Distribution over several processes (mpirun -n 4 femcg run ...); no effect with one",
      .inside =
          {
              {.name = "partition",
               .kind = word,
               .meaning = "Partition of the cells: blocks of a box, pieces of a Hilbert curve, or METIS's, which has "
                          "less surface; auto: blocks of a box, else the curve",
               .default_value = "auto",
               .words = {"auto", "blocks", "curve", "metis"}},
              {.name = "mode",
               .kind = word,
               .meaning = "Values at interfaces travel after the product, meanwhile, or by a thread of their own "
                          "(Kreutzer et al. 2012); auto: as the first products tell",
               .default_value = "auto",
               .words = {"auto", "vector", "overlap", "task"}},
              {.name = "processes_per_gpu",
               .kind = whole,
               .meaning = "Number of processes of a machine that may share a GPU",
               .default_value = "1",
               .rule = whole_from(1, 1024)},
          },
  };
}

KeyDescription output() {
  const KeyDescription file_field{
      "", text, "u, also by its own name, or a vector field of the cells", {}, {}, any_number, field_names()};
  return {
      .name = "output",
      .kind = map,
      .meaning = "Files that femcg run writes",
      .inside =
          {
              {.name = "directory",
               .kind = text,
               .meaning = "Folder, relative to the current one; default results/<name of the case file>"},
              {.name = "vtu", .kind = flag, .meaning = "Write solution.vtu", .default_value = "true"},
              {.name = "degree",
               .kind = whole,
               .meaning = "Degree of the cells in .vtu files; 1: linear cells, with values at the vertices alone; "
                          "default and most: that of the solution",
               .rule = whole_from(1, mesh::max_degree)},
              {.name = "subset",
               .kind = map,
               .meaning = "Which cells .vtu files have; default all",
               .inside = {{.name = "regions",
                           .kind = list,
                           .meaning = "Cells of these regions; default all",
                           .inside = {{"", text, "The name of a region"}}},
                          {.name = "box",
                           .kind = map,
                           .meaning = "Cells whose centre, the mean of the vertices, lies in a box",
                           .inside = {point_of_mesh("min", "Its least coordinates; default no bound"),
                                      point_of_mesh("max", "Its largest coordinates; default no bound")}}}},
              {.name = "fields",
               .kind = list,
               .meaning = "Fields of solution.vtu; flux is -diffusion grad u; default [u]",
               .inside = {file_field}},
              {.name = "boundary",
               .kind = flag,
               .meaning = "Write boundary.vtu: u and the normal flux, on the boundary alone",
               .default_value = "false"},
              {.name = "picture",
               .kind = flag,
               .meaning = "Draw solution.png by femcg-plot, which result.html shows",
               .default_value = "false"},
              {.name = "system",
               .kind = flag,
               .meaning = "Write system.mtx and load.mtx: A and b of A u = b for the unknowns, in Matrix Market "
                          "format, for other solvers",
               .default_value = "false"},
              {.name = "points",
               .kind = flag,
               .meaning = "Write a results folder for every point of a sweep of femcg run: points/1, ...",
               .default_value = "false"},
              {.name = "probes",
               .kind = names,
               .meaning = "Points at which u is reported, by names",
               .fewest = 0,
               .inside = {point_of_mesh("", "A point at which u is reported")}},
          },
  };
}

KeyDescription compare() {
  const KeyDescription chosen{"", operator_, "An operator, or one with options"};
  const KeyDescription where{"", device, "auto, cpu, cuda, or cuda:1"};
  const KeyDescription columns{"", whole, "Vectors at once",
                               {}, {},    whole_from(1, operators::MultiVector<double>::most)};
  return {
      .name = "compare",
      .kind = map,
      .meaning = "Settings of femcg compare",
      .inside =
          {
              {.name = "operators",
               .kind = list,
               .meaning = "Operators to compare; default all",
               .words = {"all"},
               .inside = {chosen}},
              {.name = "devices",
               .kind = list,
               .meaning = "Devices of the operators; default [solver.device]",
               .inside = {where}},
              {.name = "sweep",
               .kind = sweep,
               .meaning = "Values by key of the case or option of operators; every combination is compared"},
              {.name = "iterations",
               .kind = whole,
               .meaning = "CG iterations per repetition, with no test of convergence",
               .default_value = "200",
               .rule = whole_from(1, largest_int)},
              {.name = "repetitions",
               .kind = whole,
               .meaning = "How often each is measured, in turn",
               .default_value = "5",
               .rule = whole_from(1, 1000)},
              {.name = "right_hand_sides",
               .kind = list,
               .meaning = "Numbers of vectors that are multiplied at once; 1 is always among them; default [1]",
               .inside = {columns}},
          },
  };
}

void add_keys(const KeyDescription& of, const std::string& prefix, std::vector<KeyPath>& to) {
  for (const KeyDescription& key : of.inside) {
    const std::string path = prefix + std::string(key.name);
    if (!key.name.empty()) to.push_back({path, &key});
    if (key.kind == map || key.kind == names || key.kind == ValueKind::diffusion) add_keys(key, path + ".", to);
  }
}

}  // namespace

const KeyDescription* KeyDescription::find(std::string_view key) const {
  const auto found = std::ranges::find(inside, key, &KeyDescription::name);
  return (kind == map || kind == ValueKind::diffusion) && found != inside.end() ? &*found : nullptr;
}

const KeyDescription& KeyDescription::at(std::string_view key) const {
  if (const KeyDescription* found = find(key)) return *found;
  throw std::logic_error(fmt::format("the table of keys of the case file has no '{}' in '{}'", key, name));
}

std::vector<std::string> KeyDescription::key_names() const {
  std::vector<std::string> all;
  for (const KeyDescription& key : inside) all.emplace_back(key.name);
  return all;
}

const KeyDescription& case_keys() {
  static const KeyDescription top{
      .name = "",
      .kind = map,
      .meaning = "A case of femcg: -div(diffusion grad u) = source on a mesh",
      .inside =
          {
              {.name = "title",
               .kind = text,
               .meaning = "Title of the summary and the report; default the name of the file"},
              {.name = "plugins",
               .kind = list,
               .meaning = "Shared libraries with operators of your own (femcg/plugin.h), relative to the case; they "
                          "run as it is read",
               .fewest = 0,
               .inside = {{.name = "", .kind = text, .meaning = "A file"}}},
              {.name = "name",
               .kind = text,
               .meaning = "Name of the solution in the summary and the files, such as temperature",
               .default_value = "u"},
              {.name = "unit",
               .kind = text,
               .meaning = "Unit of the solution, as it is printed, such as degC; default none"},
              mesh_keys(),
              {.name = "degree",
               .kind = whole,
               .meaning = "Degree of the polynomials",
               .default_value = "1",
               .rule = whole_from(1, mesh::max_degree)},
              {.name = "quadrature",
               .kind = whole,
               .meaning = "n Gauss points per direction, exact to degree 2(n-1) on simplices; default and least "
                          "degree + 1",
               .rule = whole_from(2, 16)},
              equation(),
              boundary(),
              points(),
              {.name = "geometry",
               .kind = word,
               .meaning = "x y z as they are, or x the distance from the axis of a body of revolution, y along it",
               .default_value = "cartesian",
               .words = {"cartesian", "axisymmetric"}},
              {.name = "symmetry",
               .kind = whole,
               .meaning =
                   "Number of copies of the mesh that make the whole, of which areas, volumes, integrals, fluxes "
                   "and the balance then are",
               .default_value = "1",
               .rule = whole_from(1, 10'000)},
              loads(),
              {.name = "terminals",
               .kind = list,
               .meaning = "Groups, for each of which a load is solved, with 1 on it and 0 on the others: the fluxes of "
                          "all are the matrix of conductances, or of capacitances, between them",
               .inside = {{.name = "", .kind = text, .meaning = "A group of the boundary, a conductor"}}},
              {.name = "exact",
               .kind = field,
               .meaning = "A known solution; errors in L2 and H1 are reported",
               .unit = of_solution},
              ordering(),
              solver_keys(),
              distribution(),
              output(),
              compare(),
              {.name = "sweep",
               .kind = sweep,
               .meaning =
                   "Study of femcg run: values by key of the case, a list or a range; every combination is solved"},
          },
      .required = {"mesh"},
  };
  return top;
}

std::vector<KeyPath> all_case_keys() {
  std::vector<KeyPath> all;
  add_keys(case_keys(), "", all);
  return all;
}

}  // namespace femcg::solver
