#include "mesh/entity_numbers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// One use of an entity by a cell, stored at its least vertex; the next two vertices distinguish the entities there.
struct Use {
  std::uint64_t others;  ///< the second and third least vertex, packed
  std::int64_t slot;     ///< position in EntityNumbers::of_cell
  bool operator<(const Use& other) const { return others != other.others ? others < other.others : slot < other.slot; }
  bool same_entity(const Use& other) const { return others == other.others; }
};

/// Calls see(vertices, slot) for every entity of every cell, its vertices ascending; an edge's are padded with -1.
template <class See>
void for_each_use(const Mesh& mesh, const std::vector<SubEntity>& entities, See see) {
  struct Local {
    std::array<int, 4> nodes;
    int count;
  };
  std::vector<Local> locals;
  const std::vector<int> vertex_nodes = Lattice(mesh.shape, mesh.order).vertex_nodes();
  for (const SubEntity& entity : entities) {
    Local local{{}, static_cast<int>(entity.vertices.size())};
    for (int v = 0; v < local.count; ++v) local.nodes[v] = vertex_nodes[entity.vertices[v]];
    locals.push_back(local);
  }
  const auto per_cell = static_cast<std::int64_t>(entities.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto nodes = mesh.nodes(cell);
    for (std::int64_t e = 0; e < per_cell; ++e) {
      const Local& local = locals[e];
      std::array<std::int32_t, 4> vertices{-1, -1, -1, -1};
      for (int v = 0; v < local.count; ++v) {
        const std::int32_t node = nodes[local.nodes[v]];
        int place = v;
        for (; place > 0 && vertices[place - 1] > node; --place) vertices[place] = vertices[place - 1];
        vertices[place] = node;
      }
      see(vertices, cell * per_cell + e);
    }
  }
}

/// Uses of all entities, sorted by least vertex; the uses of one entity are contiguous, in the order of the cells.
class SortedUses {
 public:
  SortedUses(const Mesh& mesh, const std::vector<SubEntity>& entities)
      : end_(array_of<std::int64_t>(mesh.node_count())) {
    // Counting sort by least vertex, then a short sort of the uses at each vertex.
    for_each_use(mesh, entities, [&](const auto& vertices, std::int64_t) { count_one(end_[vertices[0]]); });
    const std::int64_t count = sum_before(std::span(end_));
    uses_ = std::make_unique_for_overwrite<Use[]>(count);
    fetch_pages(uses_.get(), count * sizeof(Use));
    for_each_use(mesh, entities, [&](const auto& vertices, std::int64_t slot) {
      const std::uint64_t second = static_cast<std::uint32_t>(vertices[1]);
      uses_[count_one(end_[vertices[0]])] = {second << 32 | static_cast<std::uint32_t>(vertices[2]), slot};
    });
#pragma omp parallel for schedule(static)
    for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex) {
      const std::span<Use> uses = at(vertex);
      std::sort(uses.begin(), uses.end());
    }
  }

  std::span<Use> at(std::int32_t vertex) const {
    const std::int64_t begin = vertex > 0 ? end_[vertex - 1] : 0;
    return {uses_.get() + begin, static_cast<std::size_t>(end_[vertex] - begin)};
  }

 private:
  Array<std::int64_t> end_;  ///< end of each vertex's uses
  std::unique_ptr<Use[]> uses_;
};

bool begins_entity(std::span<const Use> uses, std::size_t u) { return u == 0 || !uses[u].same_entity(uses[u - 1]); }

}  // namespace

EntityNumbers number_entities(const Mesh& mesh, int entity_dimension) {
  const std::vector<SubEntity>& entities = entity_dimension == 1 ? edges(mesh.shape) : faces(mesh.shape);
  const SortedUses sorted(mesh, entities);
  Array<std::int64_t> first = array_of<std::int64_t>(mesh.node_count());  // first entity number of each vertex
#pragma omp parallel for schedule(static)
  for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex) {
    const std::span<const Use> uses = sorted.at(vertex);
    for (std::size_t u = 0; u < uses.size(); ++u) first[vertex] += begins_entity(uses, u) ? 1 : 0;
  }
  const std::int64_t count = sum_before(std::span(first));
  if (count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("the mesh has more than 2^31 - 1 edges or faces");
  EntityNumbers numbers;
  numbers.count = static_cast<std::int32_t>(count);
  numbers.of_cell = unset<std::int32_t>(mesh.cell_count() * entities.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex) {
    const std::span<const Use> uses = sorted.at(vertex);
    auto next = static_cast<std::int32_t>(first[vertex]);
    for (std::size_t u = 0; u < uses.size(); ++u) {
      if (begins_entity(uses, u)) ++next;
      numbers.of_cell[uses[u].slot] = next - 1;
    }
  }
  return numbers;
}

std::vector<BoundaryFacet> unshared_facets(const Mesh& mesh) {
  const std::vector<SubEntity>& entities = facets(mesh.shape);
  const SortedUses sorted(mesh, entities);
  const auto per_cell = static_cast<int>(entities.size());
  bool overlaps = false;
  // 1 for each slot whose facet belongs to one cell only.
  Array<std::uint8_t> is_alone = array_of<std::uint8_t>(mesh.cell_count() * entities.size());
#pragma omp parallel for schedule(static) reduction(|| : overlaps)
  for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex) {
    const std::span<const Use> uses = sorted.at(vertex);
    for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
      while (end < uses.size() && uses[end].same_entity(uses[begin])) ++end;
      if (end - begin == 1) is_alone[uses[begin].slot] = 1;
      overlaps = overlaps || end - begin > 2;
    }
  }
  if (overlaps) throw std::runtime_error("a facet is shared by three or more cells: the mesh overlaps itself");
  return collect<BoundaryFacet>(mesh.cell_count(), [&](std::int64_t cell, std::vector<BoundaryFacet>& found) {
    for (int f = 0; f < per_cell; ++f)
      if (is_alone[cell * per_cell + f] != 0) found.push_back({static_cast<std::int32_t>(cell), f});
  });
}

}  // namespace femcg::mesh
