#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh/cell_quality.hpp"
#include "mesh/gmsh/gmsh_reader.hpp"

namespace femcg::solver {

/// A region or a face of a mesh, with what can be measured of it.
struct MeasuredEntity {
  mesh::Entity entity;
  std::int64_t elements = 0;             ///< its cells or facets
  double measure = 0;                    ///< volume, area or length
  std::array<double, 3> low{}, high{};   ///< corners of the box about its nodes
  std::array<double, 3> centre{};        ///< of mass
  std::vector<std::int32_t> neighbours;  ///< ascending numbers of regions: at both sides of a face, or across faces
  bool inside = false;                   ///< of a face: whether some of it lies between two cells
};

/// The worst and the mean of a number that each cell has, and the centre of the worst cell.
struct Extreme {
  double worst = 0, mean = 0;
  std::array<double, 3> at{};
};

/// Contents of a mesh, for a user who names its parts.
struct Inspection {
  int dimension = 0;
  std::vector<MeasuredEntity> regions, faces;
  MeasuredEntity unnamed;  ///< the boundary that belongs to no face; no elements where there is none
  std::vector<mesh::CellQuality> of_cells;
  Extreme smallest_angle, largest_angle, jacobian, aspect;
};

Inspection inspect(const mesh::EntityMesh& by_entity);

/// A mesh whose regions and boundary groups are taken for entities, as those of a box; their tags count
/// from 1.
mesh::EntityMesh entities_of_groups(mesh::Mesh mesh);

}  // namespace femcg::solver
