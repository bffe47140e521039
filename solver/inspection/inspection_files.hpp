#pragma once

#include <ostream>

#include "solver/inspection/inspection.hpp"

namespace femcg::solver {

/// Writes the cells as VTK Lagrange cells, with their region's tag and their quality as cell data.
void write_cells(std::ostream& stream, const mesh::EntityMesh& by_entity, const Inspection& inspection);

/// Writes the facets of all faces, with the tags of the face and of the region of the adjacent cell.
void write_faces(std::ostream& stream, const mesh::EntityMesh& by_entity);

}  // namespace femcg::solver
