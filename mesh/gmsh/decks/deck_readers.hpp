#pragma once

#include <string_view>

#include "mesh/gmsh/decks/deck.hpp"

namespace femcg::mesh {

// Readers of the decks that read_inp, read_bdf and read_unv convert to a mesh. They throw std::runtime_error, "line 12:
// ...", like those.

Deck read_inp_deck(std::string_view text);
Deck read_bdf_deck(std::string_view text);
Deck read_unv_deck(std::string_view text);

}  // namespace femcg::mesh
