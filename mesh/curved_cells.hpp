#pragma once

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Moves the inner nodes of triangles of order 3 and 4 to where the displacement of each curved edge extends into the
/// cell as a polynomial of its own degree: with the edge a-b displaced by s (1 - s) P(2s - 1), the inside moves by
/// lambda_a lambda_b P(lambda_b - lambda_a). Then the k-th derivatives of the cell map are O(h^k), without which curved
/// cells lose their rate (Lenoir 1986); nodes that are merely blended between the edges do not have that from order 4
/// on. Does nothing to other cells.
void place_inner_nodes(Mesh& mesh);

}  // namespace femcg::mesh
