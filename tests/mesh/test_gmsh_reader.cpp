#include <doctest/doctest.h>
#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numbers>
#include <sstream>

#include "mesh/cell_quality.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"
#include "tests/gmsh.hpp"
#include "tests/locations.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using namespace femcg::mesh;
using femcg::tests::needs_gmsh;
namespace fs = std::filesystem;

const fs::path odd_meshes = femcg::tests::source_directory() / "tests" / "meshes";
const fs::path geometries = femcg::tests::source_directory() / "cases" / "meshes";

/// A folder of this process, removed at the end.
struct ScratchFolder : femcg::tests::ScratchFolder {
  ScratchFolder() : femcg::tests::ScratchFolder("femcg_gmsh") {}
};

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Lets Gmsh execute a script.
void save(const fs::path& script) {
  REQUIRE(std::system(fmt::format("'{}' '{}'", femcg::tests::save_by_gmsh().string(), script.string()).c_str()) == 0);
}

Mesh read(const fs::path& file) {
  GmshOptions options;
  options.file = file;
  options.unit = "m";  // nothing was assumed
  return read_gmsh(options);
}

/// Message of the exception that reading throws; "" if it does not throw.
std::string error_of(const GmshOptions& options) {
  try {
    read_gmsh(options);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string error_of(const fs::path& file) {
  GmshOptions options;
  options.file = file;
  return error_of(options);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool has_warning(const Mesh& mesh, const std::string& part) {
  return std::any_of(mesh.warnings.begin(), mesh.warnings.end(),
                     [&](const std::string& warning) { return has(warning, part); });
}

const BoundaryGroup& group(const Mesh& mesh, const std::string& name) {
  const auto found =
      std::find_if(mesh.boundaries.begin(), mesh.boundaries.end(), [&](const auto& g) { return g.name == name; });
  REQUIRE_MESSAGE(found != mesh.boundaries.end(), "no group " << name);
  return *found;
}

/// Area or volume of one region, or of all.
double measure(const Mesh& mesh, int region = -1) {
  const Quadrature rule = cell_quadrature(mesh.shape, mesh.dimension() == 2 ? mesh.order + 1 : mesh.order + 2);
  const GeometryTables tables(mesh, rule.points);
  CellGeometry geometry(tables);
  double sum = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (region >= 0 && mesh.cell_regions[cell] != region) continue;
    geometry.move_to(mesh, cell);
    for (int q = 0; q < rule.size(); ++q) sum += rule.weights[q] * geometry.determinant(q);
  }
  return sum;
}

/// Length or area of a boundary group: the norm of the (cross) product of the tangents, integrated.
double measure(const Mesh& mesh, const BoundaryGroup& boundary) {
  double sum = 0;
  const int d = mesh.dimension();
  for (int f = 0; f < static_cast<int>(facets(mesh.shape).size()); ++f) {
    const Quadrature rule = facet_quadrature(mesh.shape, f, mesh.order + 3);
    const GeometryTables tables(mesh, rule.points);
    CellGeometry geometry(tables);
    const Eigen::MatrixXd reference = facet_tangents(mesh.shape, f);
    for (const BoundaryFacet& facet : boundary.facets) {
      if (facet.facet != f) continue;
      geometry.move_to(mesh, facet.cell);
      for (int q = 0; q < rule.size(); ++q) {
        const Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>> jacobian(geometry.jacobian(q), d, d);
        const Eigen::MatrixXd tangents = jacobian * reference;
        sum += rule.weights[q] * std::sqrt((tangents.transpose() * tangents).determinant());
      }
    }
  }
  return sum;
}

/// Largest distance of a node from its position under the multilinear map of its cell's vertices.
double distance_from_lattice(const Mesh& mesh) {
  const LagrangeBasis vertices(mesh.shape, 1, NodeFamily::equispaced);
  const LagrangeBasis basis(mesh.shape, mesh.order, NodeFamily::equispaced);
  const Eigen::MatrixXd weights = vertices.values(basis.nodes());
  double distance = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (int a = 0; a < mesh.nodes_per_cell(); ++a)
      for (int i = 0; i < mesh.dimension(); ++i) {
        double x = 0;
        for (int v = 0; v < vertices.size(); ++v)
          x += weights(a, v) * mesh.point(mesh.nodes(cell)[basis.lattice().vertex_nodes()[v]])[i];
        distance = std::max(distance, std::abs(x - mesh.point(mesh.nodes(cell)[a])[i]));
      }
  return distance;
}

/// A sheared box with two layers per direction.
std::string box_script(CellShape shape) {
  const std::string layers = is_tensor(shape) ? "Layers{2}; Recombine;" : "Layers{2};";
  std::string script =
      "Point(1) = {0, 0, 0};\n"
      "Extrude{2, 0.3, 0}{ Point{1}; Layers{2}; }\n"
      "s[] = Extrude{0.2, 1, 0}{ Curve{1}; " +
      layers + " };\n";
  script +=
      dimension(shape) == 2
          ? "Physical Surface(\"inside\") = {s[1]}; Physical Curve(\"bottom\") = {1}; Physical Curve(7) = {s[0]};\n"
          : "v[] = Extrude{0.1, -0.2, 1}{ Surface{s[1]}; " + layers +
                " };\n"
                "Physical Volume(\"inside\") = {v[1]}; Physical Surface(\"bottom\") = {s[1]}; Physical Surface(7) = "
                "{v[0]};\n";
  return script;
}

/// |det| of the edges of this box.
double box_measure(CellShape shape) {
  Eigen::Matrix3d edges;
  edges << 2, 0.2, 0.1, 0.3, 1, -0.2, 0, 0, 1;
  return dimension(shape) == 2 ? edges.topLeftCorner<2, 2>().determinant() : edges.determinant();
}

void check_box(const Mesh& mesh, CellShape shape, int order, int refinements) {
  CHECK(mesh.shape == shape);
  CHECK(mesh.order == order);
  if (shape != CellShape::tetrahedron) {
    const int children = 1 << (dimension(shape) * refinements);
    CHECK(mesh.cell_count() == (dimension(shape) == 2 ? 4 : 8) * (is_tensor(shape) ? 1 : 2) * children);
  }
  CHECK(mesh.region_names == std::vector<std::string>{"inside"});
  CHECK(measure(mesh) == doctest::Approx(box_measure(shape)).epsilon(1e-12));
  CHECK(distance_from_lattice(mesh) < 1e-12);
  const double side = dimension(shape) == 2 ? std::hypot(2, 0.3) : box_measure(CellShape::quadrilateral);
  CHECK(mesh.boundaries.size() == 2);
  CHECK(measure(mesh, group(mesh, "bottom")) == doctest::Approx(side).epsilon(1e-12));
  CHECK(measure(mesh, group(mesh, "7")) == doctest::Approx(side).epsilon(1e-12));
}

}  // namespace

TEST_CASE("Every shape and order: generated, in both formats, ascii and binary, and refined" * needs_gmsh()) {
  const ScratchFolder folder;
  for (const CellShape shape : all_cell_shapes)
    for (int order = 1; order <= max_degree; ++order) {
      CAPTURE(name(shape));
      CAPTURE(order);
      GmshOptions options;
      options.order = order;
      options.tensor_cells = is_tensor(shape);
      for (options.refine = 0; options.refine < 2; ++options.refine) {
        options.file = folder.write("box.geo", box_script(shape));
        check_box(read_gmsh(options), shape, order, options.refine);
      }
      for (const char* version : {"2.2", "4.1"})
        for (const int binary : {0, 1}) {
          CAPTURE(version);
          CAPTURE(binary);
          options.refine = 0;
          save(folder.write(
              "save.geo",
              box_script(shape) +
                  fmt::format("Mesh.ElementOrder = {}; Mesh.MshFileVersion = {}; Mesh.Binary = {}; Mesh {}; "
                              "Save \"{}\";\n",
                              order, version, binary, dimension(shape), (folder / "box.msh").string())));
          options.file = folder / "box.msh";
          check_box(read_gmsh(options), shape, order, 0);
          options.refine = 1;
          check_box(read_gmsh(options), shape, order, 1);
        }
    }
}

TEST_CASE("The disk's area and rim converge at the rate of the geometric order" * needs_gmsh()) {
  for (const bool tensor : {false, true})
    for (int order = 1; order <= max_degree; ++order) {
      CAPTURE(tensor);
      CAPTURE(order);
      GmshOptions options;
      options.file = geometries / "disk.geo";
      options.size = 0.7;
      options.order = order;
      options.tensor_cells = tensor;
      double area[2], rim[2];
      for (int level = 0; level < 2; ++level) {
        options.refine = level;
        const Mesh mesh = read_gmsh(options);
        CHECK(is_tensor(mesh.shape) == tensor);
        area[level] = std::abs(measure(mesh) - std::numbers::pi);
        rim[level] = std::abs(measure(mesh, group(mesh, "rim")) - 2 * std::numbers::pi);
      }
      // Even orders gain one by the symmetry of equally spaced nodes about the middle of an edge.
      const int rate = 2 * ((order + 2) / 2);
      const double area_rate = std::log2(area[0] / area[1]), rim_rate = std::log2(rim[0] / rim[1]);
      CAPTURE(area_rate);
      CAPTURE(rim_rate);
      CHECK(area_rate > rate - 0.4);
      CHECK(area_rate < rate + 0.8);
      CHECK(rim_rate > (order == 1 ? 2 : rate) - 0.6);
    }
}

TEST_CASE("Geometry of other makes: unstructured tensor cells, STEP in metres with joined solids, groups by rule" *
          needs_gmsh()) {
  GmshOptions options;
  options.file = geometries / "heat_sink.step";
  options.size = 0.006;
  options.groups["base"] = {3, {}, [](double, double, double z) { return z < 0.006 + 1e-9; }};
  options.groups["fins"] = {3, {}, [](double, double, double z) { return z > 0.006 - 1e-9; }};
  options.groups["bottom"] = {2, {}, [](double, double, double z) { return std::abs(z) < 1e-9; }};
  for (options.order = 1; options.order <= 2; ++options.order) {
    const Mesh mesh = read_gmsh(options);
    CHECK(mesh.shape == CellShape::tetrahedron);
    REQUIRE(mesh.region_names == std::vector<std::string>{"base", "fins"});
    CHECK(measure(mesh, 0) == doctest::Approx(0.06 * 0.06 * 0.006));
    CHECK(measure(mesh, 1) == doctest::Approx(6 * 0.06 * 0.003 * 0.03));
    CHECK(measure(mesh, group(mesh, "bottom")) == doctest::Approx(0.06 * 0.06));
    CHECK(has_warning(mesh, "metres"));
    CHECK(has_warning(mesh, "joined 7 solids at 6 shared faces"));
    CHECK_FALSE(has_warning(mesh, "share no vertex"));
  }
  options.order = 1;
  options.size = 0.012;
  options.tensor_cells = true;
  const Mesh hexahedra = read_gmsh(options);
  CHECK(hexahedra.shape == CellShape::hexahedron);
  CHECK(measure(hexahedra) == doctest::Approx(5.4e-5));
}

TEST_CASE("Every geometry of the examples is meshed" * needs_gmsh()) {
  GmshOptions options;
  options.file = geometries / "pipe_flange.geo";
  options.size = 0.008;
  const Mesh flange = read_gmsh(options);
  CHECK(flange.region_names == std::vector<std::string>{"steel"});
  for (const char* name : {"bore", "mating_face", "cut", "outside"}) CHECK(group(flange, name).facets.size() > 10);

  options.file = geometries / "shaft_keyway.geo";
  options.size = {};
  options.order = 2;
  const Mesh shaft = read_gmsh(options);
  CHECK(shaft.order == 2);
  CHECK(group(shaft, "surface").facets.size() > 10);
  CHECK(group(shaft, "keyway").facets.size() > 10);
}

TEST_CASE("Tetrahedra of a geometry have no slivers, curved ones neither, and are what they were otherwise" *
          needs_gmsh()) {
  const auto smallest_angle = [](const Mesh& mesh) {
    double least = 180;
    for (const CellQuality& quality : cell_qualities(mesh)) least = std::min(least, quality.smallest_angle);
    return least;
  };
  GmshOptions options;
  options.file = geometries / "heat_sink.step";
  options.size = 0.0028;  // Gmsh leaves an angle of 0.0007 degrees there
  options.groups["bottom"] = {2, {}, [](double, double, double z) { return std::abs(z) < 1e-6; }};
  const Mesh sink = read_gmsh(options), again = read_gmsh(options);
  CHECK(smallest_angle(sink) > 8);
  CHECK_FALSE(has_warning(sink, "angle"));
  CHECK(measure(sink) == doctest::Approx(5.4e-5).epsilon(1e-12));
  CHECK(measure(sink, group(sink, "bottom")) == doctest::Approx(0.06 * 0.06).epsilon(1e-12));
  CHECK(sink.coordinates == again.coordinates);
  CHECK(sink.cell_nodes == again.cell_nodes);

  options = {};
  options.file = geometries / "pipe_flange.geo";
  options.size = 0.005;
  for (const int order : {2, 3}) {
    options.order = order;
    const Mesh flange = read_gmsh(options);
    CHECK(smallest_angle(flange) > 8);  // 2.5 degrees, without, where cells bend around the bolt holes
    CHECK_FALSE(has_warning(flange, "straightened"));
  }

  options.file = geometries / "bracket.step";
  options.size = 0.008;  // edges of 0.75 mm where the rib meets the boss: 5 degrees there
  for (const int order : {1, 2}) {
    options.order = order;
    CHECK(smallest_angle(read_gmsh(options)) > 12);
  }
  options.size = 0.02;  // points between the vertices of bolt holes are then too far away to be projected
  CHECK(read_gmsh(options).order == 2);
}

TEST_CASE("a note says where the part itself is too sharp for good cells" * needs_gmsh()) {
  const ScratchFolder folder;
  GmshOptions options;
  options.file = folder.write("wedge.geo",
                              "SetFactory(\"OpenCASCADE\");\n"
                              "Point(1) = {0, 0, 0}; Point(2) = {1, 0, 0}; Point(3) = {1, 0.07, 0};\n"
                              "Line(1) = {1, 2}; Line(2) = {2, 3}; Line(3) = {3, 1};\n"
                              "Curve Loop(1) = {1, 2, 3}; Plane Surface(1) = {1};\n"
                              "Extrude {0, 0, 1} { Surface{1}; }\n");
  options.size = 0.1;
  CHECK(has_warning(read_gmsh(options), "where sides of the part meet at it, which no mesh can mend): CG"));
}

TEST_CASE("What is odd about a mesh is repaired or let pass, counted and said" * needs_gmsh()) {
  const auto odd = [](const char* name) { return read(odd_meshes / name); };
  const Mesh square = odd("square.msh");
  CHECK(square.warnings.empty());
  CHECK(square.cell_count() == 2);
  CHECK(square.region_names == std::vector<std::string>{"plate"});
  CHECK(group(square, "3").facets.size() == 2);

  const Mesh orphans = odd("orphan_nodes.msh");
  CHECK(orphans.node_count() == 4);
  CHECK(has_warning(orphans, "2 nodes used by no cell"));

  const Mesh sparse = odd("sparse_tags.msh");
  CHECK(sparse.node_count() == 4);
  CHECK(measure(sparse) == doctest::Approx(1));
  CHECK(group(sparse, "bottom").facets.size() == 1);

  const Mesh unjoined = odd("duplicate_nodes.msh");
  CHECK(has_warning(unjoined, "2 nodes"));
  CHECK(has_warning(unjoined, "2 parts"));
  CHECK(has_warning(odd("two_parts.msh"), "2 parts"));

  const Mesh mirrored = odd("mirrored.msh");
  CHECK(has_warning(mirrored, "1 of 2"));
  CHECK(measure(mirrored) == doctest::Approx(1));
  CHECK(measure(mirrored, group(mirrored, "bottom")) == doctest::Approx(1));
  CHECK(measure(mirrored, group(mirrored, "3")) == doctest::Approx(2));

  const Mesh nameless = odd("no_groups.msh");
  CHECK(nameless.region_names == std::vector<std::string>{"domain"});
  CHECK(nameless.boundaries.empty());
  CHECK(has_warning(nameless, "'domain'"));

  const Mesh partly = odd("partly_named.msh");
  CHECK(partly.region_names == std::vector<std::string>{"plate", "unnamed"});
  CHECK(has_warning(partly, "1 cell in no group"));

  const Mesh inner = odd("inner_group.msh");
  CHECK(group(inner, "right").facets.empty());  // known by name only
  CHECK(has_warning(inner, "left out 1 facet of the group 'right'"));

  const Mesh serendipity = odd("serendipity.msh");  // the ninth node is put at the middle of the eight-node cell
  CHECK(serendipity.order == 2);
  CHECK(serendipity.node_count() == 9);

  const Mesh repeated = odd("repeated_cells.msh");
  CHECK(repeated.cell_count() == 2);
  CHECK(group(repeated, "right").facets.size() == 1);
  CHECK(has_warning(repeated, "2 cells repeating"));
}

TEST_CASE("Where the answer would be wrong, one sentence names the file and the reason" * needs_gmsh()) {
  const std::vector<std::pair<std::string, std::string>> expected{
      {"truncated.msh", "ends within $Elements"},
      {"truncated_nodes.msh", "ends within $Nodes"},
      {"word_for_number.msh", "line 14: 'one' is not a number"},
      {"unknown_node.msh", "9"},
      {"not_finite.msh", "not a finite number"},
      {"mixed_cells.msh", "2 of type Triangle 3, 1 of type Quadrilateral 4"},
      {"tangled.msh", "inverted or degenerate"},
      {"prism.msh", "Prism 6"},
      {"only_edges.msh", "no cells"},
      {"surface_in_space.msh", "surfaces in space"},
      {"stray_group.msh", "1 element of the boundary group 'right'"},
      {"missing.msh", "no such file"},
  };
  for (const auto& [name, reason] : expected) {
    CAPTURE(name);
    const std::string error = error_of(odd_meshes / name);
    CAPTURE(error);
    CHECK(has(error, name + ": "));
    CHECK(has(error, reason));
    CHECK_FALSE(has(error, "\n"));
    CHECK(read(odd_meshes / "square.msh").cell_count() == 2);  // An error spoils nothing for the next file.
  }
}

TEST_CASE("a geometry with commands of its own for quadrilaterals has them, unless triangles are asked for" *
          needs_gmsh()) {
  const ScratchFolder folder;
  GmshOptions options;
  options.file = folder.write("a.geo",
                              "SetFactory(\"OpenCASCADE\"); Rectangle(1) = {0, 0, 0, 1, 1};\n"
                              "Transfinite Surface{1}; Recombine Surface{1};\n");
  CHECK(read_gmsh(options).shape == CellShape::quadrilateral);
  options.simplices = true;
  CHECK(has(error_of(options), "set mesh.cells to tensor"));
}

TEST_CASE("cells that leave out a part of a curved geometry are noted" * needs_gmsh()) {
  const ScratchFolder folder;
  GmshOptions options;
  options.file = folder.write("a.geo", "SetFactory(\"OpenCASCADE\"); Cylinder(1) = {0, 0, 0, 0, 0, 1, 0.5};\n");
  const auto noted = [&](double size, int order) {
    options.size = size;
    options.order = order;
    for (const std::string& warning : read_gmsh(options).warnings)
      if (warning.find("of the geometry, whose curved faces they do not follow") != std::string::npos) return warning;
    return std::string();
  };
  CHECK(noted(0.5, 1).find("% less than the 0.7854 of the geometry") != std::string::npos);
  CHECK(noted(0.5, 1).ends_with("take a smaller mesh.size, or mesh.order: 2"));
  CHECK(noted(0.5, 2).empty());
  CHECK(noted(0.05, 1).empty());
}

TEST_CASE("IGES files, written by OpenCASCADE in millimetres and inches" * needs_gmsh()) {
  const double volume_of_plate = 0.06 * 0.04 * 0.01 - std::acos(-1.0) * 0.008 * 0.008 * 0.01;  // with a bore
  for (const auto& [name, unit, scale] : {std::tuple{"plate_mm.igs", "auto", 1.0},
                                          {"plate_inch.igs", "auto", 1.0},
                                          {"plate_mm.igs", "m", 1e-3},
                                          {"plate_inch.igs", "in", 1.0}}) {
    CAPTURE(name);
    GmshOptions options;
    options.file = odd_meshes / name;
    options.size = 0.005;
    options.order = 2;
    options.unit = unit;
    options.scale = scale;
    const Mesh mesh = read_gmsh(options);
    CHECK(measure(mesh) == doctest::Approx(volume_of_plate).epsilon(2e-4));
  }
}

TEST_CASE("surfaces alone, as many IGES files have them, become solids where they close" * needs_gmsh()) {
  const ScratchFolder folder;
  GmshOptions options;
  options.size = 0.005;
  options.order = 2;
  options.file = odd_meshes / "plate_surfaces.igs";
  const Mesh plate = read_gmsh(options);
  CHECK(measure(plate) == doctest::Approx(0.06 * 0.04 * 0.01 - std::acos(-1.0) * 0.008 * 0.008 * 0.01).epsilon(2e-4));
  CHECK(plate.warnings.front() == "the geometry has 7 surfaces and no solid: they were sewn into 1 solid");

  // Sides of boxes that share no edges.
  const auto walls = [&](const std::vector<std::array<double, 4>>& boxes, double gap, std::size_t sides) {
    std::string script = "SetFactory(\"OpenCASCADE\");\n";
    int tag = 0;
    for (const auto& [x, y, z, a] : boxes)
      for (int side = 0; side < 6 && side < static_cast<int>(sides); ++side) {
        const int axis = side / 2;
        const double along[]{axis == 2 && side % 2 == 1 ? a : 0.0, axis == 1 && side % 2 == 1 ? a : 0.0,
                             axis == 0 && side % 2 == 1 ? a + gap : 0.0};
        script += fmt::format("Rectangle({}) = {{0, 0, 0, {}, {}}};\n", ++tag, a, a);
        if (axis == 1) script += fmt::format("Rotate {{{{1, 0, 0}}, {{0, 0, 0}}, Pi/2}} {{Surface{{{}}};}}\n", tag);
        if (axis == 2) script += fmt::format("Rotate {{{{0, 1, 0}}, {{0, 0, 0}}, -Pi/2}} {{Surface{{{}}};}}\n", tag);
        script +=
            fmt::format("Translate {{{}, {}, {}}} {{Surface{{{}}};}}\n", x + along[0], y + along[1], z + along[2], tag);
      }
    save(folder.write("walls.geo", script + "Save \"walls.brep\";\n"));
    GmshOptions of_walls;
    of_walls.file = folder / "walls.brep";
    of_walls.size = 0.5;
    return of_walls;
  };
  CHECK(measure(read_gmsh(walls({{0, 0, 0, 1}}, 0, 6))) == doctest::Approx(1));
  // Single closed surfaces.
  const double pi = std::acos(-1.0);
  options.file = odd_meshes / "sphere_surface.igs";
  options.size = 0.002;
  CHECK(measure(read_gmsh(options)) == doctest::Approx(4 * pi / 3 * std::pow(0.005, 3)).epsilon(2e-3));
  for (const auto& [solid, volume] :
       {std::pair{"Sphere(1) = {0, 0, 0, 1};", 4 * pi / 3},
        {"Torus(1) = {0, 0, 0, 1, 0.4};", 2 * pi * pi * 0.16},
        {"Sphere(1) = {0, 0, 0, 1}; Torus(2) = {5, 0, 0, 1, 0.4};", 4 * pi / 3 + 2 * pi * pi * 0.16}}) {
    save(folder.write("closed.geo", fmt::format("SetFactory(\"OpenCASCADE\"); {} Delete {{ Volume{{:}}; }}\n"
                                                "Save \"closed.brep\";\n",
                                                solid)));
    GmshOptions closed;
    closed.file = folder / "closed.brep";
    closed.size = 0.3;
    closed.order = 2;
    const Mesh made = read_gmsh(closed);
    CHECK(measure(made) == doctest::Approx(volume).epsilon(2e-3));
    CHECK(has(made.warnings.front(), "and no solid: they were sewn into"));
  }
  CHECK(measure(read_gmsh(walls({{0, 0, 0, 1}}, 1e-5, 6))) == doctest::Approx(1).epsilon(1e-4));
  const Mesh two = read_gmsh(walls({{0, 0, 0, 1}, {1, 0.2, 0.2, 0.5}}, 0, 6));  // touching
  CHECK(measure(two) == doctest::Approx(1.125));
  CHECK(has(two.warnings.front(), "sewn into 2 solids"));
  const auto refused = [](const GmshOptions& given) -> std::string {
    try {
      read_gmsh(given);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(has(refused(walls({{0, 0, 0, 1}}, 0, 5)),
            "has 5 surfaces and no solid, and sewn together they do not close: 4 "
            "edges have a surface on one side only"));
  CHECK(has(refused(walls({{0, 0, 0, 1}}, 0.1, 6)), "sewn together they do not close"));
  CHECK(has(refused(walls({{0, 0, 0, 3}, {1, 1, 1, 1}}, 0, 6)), "within one another"));
  CHECK(has(refused(walls({{0, 0, 0, 1}, {1, 0, 0, 1}}, 0, 6)), "some lie on each other"));
}

TEST_CASE("Files that are no meshes or geometry, and options that make no sense" * needs_gmsh()) {
  const ScratchFolder folder;
  CHECK(has(error_of(folder.write("empty.msh", "")), "is empty"));
  CHECK(has(error_of(folder.write("letter.msh", "Dear Sir,\n")), "begins with $MeshFormat"));
  CHECK(has(error_of(folder.write("letter.geo", "\nDear Sir,\n")), "line 2"));
  CHECK(has(error_of(folder.write("points.geo", "Point(1) = {0, 0, 0};\n")), "no surface"));
  CHECK(has(error_of(folder.write("letter.brep", "Dear Sir,\n")), "no surface"));
  CHECK(has(error_of(folder.write("model.stl", "solid\n")), "the file must be .msh,"));
  CHECK(has(error_of(fs::path(folder / "")), "the file must be .msh,"));
  fs::create_directories(folder / "folder.msh");
  CHECK(has(error_of(folder / "folder.msh"), "not a file"));

  // OpenCASCADE prints its reason on standard output, which is reserved for results.
  const std::string step = contents(geometries / "heat_sink.step");
  const fs::path cut = folder.write("cut.step", step.substr(0, step.size() / 2));
  std::ostringstream printed;
  std::streambuf* const output = std::cout.rdbuf(printed.rdbuf());
  const std::string error = error_of(cut);
  std::cout.rdbuf(output);
  CHECK(printed.str().empty());
  CHECK(has(error, "cut.step: "));
  CHECK_FALSE(has(error, "\033"));

  GmshOptions options;
  options.file = geometries / "disk.geo";
  options.size = -1;
  CHECK(has(error_of(options), "greater than 0"));
  options.size = 1e-9;
  CHECK(has(error_of(options), "too small"));
  options.size = 0.5;
  options.order = 5;
  CHECK(has(error_of(options), "1 to 4"));
  options.order = 1;
  options.refine = 16;
  CHECK(has(error_of(options), "2^31 - 1"));
}

TEST_CASE("Partitions are joined, one of them alone is refused, and periodic sides are said to be left out" *
          needs_gmsh()) {
  const ScratchFolder folder;
  const std::string square =
      "SetFactory(\"OpenCASCADE\"); Rectangle(1) = {0, 0, 0, 1, 1}; Mesh.MeshSizeMax = 0.2;\n"
      "Physical Surface(\"plate\") = {1}; Physical Curve(\"bottom\") = {1};\n";
  for (const char* version : {"2.2", "4.1"})
    for (const int binary : {0, 1})
      for (const int split : {0, 1}) {
        CAPTURE(version);
        CAPTURE(binary);
        save(folder.write(
            "save.geo", square + fmt::format("Mesh.MshFileVersion = {}; Mesh.Binary = {}; Mesh.PartitionSplitMeshFiles "
                                             "= {}; Mesh 2; PartitionMesh 2; Save \"{}\";\n",
                                             version, binary, split, (folder / "plate.msh").string())));
        if (split == 1) {
          for (const char* part : {"plate_1.msh", "plate_2.msh"}) {
            const std::string error = error_of(folder / part);
            CAPTURE(error);
            CHECK(has(error, "one part of a partitioned mesh"));
          }
          continue;
        }
        const Mesh mesh = read(folder / "plate.msh");
        CHECK(has_warning(mesh, "joined 2 partitions"));
        CHECK(mesh.region_names == std::vector<std::string>{"plate"});
        CHECK(measure(mesh) == doctest::Approx(1));
        CHECK(measure(mesh, group(mesh, "bottom")) == doctest::Approx(1));
      }
  CHECK(has_warning(read(folder.write("sides.geo", square + "Periodic Curve {2} = {-4};\n")), "left out Periodic"));
}

TEST_CASE("Group rules: tags, conditions at every node, and what matches nothing" * needs_gmsh()) {
  GmshOptions options;
  options.file = odd_meshes / "no_groups.msh";
  options.groups["left"] = {1, {}, [](double x, double, double) { return x == 0; }};
  options.groups["around"] = {1, {1, 2}, {}};
  options.groups["plate"] = {2, {1}, {}};
  const Mesh mesh = read_gmsh(options);
  CHECK(mesh.region_names == std::vector<std::string>{"plate"});
  CHECK(group(mesh, "left").facets.size() == 1);
  CHECK(measure(mesh, group(mesh, "around")) == doctest::Approx(2));

  CHECK_FALSE(has_warning(mesh, "matches all"));

  GmshOptions named;
  named.file = odd_meshes / "square.msh";
  named.groups["right"] = {1, {}, [](double, double y, double) { return y == 0; }};
  const Mesh joined = read_gmsh(named);
  CHECK(measure(joined, group(joined, "right")) == doctest::Approx(2));
  CHECK(has_warning(joined, "the file has a group 'right' already: what its rule finds is added to that"));
  named.groups["right"].where = [](double x, double, double) { return x == 1; };
  CHECK_FALSE(has_warning(read_gmsh(named), "already"));

  options.groups["left"].where = [](double x, double, double) { return x < 1000; };  // as if in millimetres
  CHECK(has_warning(
      read_gmsh(options),
      "the condition of group 'left' matches all 4 curves, which lie in [0, 1] x [0, 1] x [0, 0], in metres"));
  options.groups["left"].where = [](double x, double, double) { return x < -1; };
  const std::string nothing = error_of(options);
  CHECK(has(nothing, "group 'left' matches nothing; there are 4 entities of dimension 1"));
  CHECK(has(nothing, "2 in [1, 1] x [0, 1]"));
  options.groups.erase("left");
  options.groups["around"].tags = {1, 99};
  CHECK(has(error_of(options), "'around' names entity 99"));
  options.groups["around"] = {0, {1}, {}};
  CHECK(has(error_of(options), "'around' has dimension 0"));
  options.groups.erase("around");
  options.groups["also"] = {2, {1}, {}};
  CHECK(has(error_of(options), "a cell has one region"));

  options.groups.clear();
  options.file = odd_meshes / "inner_group.msh";
  options.groups["diagonal"] = {1, {2}, {}};
  CHECK(has(error_of(options), "'diagonal' lies inside the domain"));
}

TEST_CASE("The same geometry gives the same mesh twice, and the process keeps its threads and locale" * needs_gmsh()) {
  GmshOptions options;
  options.file = geometries / "heat_sink.step";
  options.size = 0.01;
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  const Mesh first = read_gmsh(options), second = read_gmsh(options);
  CHECK(first.coordinates == second.coordinates);
  CHECK(first.cell_nodes == second.cell_nodes);
  CHECK(locale == std::setlocale(LC_ALL, nullptr));
  CHECK_FALSE(gmsh_version().empty());
}
