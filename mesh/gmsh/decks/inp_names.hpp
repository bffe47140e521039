#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mesh/gmsh/decks/inp_lines.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

// Abaqus's keywords, their parameters and its elements: what is read, and what is known to say nothing about a mesh.

namespace femcg::mesh {

/// Throws std::runtime_error, "line 12: ...", for a keyword or parameter that is not understood, within a step or
/// outside; answers with a warning on one that has no effect here, or "".
std::string check_keyword(const InpKeyword& keyword, bool in_step);

/// The geometry of an element by its type (C3D10M, DC2D4, S3R, T3D2, ...); nothing where it is left out, being neither
/// cell nor facet. Throws std::runtime_error, "line 12: ...", for a type that is not read.
std::optional<ElementType> inp_element_type(std::string_view type, std::size_t line);

}  // namespace femcg::mesh
