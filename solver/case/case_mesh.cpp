#include "solver/case/case_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "solver/case/case_mesh_file.hpp"

namespace femcg::solver {

namespace {

using Kind = CaseNode::Kind;

constexpr NumberRule distortion_2d{"a number from 0 to 0.3 in 2D", 0,
                                   mesh::most_distortion(mesh::CellShape::quadrilateral)};
constexpr NumberRule distortion_3d{"a number from 0 to 0.2 in 3D", 0,
                                   mesh::most_distortion(mesh::CellShape::hexahedron)};

/// Reads the number of cells along each axis; returns the dimension, 2 or 3 (0 if the key is wrong).
int read_cells(const MapReader& box, mesh::BoxOptions& options) {
  const auto value = box.find("cells");
  if (!value) {
    if (!box.has("cells"))
      box.problems().add(box.place(), "mesh.box needs the number of cells, such as cells: [64, 64], or of dofs");
    return 0;
  }
  const auto items = value->items("a list of 2 or 3 whole numbers");
  if (!items) return 0;
  if (items->size() < 2 || items->size() > 3) {
    value->note(fmt::format("mesh.box.cells must be 2 or 3 whole numbers, not {}", items->size()));
    return 0;
  }
  for (std::size_t axis = 0; axis < items->size(); ++axis)
    options.cells[axis] = static_cast<int>((*items)[axis].whole().value_or(1));
  return static_cast<int>(items->size());
}

void read_size(const MapReader& box, int dimension, mesh::BoxOptions& options) {
  const auto value = box.find("size");
  if (!value) return;
  const auto items = value->items("a list of 2 or 3 positive numbers");
  if (!items) return;
  if (items->size() > 3 || (dimension != 0 && static_cast<int>(items->size()) != dimension)) {
    value->note(fmt::format("mesh.box.size has {} numbers, but mesh.box.cells has {}", items->size(), dimension));
    return;
  }
  for (std::size_t axis = 0; axis < items->size(); ++axis) options.size[axis] = (*items)[axis].number().value_or(1.0);
}

/// Dimension of a box that is given by its number of dofs: the number of its edge lengths, or its cell's dimension.
int dimension_without_cells(const MapReader& box) {
  if (const auto size = box.find("size"); size && size->is(Kind::list))
    return static_cast<int>(size->node().children.size());
  if (const auto cell = box.find("cell"))
    if (const auto shape = mesh::cell_shape_from_name(cell->node().text)) return mesh::dimension(*shape);
  return 2;
}

/// Chooses cells as close to cubes as possible with about `dofs` dofs: prod_i (degree cells_i + 1).
void choose_cells(std::int64_t dofs, int dimension, int degree, mesh::BoxOptions& options) {
  double volume = 1;
  for (int axis = 0; axis < dimension; ++axis) volume *= options.size[axis];
  const double a_length = std::pow(static_cast<double>(dofs) / volume, 1.0 / dimension);
  for (int axis = 0; axis < dimension; ++axis) {
    const double cells = std::round((options.size[axis] * a_length - 1) / degree);
    options.cells[axis] = static_cast<int>(std::clamp(cells, 1.0, 1e9));
  }
}

mesh::BoxOptions read_box(const MapReader& mesh, int degree, std::optional<std::int64_t>& dofs) {
  const MapReader box(mesh, "box");
  mesh::BoxOptions options;
  const bool by_dofs = box.has("dofs");
  if (by_dofs && box.has("cells"))
    box.problems().add(box.place(), "mesh.box has both cells and dofs; keep one of them");
  const int dimension = by_dofs ? std::clamp(dimension_without_cells(box), 2, 3) : read_cells(box, options);
  read_size(box, dimension, options);
  if (by_dofs) {
    dofs = box.read("dofs", std::int64_t{1}, [](const ValueReader& value) { return value.whole(); });
    choose_cells(*dofs, dimension, degree, options);
  }

  options.shape = dimension == 3 ? mesh::CellShape::hexahedron : mesh::CellShape::quadrilateral;
  const std::string cell = box.choice("cell", std::string(mesh::name(options.shape)));
  options.shape = *mesh::cell_shape_from_name(cell);
  if (dimension != 0 && mesh::dimension(options.shape) != dimension)
    box.find("cell")->note(fmt::format("mesh.box.cell is {}, which has {} dimensions, but mesh.box.{} has {} numbers",
                                       cell, mesh::dimension(options.shape), by_dofs ? "size" : "cells", dimension));
  options.distort = box.number("distort", mesh::dimension(options.shape) == 3 ? distortion_3d : distortion_2d);
  if (const auto count = box.find(by_dofs ? "dofs" : "cells")) try {
      mesh::check_box(options);
    } catch (const std::invalid_argument& error) {
      count->note(error.what());  // all other errors have been replaced by valid values
    }
  return options;
}

}  // namespace

MeshChoice read_mesh_choice(const MapReader& top, const std::filesystem::path& folder, int degree) {
  MeshChoice choice;
  const MapReader mesh(top, "mesh");
  choice.place = mesh.place();
  if (!top.has("mesh")) {
    top.problems().add(top.place(), "the case has no mesh; add mesh: {file: ...} or mesh: {box: {cells: [64, 64]}}");
    return choice;
  }
  choice.refine = static_cast<int>(mesh.whole("refine"));
  if (!top.find("mesh") || !top.find("mesh")->is(Kind::map)) return choice;  // reported already
  if (!mesh.alternative()) {
    top.problems().add(mesh.place(), mesh.has("file") ? "mesh has both file and box; keep one of them"
                                                      : "mesh needs either file or box");
    return choice;
  }
  if (mesh.has("file")) {
    mesh::GmshOptions file = read_mesh_file(mesh, folder, choice.conditions);
    file.refine = choice.refine;
    choice.cache = mesh.flag("cache");
    choice.source = std::move(file);
    return choice;
  }
  for (const char* key : {"unit", "scale", "size", "sizes", "order", "cells", "cache", "groups"})
    if (const auto value = mesh.find(key))
      top.problems().add(value->key_place(),
                         fmt::format("mesh.{} goes with mesh.file, not with a box{}", key,
                                     std::string_view(key) == "size" || std::string_view(key) == "cells"
                                         ? fmt::format(" (which has mesh.box.{})", key)
                                         : ""));
  choice.source = read_box(mesh, degree, choice.box_dofs);
  return choice;
}

}  // namespace femcg::solver
