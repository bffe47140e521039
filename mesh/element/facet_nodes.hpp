#pragma once

#include <vector>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

/// Lattice nodes on a facet: its vertices first, in order around it, then the others.
std::vector<int> nodes_around_facet(const Lattice& lattice, int facet);

}  // namespace femcg::mesh
