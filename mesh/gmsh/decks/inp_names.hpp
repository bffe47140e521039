#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mesh/gmsh/decks/inp_lines.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

// Abaqus's keywords, their parameters and elements: which are read, and which have no meaning for a mesh.

namespace femcg::mesh {

/// Throws std::runtime_error, "line 12: ...", for a keyword or parameter that is not understood, within a step or
/// outside. Returns a warning about one that has no effect here, or "".
std::string check_keyword(const InpKeyword& keyword, bool in_step);

/// Geometry of an element type (C3D10M, DC2D4, S3R, T3D2, ...); empty if it is skipped as neither cell nor facet.
/// Throws std::runtime_error, "line 12: ...", for an unsupported type.
std::optional<ElementType> inp_element_type(std::string_view type, std::size_t line);

}  // namespace femcg::mesh
