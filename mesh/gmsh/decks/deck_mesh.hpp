#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "mesh/gmsh/raw/raw_mesh.hpp"

// Readers of text mesh files of other programs. Each reader has one list of keywords that it reads and one of keywords
// without meaning for a mesh; it refuses any other with its line. All throw std::runtime_error, "line 12: ...", also
// for a node or element that is defined twice or not at all, an element with too few nodes, or an invalid number.
// Coordinates are multiplied by `factor`. Each property, and each combination of sets within it, is an entity.

namespace femcg::mesh {

/// Mesh of an Abaqus input file of one part: *NODE, *ELEMENT, *ELSET, *SURFACE of element faces. Every element set and
/// surface is a group, in this order: sets of *SOLID SECTION, of *ELSET, of *ELEMENT, surfaces, each in file order.
/// Internal sets are ignored. Refuses files that need generation or assembly: several parts, moved instances, *SYSTEM,
/// generated nodes and elements.
RawMesh read_inp(std::string_view text, double factor);

/// Mesh of Nastran's bulk data. Property numbers become entity tags. Coordinates in a frame (CORD1R, CORD2C, ...) are
/// transformed to the basic frame.
RawMesh read_bdf(std::string_view text, double factor);

/// Mesh of a universal file with its groups of elements.
RawMesh read_unv(std::string_view text, double factor);
/// Length in metres of the unit that a universal file states (dataset 164); empty if it states none.
std::optional<double> unv_metres(std::string_view text);

/// True if read_deck reads the file, judged by its extension.
bool is_deck(const std::filesystem::path& file);
/// Mesh of a deck with all files that it includes, read by the reader for its extension. Messages name the file of the
/// line: "line 12 of 'nodes.inc': ...".
RawMesh read_deck(const std::filesystem::path& file, double factor);

}  // namespace femcg::mesh
