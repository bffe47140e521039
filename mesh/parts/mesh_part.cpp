#include "mesh/parts/mesh_part.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/parts/partition.hpp"

namespace femcg::mesh {

namespace {

using Holder = std::pair<std::int32_t, std::int32_t>;

/// Vertices that cells of several processes share, paired with each of these processes, sorted.
std::vector<Holder> holders_of_vertices(const Mesh& mesh, std::span<const std::int32_t> process_of) {
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<std::int32_t> least = filled(mesh.node_count(), std::numeric_limits<std::int32_t>::max());
  std::vector<std::int32_t> greatest = filled<std::int32_t>(mesh.node_count(), -1);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const int v : vertices) {
      lower(least[mesh.nodes(cell)[v]], process_of[cell]);
      raise(greatest[mesh.nodes(cell)[v]], process_of[cell]);
    }
  auto holders = collect<Holder>(mesh.cell_count(), [&](std::int64_t i, std::vector<Holder>& found) {
    const auto cell = static_cast<std::int32_t>(i);
    for (const int v : vertices)
      if (const std::int32_t node = mesh.nodes(cell)[v]; least[node] < greatest[node])
        found.emplace_back(node, process_of[cell]);
  });
  std::ranges::sort(holders);
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  return holders;
}

// Serialisation: numbers in native layout, lists after their length.

class Writer {
 public:
  template <class Container>
  void list(const Container& from) {
    number(static_cast<std::int64_t>(from.size()));
    bytes_.append(reinterpret_cast<const char*>(from.data()), from.size() * sizeof(*from.data()));
  }
  void number(std::int64_t from) { bytes_.append(reinterpret_cast<const char*>(&from), sizeof from); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : at_(bytes.data()) {}
  template <class Container>
  void list(Container& to) {
    to.resize(static_cast<std::size_t>(number()));
    take(to.data(), to.size() * sizeof(*to.data()));
  }
  std::int64_t number() {
    std::int64_t to = 0;
    take(&to, sizeof to);
    return to;
  }

 private:
  void take(void* to, std::size_t bytes) {
    if (bytes == 0) return;
    std::memcpy(to, at_, bytes);
    at_ += bytes;
  }
  const char* at_;
};

}  // namespace

DividedMesh::DividedMesh(const Mesh& whole, std::span<const std::int32_t> process_of)
    : whole_(&whole), process_of_(process_of), holders_(holders_of_vertices(whole, process_of)) {}

MeshPart DividedMesh::part(int rank) const {
  MeshPart part;
  for (std::int32_t cell = 0; cell < whole_->cell_count(); ++cell)
    if (process_of_[cell] == rank) part.cell_numbers.push_back(cell);
  part.mesh = mesh_of_cells(*whole_, part.cell_numbers);
  for (const BoundaryGroup& group : whole_->boundaries) {
    std::vector<BoundaryFacet>& facets = part.mesh.boundaries.emplace_back(BoundaryGroup{group.name, {}}).facets;
    for (const BoundaryFacet& facet : group.facets)
      if (process_of_[facet.cell] == rank) {
        const auto cell = std::ranges::lower_bound(part.cell_numbers, facet.cell) - part.cell_numbers.begin();
        facets.push_back({static_cast<std::int32_t>(cell), facet.facet});
      }
  }
  std::vector<std::int32_t> here = filled<std::int32_t>(whole_->node_count(), -1);  // local number of each node
  for (std::int32_t cell = 0; cell < part.mesh.cell_count(); ++cell)
    for (int a = 0; a < whole_->nodes_per_cell(); ++a)
      here[whole_->nodes(part.cell_numbers[cell])[a]] = part.mesh.nodes(cell)[a];
  std::vector<Holder> shared;  // process and vertex
  for (auto first = holders_.begin(); first != holders_.end();) {
    const auto last =
        std::find_if(first, holders_.end(), [&](const Holder& other) { return other.first != first->first; });
    if (std::any_of(first, last, [&](const Holder& holder) { return holder.second == rank; }))
      for (auto holder = first; holder != last; ++holder)
        if (holder->second != rank) shared.emplace_back(holder->second, here[holder->first]);
    first = last;
  }
  std::ranges::stable_sort(shared, {}, &Holder::first);
  for (const auto& [process, vertex] : shared) {
    if (part.neighbours.empty() || part.neighbours.back().rank != process) part.neighbours.push_back({process, {}});
    part.neighbours.back().vertices.push_back(vertex);
  }
  return part;
}

MeshPart refined(const MeshPart& part, const FunctionSpace& lattice, std::span<const MeshPart::Neighbour> shared) {
  MeshPart finer;
  finer.mesh = refine(lattice);
  const Mesh& mesh = finer.mesh;
  std::vector<char> is_vertex = filled<char>(mesh.node_count());
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const int v : vertices) std::atomic_ref(is_vertex[mesh.nodes(cell)[v]]).store(1, std::memory_order_relaxed);
  for (const MeshPart::Neighbour& nodes : shared) {
    MeshPart::Neighbour neighbour{nodes.rank, {}};
    for (const std::int32_t node : nodes.vertices)
      if (is_vertex[node] != 0) neighbour.vertices.push_back(node);
    finer.neighbours.push_back(std::move(neighbour));
  }
  const int children = 1 << mesh.dimension();
  for (const std::int32_t number : part.cell_numbers)
    for (int child = 0; child < children; ++child) finer.cell_numbers.push_back(number * children + child);
  return finer;
}

std::string to_bytes(const MeshPart& part) {
  const Mesh& mesh = part.mesh;
  if (mesh.box) throw std::logic_error("a part of a box is made where it is needed");
  Writer to;
  to.number(static_cast<std::int64_t>(mesh.shape));
  to.number(mesh.order);
  to.number(mesh.axisymmetric ? 1 : 0);
  to.number(mesh.follows_curve ? 1 : 0);
  to.list(mesh.coordinates);
  to.list(mesh.cell_nodes);
  to.list(mesh.cell_regions);
  to.number(std::ssize(mesh.region_names));
  for (const std::string& name : mesh.region_names) to.list(name);
  to.number(std::ssize(mesh.boundaries));
  for (const BoundaryGroup& group : mesh.boundaries) {
    to.list(group.name);
    to.list(group.facets);
  }
  to.number(std::ssize(part.neighbours));
  for (const MeshPart::Neighbour& neighbour : part.neighbours) {
    to.number(neighbour.rank);
    to.list(neighbour.vertices);
  }
  to.list(part.cell_numbers);
  return to.take();
}

MeshPart part_from_bytes(const std::string& bytes) {
  MeshPart part;
  Mesh& mesh = part.mesh;
  Reader from(bytes);
  mesh.shape = static_cast<CellShape>(from.number());
  mesh.order = static_cast<int>(from.number());
  mesh.axisymmetric = from.number() != 0;
  mesh.follows_curve = from.number() != 0;
  from.list(mesh.coordinates);
  from.list(mesh.cell_nodes);
  from.list(mesh.cell_regions);
  mesh.region_names.resize(static_cast<std::size_t>(from.number()));
  for (std::string& name : mesh.region_names) from.list(name);
  mesh.boundaries.resize(static_cast<std::size_t>(from.number()));
  for (BoundaryGroup& group : mesh.boundaries) {
    from.list(group.name);
    from.list(group.facets);
  }
  part.neighbours.resize(static_cast<std::size_t>(from.number()));
  for (MeshPart::Neighbour& neighbour : part.neighbours) {
    neighbour.rank = static_cast<int>(from.number());
    from.list(neighbour.vertices);
  }
  from.list(part.cell_numbers);
  return part;
}

}  // namespace femcg::mesh
