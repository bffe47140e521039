#pragma once

#include <string_view>

#include "mesh/gmsh/decks/deck.hpp"

namespace femcg::mesh {

// The decks that read_inp, read_bdf and read_unv make a mesh from. The readers throw std::runtime_error, "line 12:
// ...", as they do.

Deck read_inp_deck(std::string_view text);
Deck read_bdf_deck(std::string_view text);
Deck read_unv_deck(std::string_view text);

}  // namespace femcg::mesh
