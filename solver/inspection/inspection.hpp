#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh/cell_quality.hpp"
#include "mesh/gmsh/gmsh_reader.hpp"

namespace femcg::solver {

/// A region or a face of a mesh, with its measurements.
struct MeasuredEntity {
  mesh::Entity entity;
  std::int64_t elements = 0;             ///< number of its cells or facets
  double measure = 0;                    ///< volume, area or length
  std::array<double, 3> low{}, high{};   ///< corners of the bounding box of its nodes
  std::array<double, 3> centre{};        ///< centre of mass
  std::vector<std::int32_t> neighbours;  ///< ascending region numbers: beside a face, or across the faces of a region
  bool inside = false;                   ///< of a face: true if part of it lies between two cells
};

/// Worst and mean of a quantity of the cells, and the centre of the worst cell.
struct Extreme {
  double worst = 0, mean = 0;
  std::array<double, 3> at{};
};

/// Contents of a mesh, for naming its parts.
struct Inspection {
  int dimension = 0;
  std::vector<MeasuredEntity> regions, faces;
  MeasuredEntity unnamed;  ///< boundary that belongs to no face; without elements if there is none
  std::vector<mesh::CellQuality> of_cells;
  Extreme smallest_angle, largest_angle, jacobian, aspect;
};

Inspection inspect(const mesh::EntityMesh& by_entity);

/// A mesh whose regions and boundary groups are taken as entities, as for a box; their tags count from 1.
mesh::EntityMesh entities_of_groups(mesh::Mesh mesh);

}  // namespace femcg::solver
