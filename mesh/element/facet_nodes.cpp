#include "mesh/element/facet_nodes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace femcg::mesh {

std::vector<int> nodes_around_facet(const Lattice& lattice, int facet) {
  const int d = dimension(lattice.shape()), p = lattice.degree();
  std::vector<int> nodes;
  for (const int vertex : facets(lattice.shape())[facet].vertices) nodes.push_back(lattice.vertex_nodes()[vertex]);
  if (nodes.size() == 4) std::swap(nodes[2], nodes[3]);
  for (int node = 0; node < lattice.size(); ++node) {
    const std::array<int, 3>& at = lattice.index(node);
    const bool on = is_tensor(lattice.shape()) ? at[facet / 2] == (facet % 2) * p
                    : facet == d               ? at[0] + at[1] + at[2] == p
                                               : at[d - facet - 1] == 0;
    if (on && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace femcg::mesh
