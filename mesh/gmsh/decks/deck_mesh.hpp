#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "mesh/gmsh/raw/raw_mesh.hpp"

// Files of other programs that are text, line by line. Each reader has one list of what it reads and of what it knows
// to say nothing about a mesh; anything else is refused with its line. All throw std::runtime_error, "line 12: ...",
// also for a node or element that is defined twice or not at all, too few nodes of an element, and what is no number.
// Coordinates are multiplied by `factor`. Every property, and every combination of sets within it, is an entity.

namespace femcg::mesh {

/// The mesh of an Abaqus input file of one part: *NODE, *ELEMENT, *ELSET, *SURFACE of element faces. Every element set
/// and surface is a group: those of *SOLID SECTION first, then of *ELSET, of *ELEMENT, surfaces, as the file begins
/// them. Sets that the file calls internal are none. Refuses what would have to be made first: several parts or
/// instances that are moved, *SYSTEM, generated nodes and elements.
RawMesh read_inp(std::string_view text, double factor);

/// The mesh of Nastran's bulk data. Entities have the numbers of the properties as their tags. Coordinates in a frame
/// of their own (CORD1R, CORD2C, ...) become those of the basic one.
RawMesh read_bdf(std::string_view text, double factor);

/// The mesh of a universal file, and its groups of elements.
RawMesh read_unv(std::string_view text, double factor);
/// Metres of the unit that a universal file states (dataset 164); nothing where it states none.
std::optional<double> unv_metres(std::string_view text);

/// True for a file that read_deck reads, by its ending.
bool is_deck(const std::filesystem::path& file);
/// The mesh of a deck with all files that it includes, by the reader above that its ending says. Sentences have the
/// file of their line: "line 12 of 'nodes.inc': ...".
RawMesh read_deck(const std::filesystem::path& file, double factor);

}  // namespace femcg::mesh
