#pragma once

#include <string_view>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The mesh of an Abaqus input file of one part, which Gmsh writes and does not read: *NODE, *ELEMENT, *ELSET, *SURFACE
/// of element faces. Coordinates are multiplied by `factor`.
///
/// Every combination of element sets is an entity, and every element set and surface a group, in this order: those of
/// *SOLID SECTION, of *ELSET, of *ELEMENT, surfaces, as the file begins them. Sets that the file calls internal are
/// none. What is no part of a mesh is passed over; node sets, and elements that have no cell's or facet's geometry,
/// with a warning.
///
/// Throws std::runtime_error, "line 12: ...", for a node or element that is defined twice or not at all, too few or too
/// many nodes of an element, what is no number, a set or face that does not exist, and for what would have to be made
/// first: several parts or instances that are moved, *INCLUDE, *SYSTEM, generated nodes and elements.
RawMesh read_inp(std::string_view text, double factor);

}  // namespace femcg::mesh
