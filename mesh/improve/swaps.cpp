#include "mesh/improve/swaps.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace femcg::mesh {

namespace {

using Cell = std::array<std::int32_t, 4>;
using Facet = std::array<std::int32_t, 3>;

// A gain above rounding.
constexpr double least_gain = 1e-6;
constexpr std::size_t most_cells_around = 12;

/// Cells of one volume around an edge, in order: the ring of vertices opposite the edge, counterclockwise as seen from
/// the edge's end. Closed inside a volume, otherwise from surface to surface.
struct Fan {
  std::vector<std::int32_t> ring;
  int volume = 0;
};

/// Edge of a cell opposite (a, b), directed so that a, b and its ends are positively oriented.
std::pair<std::int32_t, std::int32_t> opposite_edge(const Cell& cell, std::int32_t a, std::int32_t b) {
  Cell order{a, b, -1, -1};
  int rest = 2;
  for (const std::int32_t v : cell)
    if (v != a && v != b) order[rest++] = v;
  int inversions = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      inversions += std::ranges::find(cell, order[i]) < std::ranges::find(cell, order[j]) ? 1 : 0;
  if (inversions % 2 == 1) std::swap(order[2], order[3]);
  return {order[2], order[3]};
}

std::int32_t apex(const Facet& facet, std::int32_t a, std::int32_t b) {
  return *std::ranges::find_if(facet, [&](std::int32_t v) { return v != a && v != b; });
}

/// Fans around an edge, from one of the `ends` to the other, which cover all its cells; empty if there is no such set.
std::optional<std::vector<Fan>> fans_around(const TetrahedralMesh& mesh, std::int32_t a, std::int32_t b,
                                            const std::vector<std::int32_t>& cells,
                                            const std::vector<std::int32_t>& ends) {
  struct Link {
    std::int32_t from, to;
    int volume;
  };
  std::vector<Link> links;
  for (const std::int32_t cell : cells) {
    const auto [from, to] = opposite_edge(mesh.cells.vertices(cell), a, b);
    links.push_back({from, to, mesh.cells.entity(cell)});
  }
  std::vector<Fan> fans;
  std::size_t used = 0;
  for (const std::int32_t start : ends.empty() ? std::vector{links[0].from} : ends) {
    Fan fan;
    std::int32_t at = start;
    for (;;) {
      const auto link = std::ranges::find(links, at, &Link::from);
      if (link == links.end()) break;
      if (!fan.ring.empty() && link->volume != fan.volume) return std::nullopt;
      fan.volume = link->volume;
      fan.ring.push_back(at);
      at = link->to;
      if (++used > links.size()) return std::nullopt;
      if (at == start || std::ranges::count(ends, at) > 0) break;
    }
    if (fan.ring.empty()) continue;
    if (ends.empty() ? at != start || fan.ring.size() < 3 : at == start) return std::nullopt;
    if (!ends.empty()) fan.ring.push_back(at);
    fans.push_back(std::move(fan));
  }
  if (used != links.size()) return std::nullopt;
  return fans;
}

/// Triangulation of a ring that gives the best cells with the ends of an edge (Klincsek 1980).
class BestTriangulation {
 public:
  BestTriangulation(const TetrahedralMesh& mesh, std::int32_t a, std::int32_t b, const std::vector<std::int32_t>& ring)
      : ring_(&ring), n_(ring.size()), best_(n_ * n_, {1, 0}) {
    for (std::size_t span = 2; span < n_; ++span)
      for (std::size_t i = 0; i + span < n_; ++i) {
        Choice& choice = best_[i * n_ + i + span];
        choice.quality = inverted;
        for (std::size_t k = i + 1; k < i + span; ++k) {
          double quality = std::min(best_[i * n_ + k].quality, best_[k * n_ + i + span].quality);
          if (quality > choice.quality)
            quality = std::min(quality, mesh.quality({a, ring[i], ring[k], ring[i + span]}));
          if (quality > choice.quality)
            quality = std::min(quality, mesh.quality({ring[i], ring[k], ring[i + span], b}));
          if (quality > choice.quality) choice = {quality, k};
        }
      }
  }

  /// Least quality of the cells; 1 without triangles.
  double quality() const { return best_[n_ - 1].quality; }
  std::vector<Facet> triangles() const {
    std::vector<Facet> all;
    collect(0, n_ - 1, all);
    return all;
  }

 private:
  struct Choice {
    double quality;
    std::size_t apex;
  };

  void collect(std::size_t i, std::size_t j, std::vector<Facet>& all) const {
    if (j - i < 2) return;
    const std::size_t k = best_[i * n_ + j].apex;
    all.push_back({(*ring_)[i], (*ring_)[k], (*ring_)[j]});
    collect(i, k, all);
    collect(k, j, all);
  }

  const std::vector<std::int32_t>* ring_;
  std::size_t n_;
  std::vector<Choice> best_;  ///< for the polygon from vertex i to j of the ring, [i][j]
};

/// Two facets with the other diagonal of the quadrilateral formed by the facets at the edge (a, b), with the same
/// orientation.
std::array<Facet, 2> with_other_diagonal(const Facet& first, const Facet& second, std::int32_t a, std::int32_t b) {
  const std::int32_t s = apex(first, a, b), t = apex(second, a, b);
  const auto at = std::ranges::find(first, a) - first.begin();
  if (first[(at + 1) % 3] != b) std::swap(a, b);
  return {{{s, a, t}, {t, b, s}}};
}

/// True if swapping the edge (a, b) between two facets for the other diagonal preserves the surface: it is smooth
/// there, and no edge is curved.
bool can_swap(const TetrahedralMesh& mesh, const std::vector<std::int32_t>& facets, std::int32_t a, std::int32_t b) {
  if (facets.size() != 2 || mesh.facets.entity(facets[0]) != mesh.facets.entity(facets[1])) return false;
  const std::array<Facet, 2> old{mesh.facets.vertices(facets[0]), mesh.facets.vertices(facets[1])};
  const std::int32_t s = apex(old[0], a, b), t = apex(old[1], a, b);
  if (!mesh.facets.around({s, t}).empty() || !mesh.edges.around({s, t}).empty()) return false;
  for (const std::int32_t v : {a, b, s, t})
    for (const std::int32_t w : {a, b, s, t})
      if (mesh.bends(v, w)) return false;
  const std::array<Facet, 2> others = with_other_diagonal(old[0], old[1], a, b);
  return nearly_parallel(mesh.normal(old[0]), mesh.normal(old[1])) &&
         std::ranges::all_of(others, [&](const Facet& other) {
           return nearly_parallel(mesh.normal(old[0]), mesh.normal(other)) &&
                  nearly_parallel(mesh.normal(old[1]), mesh.normal(other));
         });
}

void swap_facets(TetrahedralMesh& mesh, const std::vector<std::int32_t>& facets, std::int32_t a, std::int32_t b) {
  const int surface = mesh.facets.entity(facets[0]);
  const auto others = with_other_diagonal(mesh.facets.vertices(facets[0]), mesh.facets.vertices(facets[1]), a, b);
  for (const std::int32_t facet : facets) mesh.facets.remove(facet);
  for (const Facet& other : others) mesh.facets.add(other, surface);
}

double least_quality(const TetrahedralMesh& mesh, const std::vector<std::int32_t>& cells) {
  double least = 1;
  for (const std::int32_t cell : cells) least = std::min(least, mesh.quality(mesh.cells.vertices(cell)));
  return least;
}

}  // namespace

bool remove_edge(TetrahedralMesh& mesh, std::int32_t a, std::int32_t b) {
  const std::vector<std::int32_t> cells = mesh.cells.around({a, b}), facets = mesh.facets.around({a, b});
  if (cells.empty() || cells.size() > most_cells_around || !mesh.edges.around({a, b}).empty()) return false;
  std::vector<std::int32_t> ends;
  if (!facets.empty()) {
    if (!can_swap(mesh, facets, a, b)) return false;
    ends = {apex(mesh.facets.vertices(facets[0]), a, b), apex(mesh.facets.vertices(facets[1]), a, b)};
    // If the other diagonal is already an edge, it must belong to one of these cells, a flat one.
    const std::vector<std::int32_t> there = mesh.cells.around({ends[0], ends[1]});
    if (!there.empty() && std::ranges::find_first_of(there, cells) == there.end()) return false;
  }
  const std::optional<std::vector<Fan>> fans = fans_around(mesh, a, b, cells, ends);
  if (!fans) return false;
  const double least = least_quality(mesh, cells) + least_gain;
  std::vector<BestTriangulation> best;
  for (const Fan& fan : *fans)
    if (best.emplace_back(mesh, a, b, fan.ring).quality() < least) return false;
  for (const std::int32_t cell : cells) mesh.cells.remove(cell);
  for (std::size_t i = 0; i < best.size(); ++i)
    for (const auto& [p, q, r] : best[i].triangles()) {
      mesh.cells.add({a, p, q, r}, (*fans)[i].volume);
      mesh.cells.add({p, q, r, b}, (*fans)[i].volume);
    }
  if (!facets.empty()) swap_facets(mesh, facets, a, b);
  return true;
}

bool remove_edge_of(TetrahedralMesh& mesh, std::int32_t cell) {
  const std::array<std::int32_t, 4> vertices = mesh.cells.vertices(cell);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      if (remove_edge(mesh, vertices[j], vertices[i])) return true;
  return false;
}

bool swap_facet(TetrahedralMesh& mesh, std::int32_t cell, int opposite) {
  const Cell vertices = mesh.cells.vertices(cell);
  const std::int32_t a = vertices[opposite];
  Facet ring;
  std::ranges::copy_if(vertices, ring.begin(), [&](std::int32_t v) { return v != a; });
  const std::vector<std::int32_t> cells = mesh.cells.around({ring[0], ring[1], ring[2]});
  if (cells.size() != 2 || !mesh.facets.around({ring[0], ring[1], ring[2]}).empty() ||
      mesh.cells.entity(cells[0]) != mesh.cells.entity(cells[1]))
    return false;
  const Cell& beyond = mesh.cells.vertices(cells[0] == cell ? cells[1] : cells[0]);
  const std::int32_t b =
      *std::ranges::find_if(beyond, [&](std::int32_t v) { return std::ranges::count(ring, v) == 0; });
  // Counterclockwise as seen from b, for the cell (a, ring).
  if (opposite % 2 == 1) std::swap(ring[1], ring[2]);
  const double old = least_quality(mesh, cells);
  std::array<Cell, 3> around{{{a, b, ring[0], ring[1]}, {a, b, ring[1], ring[2]}, {a, b, ring[2], ring[0]}}};
  for (const Cell& each : around)
    if (mesh.quality(each) < old + least_gain) return false;
  const int volume = mesh.cells.entity(cell);
  for (const std::int32_t each : cells) mesh.cells.remove(each);
  for (const Cell& each : around) mesh.cells.add(each, volume);
  return true;
}

}  // namespace femcg::mesh
