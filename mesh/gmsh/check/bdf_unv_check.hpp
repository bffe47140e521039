#pragma once

#include <string_view>

// What Gmsh would not notice of files that it reads line by line.

namespace femcg::mesh {

/// Nastran's bulk data. Throws std::runtime_error where ENDDATA is missing, so that the file is cut short, and "line
/// 12:
/// ..." where an element goes on in a line that Gmsh takes for nothing: it looks for one only behind a line with a
/// tenth field, and makes of a tetrahedron with ten nodes one with four.
void check_bdf(std::string_view text);

/// A universal file. Throws where its last dataset has no end.
void check_unv(std::string_view text);

}  // namespace femcg::mesh
