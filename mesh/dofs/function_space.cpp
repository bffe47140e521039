#include "mesh/dofs/function_space.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/entity_numbers.hpp"
#include "mesh/geometry.hpp"
#include "mesh/structured_grid.hpp"

namespace femcg::mesh {

namespace {

const std::vector<SubEntity>& entities_of(CellShape shape, int entity_dimension) {
  return entity_dimension == 1 ? edges(shape) : faces(shape);
}

/// Entity that a lattice node belongs to, and its position in that entity.
struct NodePlace {
  int dimension;  ///< of the entity: 0 vertex, 1 edge, 2 face, 3 (or the cell's dimension) interior
  int entity;     ///< local number
  std::array<int, 2>
      index;     ///< on an edge {s, 0} from its first vertex; on a face (s, t) along its first and second vertex
  int interior;  ///< running number among the nodes inside the cell
};

/// Lattice index of a local vertex.
std::array<int, 3> corner_index(const Lattice& lattice, int vertex) {
  return lattice.index(lattice.vertex_nodes()[vertex]);
}

/// True if node a lies strictly inside the entity; `index` becomes its lattice coordinates there, each in 1..p-1.
bool place_in_entity(const Lattice& lattice, int a, const SubEntity& entity, std::array<int, 2>& index) {
  const std::array<int, 3> x = lattice.index(a), origin = corner_index(lattice, entity.vertices[0]);
  std::array<int, 3> rest{x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]};
  const int p = lattice.degree();
  index = {0, 0};
  for (int axis = 0; axis < entity.dimension; ++axis) {
    // Each axis of an entity increases one coordinate that is constant along its other axis.
    const std::array<int, 3> end = corner_index(lattice, entity.vertices[axis + 1]);
    int component = 0;
    while (end[component] <= origin[component]) ++component;
    index[axis] = x[component] - origin[component];
    for (int i = 0; i < 3; ++i) rest[i] -= index[axis] * (end[i] - origin[i]) / p;
  }
  if (rest != std::array{0, 0, 0}) return false;
  if (entity.dimension == 1) return index[0] > 0 && index[0] < p;
  const bool quadrilateral = entity.vertices.size() == 4;
  return index[0] > 0 && index[1] > 0 && (quadrilateral ? index[0] < p && index[1] < p : index[0] + index[1] < p);
}

std::vector<NodePlace> node_places(const Lattice& lattice) {
  const CellShape shape = lattice.shape();
  const int d = dimension(shape);
  std::vector<NodePlace> places(lattice.size(), {d, 0, {}, 0});
  int interior = 0;
  for (int a = 0; a < lattice.size(); ++a) {
    NodePlace& place = places[a];
    const auto vertex = std::find(lattice.vertex_nodes().begin(), lattice.vertex_nodes().end(), a);
    if (vertex != lattice.vertex_nodes().end()) {
      place = {0, static_cast<int>(vertex - lattice.vertex_nodes().begin()), {}, 0};
      continue;
    }
    bool found = false;
    for (int e = 1; e < d && !found; ++e) {
      const std::vector<SubEntity>& entities = entities_of(shape, e);
      for (int i = 0; i < static_cast<int>(entities.size()) && !found; ++i) {
        std::array<int, 2> index{};
        found = place_in_entity(lattice, a, entities[i], index);
        if (found) place = {e, i, index, 0};
      }
    }
    if (!found) place.interior = interior++;
  }
  return places;
}

/// Position of an inner edge node, counted from the end with the smaller global vertex.
int edge_position(int s, int degree, std::int32_t first, std::int32_t second) {
  return first < second ? s - 1 : degree - s - 1;
}

/// Position of an inner node of a triangular face: its barycentric indices, taken in the order of the global vertices.
int triangle_position(std::array<int, 2> index, int degree, const std::array<std::int32_t, 4>& vertices) {
  std::array<std::pair<std::int32_t, int>, 3> corners{
      {{vertices[0], degree - index[0] - index[1]}, {vertices[1], index[0]}, {vertices[2], index[1]}}};
  std::sort(corners.begin(), corners.end());
  const int i = corners[1].second - 1, j = corners[2].second - 1;
  const int n = degree - 2;  // nodes along an inner row
  return j * n - j * (j - 1) / 2 + i;
}

/// Position of an inner node of a quadrilateral face, counted from the vertex of the least global number, first towards
/// its neighbour of the lesser number.
int quadrilateral_position(std::array<int, 2> index, int degree, const std::array<std::int32_t, 4>& vertices) {
  const int corner = static_cast<int>(std::min_element(vertices.begin(), vertices.end()) - vertices.begin());
  int s = (corner & 1) ? degree - index[0] : index[0];
  int t = (corner & 2) ? degree - index[1] : index[1];
  if (vertices[corner ^ 1] > vertices[corner ^ 2]) std::swap(s, t);
  return (t - 1) * (degree - 1) + s - 1;
}

/// Position of an inner node among those of its edge or face, independent of the cell it is seen from.
int position(const NodePlace& place, int degree, int vertices, const std::array<std::int32_t, 4>& numbers) {
  if (vertices == 2) return edge_position(place.index[0], degree, numbers[0], numbers[1]);
  if (vertices == 3) return triangle_position(place.index, degree, numbers);
  return quadrilateral_position(place.index, degree, numbers);
}

/// Orientation of an edge or face: the order of its vertices' global numbers, as far as positions depend on it.
int orientation(int vertices, const std::array<std::int32_t, 4>& numbers) {
  const int first = numbers[0] > numbers[1] ? 1 : 0;
  if (vertices == 2) return first;
  if (vertices == 3) return first | (numbers[0] > numbers[2] ? 2 : 0) | (numbers[1] > numbers[2] ? 4 : 0);
  const int low = numbers[2] < numbers[first] ? 2 : first, corner = numbers[3] < numbers[low] ? 3 : low;
  return corner | (numbers[corner ^ 1] > numbers[corner ^ 2] ? 4 : 0);
}
constexpr int orientations = 8;

int entity_size(const SubEntity& entity, int degree) {
  if (entity.dimension == 1) return degree - 1;
  return entity.vertices.size() == 4 ? (degree - 1) * (degree - 1) : (degree - 1) * (degree - 2) / 2;
}

/// Number of nodes strictly inside a cell: those of a smaller lattice.
std::int64_t inner_size(CellShape shape, int degree) {
  return lattice_size(shape, degree - (is_tensor(shape) ? 2 : dimension(shape) + 1));
}

/// Throws std::length_error if `count` dofs exceed 32-bit numbering; `count` may be a lower bound.
void check_dof_count(std::int64_t count, const Mesh& mesh, int degree) {
  if (count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error(fmt::format(
        "{} cells of degree {} have {} or more degrees of freedom, but no more than 2^31 - 1 can be numbered; take "
        "fewer cells or a lower degree",
        mesh.cell_count(), degree, count));
}

/// Cheap lower bound: inner dofs of the cells, and dofs inside facets, each shared by at most two cells.
std::int64_t least_dof_count(const Mesh& mesh, int degree) {
  const std::vector<SubEntity>& sides = facets(mesh.shape);
  const std::int64_t of_facets = static_cast<std::int64_t>(sides.size()) * entity_size(sides[0], degree);
  return mesh.cell_count() * inner_size(mesh.shape, degree) + mesh.cell_count() * of_facets / 2;
}

/// Vertices, edges or faces of a mesh, which cells share, and the dofs inside each.
struct SharedEntities {
  int dofs_each = 0;
  Array<std::int32_t> of_cell;     ///< edges and faces: [cells][entities of a cell]
  Array<std::int32_t> first_cell;  ///< first cell with the entity; `nobody` if none
  Array<std::int32_t> first_dof;
};

/// Edges or faces of a mesh, each identified by its least inner dof in `space`.
EntityNumbers entities_by_dofs(const FunctionSpace& space, int dimension) {
  const std::vector<NodePlace> places = node_places(space.basis().lattice());
  const auto per_cell = entities_of(space.mesh().shape, dimension).size();
  EntityNumbers numbers{space.dof_count(), unset<std::int32_t>(std::size_t(space.mesh().cell_count()) * per_cell)};
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell) {
    const CellDofs dofs = space.dofs(cell);
    const std::span of = std::span(numbers.of_cell).subspan(static_cast<std::size_t>(cell) * per_cell, per_cell);
    std::ranges::fill(of, space.dof_count());
    for (std::size_t a = 0; a < places.size(); ++a)
      if (places[a].dimension == dimension) of[places[a].entity] = std::min(of[places[a].entity], dofs[a]);
  }
  return numbers;
}

/// Numbers the dofs as if the cells were visited in order, each along its lattice: an entity's dofs when it is first
/// visited. Each cell counts the entities that it visits first; the prefix sum of these counts gives its first dof.
class DofNumbering {
 public:
  /// `finer`: a space of at least this degree on the same mesh, or null.
  DofNumbering(const Mesh& mesh, const Lattice& lattice, const FunctionSpace* finer);

  std::int32_t dof_count() const { return dof_count_; }
  void write(std::int32_t cell, std::int32_t* dofs) const;

 private:
  static constexpr std::int32_t nobody = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int32_t not_met = -1, counted = -2;

  /// A visit of a cell's lattice walk: each of its entities, and its interior, once.
  struct Meeting {
    int dimension, entity;
    std::vector<int> vertices;                             ///< of an edge or face, among those of the cell
    std::vector<int> nodes;                                ///< lattice nodes inside the entity
    std::array<std::vector<int>, orientations> positions;  ///< of the nodes among the dofs, by orientation; else [0]
  };

  void list_meetings(const std::vector<NodePlace>& places);
  void list_entities(const FunctionSpace* finer);
  void find_first_cells();
  void give_out();
  std::int32_t number_of(int dimension, int entity, std::int32_t cell) const {
    if (dimension == 0) return mesh_->nodes(cell)[vertex_nodes_[entity]];
    return entities_[dimension].of_cell[std::int64_t{cell} * entities_per_cell_[dimension] + entity];
  }
  /// Calls meet(entities, number) for each entity that the cell visits first, inside() for its interior.
  template <class Meet, class Inside>
  void walk(std::int32_t cell, Meet meet, Inside inside);

  const Mesh* mesh_;
  int degree_, d_;
  std::vector<int> vertex_nodes_;
  std::vector<Meeting> meetings_;
  std::array<SharedEntities, 3> entities_;
  std::array<int, 3> entities_per_cell_{};
  Array<std::int32_t> first_inner_;  ///< first dof inside each cell
  std::int32_t dof_count_ = 0;
};

DofNumbering::DofNumbering(const Mesh& mesh, const Lattice& lattice, const FunctionSpace* finer)
    : mesh_(&mesh),
      degree_(lattice.degree()),
      d_(mesh.dimension()),
      vertex_nodes_(Lattice(mesh.shape, mesh.order).vertex_nodes()) {
  list_meetings(node_places(lattice));
  list_entities(finer);
  find_first_cells();
  give_out();
}

void DofNumbering::list_meetings(const std::vector<NodePlace>& places) {
  for (std::size_t a = 0; a < places.size(); ++a) {
    const NodePlace& place = places[a];
    auto met = std::ranges::find_if(meetings_, [&](const Meeting& meeting) {
      return meeting.dimension == place.dimension && meeting.entity == place.entity;
    });
    if (met == meetings_.end()) {
      meetings_.push_back({place.dimension, place.entity, {}, {}, {}});
      met = std::prev(meetings_.end());
      if (place.dimension > 0 && place.dimension < d_)
        met->vertices = entities_of(mesh_->shape, place.dimension)[place.entity].vertices;
    }
    met->nodes.push_back(static_cast<int>(a));
    const auto vertices = static_cast<int>(met->vertices.size());
    if (vertices == 0) {
      met->positions[0].push_back(place.interior);
      continue;
    }
    std::array<std::int32_t, 4> numbers{0, 1, 2, 3};
    std::array<int, orientations> of{};
    do of[orientation(vertices, numbers)] = position(place, degree_, vertices, numbers);
    while (std::next_permutation(numbers.begin(), numbers.begin() + vertices));
    for (int o = 0; o < orientations; ++o) met->positions[o].push_back(of[o]);
  }
}

void DofNumbering::list_entities(const FunctionSpace* finer) {
  entities_[0].dofs_each = 1;
  entities_[0].first_cell = array_of(mesh_->node_count(), nobody);
  entities_[0].first_dof = array_of(mesh_->node_count(), not_met);
  for (int e = 1; e < d_ && degree_ > 1; ++e) {
    const std::vector<SubEntity>& local = entities_of(mesh_->shape, e);
    SharedEntities& all = entities_[e];
    all.dofs_each = entity_size(local[0], degree_);
    if (all.dofs_each == 0) continue;
    EntityNumbers numbers = finer != nullptr ? entities_by_dofs(*finer, e) : number_entities(*mesh_, e);
    if (finer == nullptr) check_dof_count(std::int64_t{numbers.count} * all.dofs_each, *mesh_, degree_);
    entities_per_cell_[e] = static_cast<int>(local.size());
    all.of_cell = std::move(numbers.of_cell);
    all.first_cell = array_of(numbers.count, nobody);
    all.first_dof = array_of(numbers.count, not_met);
  }
}

void DofNumbering::find_first_cells() {
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    for (const Meeting& met : meetings_)
      if (met.dimension < d_)
        lower(entities_[met.dimension].first_cell[number_of(met.dimension, met.entity, cell)], cell);
}

template <class Meet, class Inside>
void DofNumbering::walk(std::int32_t cell, Meet meet, Inside inside) {
  for (const Meeting& met : meetings_) {
    if (met.dimension == d_) {
      inside();
      continue;
    }
    const std::int32_t number = number_of(met.dimension, met.entity, cell);
    if (entities_[met.dimension].first_cell[number] == cell) meet(entities_[met.dimension], number);
  }
}

void DofNumbering::give_out() {
  const auto inner = static_cast<std::int32_t>(inner_size(mesh_->shape, degree_));
  Array<std::int64_t> begin =
      unset<std::int64_t>(mesh_->cell_count());  // dofs that each cell visits first; after the prefix sum, its first
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell) {
    std::int64_t count = 0;
    const auto meet = [&](SharedEntities& entities, std::int32_t number) {
      if (std::exchange(entities.first_dof[number], counted) == not_met) count += entities.dofs_each;
    };
    walk(cell, meet, [&] { count += inner; });
    begin[cell] = count;
  }
  const std::int64_t total = sum_before(std::span(begin));
  check_dof_count(total, *mesh_, degree_);
  dof_count_ = static_cast<std::int32_t>(total);
  if (inner > 0) first_inner_ = unset<std::int32_t>(mesh_->cell_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell) {
    auto next = static_cast<std::int32_t>(begin[cell]);
    const auto meet = [&](SharedEntities& entities, std::int32_t number) {
      if (entities.first_dof[number] != counted) return;
      entities.first_dof[number] = next;
      next += entities.dofs_each;
    };
    walk(cell, meet, [&] {
      first_inner_[cell] = next;
      next += inner;
    });
  }
}

void DofNumbering::write(std::int32_t cell, std::int32_t* dofs) const {
  const CellNodes nodes = mesh_->nodes(cell);
  for (const Meeting& met : meetings_) {
    const std::int32_t first = met.dimension == d_
                                   ? first_inner_[cell]
                                   : entities_[met.dimension].first_dof[number_of(met.dimension, met.entity, cell)];
    std::array<std::int32_t, 4> numbers{};
    for (std::size_t v = 0; v < met.vertices.size(); ++v) numbers[v] = nodes[vertex_nodes_[met.vertices[v]]];
    const int way = met.vertices.empty() ? 0 : orientation(static_cast<int>(met.vertices.size()), numbers);
    const int* const positions = met.positions[way].data();
    for (std::size_t k = 0; k < met.nodes.size(); ++k) dofs[met.nodes[k]] = first + positions[k];
  }
}

/// Lattice nodes on the closure of each facet: those whose basis functions do not vanish there.
std::vector<std::vector<int>> nodes_of_facets(const LagrangeBasis& basis) {
  std::vector<std::vector<int>> nodes(facets(basis.shape()).size());
  for (int f = 0; f < static_cast<int>(nodes.size()); ++f) {
    const Eigen::MatrixXd values = basis.values(facet_quadrature(basis.shape(), f, basis.degree() + 1).points);
    for (int a = 0; a < basis.size(); ++a)
      if (values.col(a).cwiseAbs().maxCoeff() > 1e-10) nodes[f].push_back(a);
  }
  return nodes;
}

}  // namespace

FunctionSpace::FunctionSpace(const Mesh& mesh, int degree, NodeFamily family)
    : FunctionSpace(mesh, degree, family, nullptr) {}

FunctionSpace::FunctionSpace(const FunctionSpace& finer, int degree)
    : FunctionSpace(finer.mesh(), degree, NodeFamily::gauss_lobatto, &finer) {}

FunctionSpace::FunctionSpace(const Mesh& mesh, int degree, NodeFamily family, const FunctionSpace* finer)
    : mesh_(&mesh),
      basis_(std::make_shared<LagrangeBasis>(mesh.shape, degree, family)),
      degree_(degree),
      dofs_per_cell_(basis_->size()) {
  if (degree < 1 || degree > 2 * max_degree) throw std::invalid_argument("a function space has degree 1 to 4");
  if (finer != nullptr && degree > finer->degree())
    throw std::invalid_argument("a space of a lower degree is made from one of a higher");
  facet_nodes_ = nodes_of_facets(*basis_);
  check_dof_count(least_dof_count(mesh, degree), mesh, degree);
  if (const std::optional<GridCells> grid = structured_grid(mesh)) {
    grid_ = std::make_shared<const GridDofs>(*grid, mesh.shape, degree);
    check_dof_count(grid_->count(), mesh, degree);
    dof_count_ = static_cast<std::int32_t>(grid_->count());
    return;
  }
  const DofNumbering numbering(mesh, basis_->lattice(), finer);
  dof_count_ = numbering.dof_count();
  cell_dofs_ = unset<std::int32_t>(std::size_t(mesh_->cell_count()) * dofs_per_cell_);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    numbering.write(cell, cell_dofs_.data() + std::int64_t{cell} * dofs_per_cell_);
}

FunctionSpace::FunctionSpace(const Mesh& part, const FunctionSpace& whole, std::span<const std::int32_t> cells)
    : mesh_(&part),
      basis_(whole.basis_),
      degree_(whole.degree_),
      dofs_per_cell_(whole.dofs_per_cell_),
      facet_nodes_(whole.facet_nodes_) {
  if (std::ssize(cells) != part.cell_count()) throw std::invalid_argument("a part has a cell for each of its numbers");
  std::vector<std::int32_t> number = filled<std::int32_t>(whole.dof_count_);
  dof_count_ = number_used(
      std::ssize(cells), [&](std::int64_t i) { return whole.dofs(cells[i]); }, number);
  cell_dofs_ = unset<std::int32_t>(cells.size() * static_cast<std::size_t>(dofs_per_cell_));
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < cells.size(); ++i)
    std::ranges::transform(whole.dofs(cells[i]), cell_dofs_.begin() + static_cast<std::ptrdiff_t>(i) * dofs_per_cell_,
                           [&](std::int32_t dof) { return number[dof]; });
}

void FunctionSpace::renumber(std::span<const std::int32_t> order) {
  if (order.size() != static_cast<std::size_t>(dof_count_))
    throw std::invalid_argument("a renumbering needs one entry a dof");
  if (grid_) cell_dofs_ = list_dofs();
  grid_.reset();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < cell_dofs_.size(); ++i) cell_dofs_[i] = order[cell_dofs_[i]];
}

std::int32_t FunctionSpace::greatest_dof(std::int32_t first, std::int32_t last) const {
  if (grid_) return static_cast<std::int32_t>(grid_->before(last)) - 1;
  std::int32_t greatest = -1;
  for (std::int32_t cell = first; cell < last; ++cell)
    for (const std::int32_t dof : explicit_indices(cell)) greatest = std::max(greatest, dof);
  return greatest;
}

Array<std::int32_t> FunctionSpace::list_dofs() const {
  Array<std::int32_t> all = unset<std::int32_t>(std::size_t(mesh_->cell_count()) * dofs_per_cell_);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    std::ranges::copy(dofs(cell), all.data() + std::int64_t{cell} * dofs_per_cell_);
  return all;
}

std::vector<double> FunctionSpace::dof_points() const {
  const int d = mesh_->dimension();
  // Cells that share a dof agree on its point only to rounding: the first cell determines it.
  std::vector<std::int32_t> owner = filled(dof_count_, std::numeric_limits<std::int32_t>::max());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    for (const std::int32_t dof : dofs(cell)) lower(owner[dof], cell);

  std::vector<double> points = filled<double>(std::size_t(dof_count_) * d);
  const GeometryTables tables(*mesh_, basis_->nodes());
  parallel_for(
      mesh_->cell_count(), [&] { return CellGeometry(tables); },
      [&](CellGeometry& geometry, std::int32_t cell) {
        geometry.move_to(*mesh_, cell);
        const CellDofs of_cell = dofs(cell);
        for (int a = 0; a < dofs_per_cell(); ++a) {
          const std::int64_t dof = of_cell[a];
          if (owner[dof] == cell) std::copy_n(geometry.point(a), d, points.begin() + dof * d);
        }
      });
  return points;
}

}  // namespace femcg::mesh
