#include "solver/inspection/inspection.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "mesh/element/facet_nodes.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/entity_numbers.hpp"
#include "mesh/geometry.hpp"

namespace femcg::solver {

namespace {

using mesh::BoundaryFacet;
using mesh::Mesh;

/// Integrals of 1 and x over parts of a mesh, and bounding boxes of their nodes.
class Sums {
 public:
  Sums() {
    low_.fill(std::numeric_limits<double>::infinity());
    high_.fill(-std::numeric_limits<double>::infinity());
  }
  void add(double weight, const double* x) {
    measure_ += weight;
    for (int i = 0; i < 3; ++i) moment_[i] += weight * x[i];
  }
  void enclose(const double* x, int dimension) {
    for (int i = 0; i < dimension; ++i) {
      low_[i] = std::min(low_[i], x[i]);
      high_[i] = std::max(high_[i], x[i]);
    }
  }
  void put_into(MeasuredEntity& entity, int dimension) const {
    entity.measure = measure_;
    for (int i = 0; i < dimension; ++i) {
      entity.low[i] = low_[i];
      entity.high[i] = high_[i];
      entity.centre[i] = moment_[i] / measure_;
    }
  }

 private:
  double measure_ = 0;
  std::array<double, 3> moment_{}, low_, high_;
};

/// Rule that is exact for the volume and the centre of cells of any order g: x times the determinant has degree d (g -
/// 1) + g on simplices, and at most d g - 1 + g along an axis of tensor cells.
int exact_rule(const Mesh& mesh) { return (mesh.dimension() + 1) * mesh.order / 2 + 1; }

void measure_regions(const Mesh& mesh, std::vector<MeasuredEntity>& regions) {
  const mesh::Quadrature rule = mesh::cell_quadrature(mesh.shape, exact_rule(mesh));
  const mesh::GeometryTables tables(mesh, rule.points);
  mesh::CellGeometry geometry(tables);
  std::vector<Sums> sums(regions.size());
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const std::int32_t region = mesh.cell_regions[cell];
    geometry.move_to(mesh, cell);
    for (int q = 0; q < rule.size(); ++q)
      sums[region].add(rule.weights[q] * std::abs(geometry.determinant(q)), geometry.point(q));
    for (const std::int32_t node : mesh.nodes(cell)) sums[region].enclose(mesh.point(node).data(), mesh.dimension());
    ++regions[region].elements;
  }
  for (std::size_t r = 0; r < regions.size(); ++r) sums[r].put_into(regions[r], mesh.dimension());
}

/// Integrals over facets: the weights are the norms of the (cross) products of the tangents. No rule is exact on curved
/// facets; the quadrature error is far below that of their shape.
class FacetMeasure {
 public:
  explicit FacetMeasure(const Mesh& mesh) : mesh_(&mesh) {
    for (int f = 0; f < static_cast<int>(mesh::facets(mesh.shape).size()); ++f) {
      rules_.push_back(mesh::facet_quadrature(mesh.shape, f, mesh.order + 3));
      tangents_.push_back(mesh::facet_tangents(mesh.shape, f));
      tables_.emplace_back(mesh, rules_.back().points);
    }
    for (const mesh::GeometryTables& tables : tables_) geometries_.emplace_back(tables);
    const mesh::Lattice lattice(mesh.shape, mesh.order);
    for (std::size_t f = 0; f < rules_.size(); ++f)
      nodes_.push_back(mesh::nodes_around_facet(lattice, static_cast<int>(f)));
  }

  void add(const BoundaryFacet& facet, Sums& to) {
    const int d = mesh_->dimension();
    mesh::CellGeometry& geometry = geometries_[facet.facet];
    geometry.move_to(*mesh_, facet.cell);
    for (int q = 0; q < rules_[facet.facet].size(); ++q) {
      const Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>> jacobian(geometry.jacobian(q), d, d);
      Eigen::Matrix3d t = Eigen::Matrix3d::Identity();
      t.topLeftCorner(d, d - 1) = jacobian.lazyProduct(tangents_[facet.facet]);
      const double weight = d == 2 ? t.col(0).norm() : t.col(0).cross(t.col(1)).norm();
      to.add(rules_[facet.facet].weights[q] * weight, geometry.point(q));
    }
    for (const int node : nodes_[facet.facet]) to.enclose(mesh_->point(mesh_->nodes(facet.cell)[node]).data(), d);
  }

 private:
  const Mesh* mesh_;
  std::vector<mesh::Quadrature> rules_;
  std::vector<Eigen::MatrixXd> tangents_;
  std::vector<mesh::GeometryTables> tables_;
  std::vector<mesh::CellGeometry> geometries_;
  std::vector<std::vector<int>> nodes_;
};

/// The cells on both sides of every facet; -1 if there is none.
class Sides {
 public:
  explicit Sides(const Mesh& mesh)
      : facets_(static_cast<std::int64_t>(mesh::facets(mesh.shape).size())),
        numbers_(mesh::number_entities(mesh, mesh.dimension() - 1)),
        cells_(numbers_.count, {-1, -1}) {
    for (std::size_t slot = 0; slot < numbers_.of_cell.size(); ++slot) {
      auto& [first, second] = cells_[numbers_.of_cell[slot]];
      (first < 0 ? first : second) = static_cast<std::int32_t>(slot / facets_);
    }
  }
  std::int32_t number(const BoundaryFacet& facet) const { return numbers_.of_cell[facet.cell * facets_ + facet.facet]; }
  const std::array<std::int32_t, 2>& of(std::int32_t number) const { return cells_[number]; }
  std::int32_t count() const { return numbers_.count; }

 private:
  std::int64_t facets_;
  mesh::EntityNumbers numbers_;
  std::vector<std::array<std::int32_t, 2>> cells_;
};

void find_neighbours(const Mesh& mesh, const Sides& sides, Inspection& made) {
  std::vector<std::set<std::int32_t>> across(made.regions.size());
  for (std::int32_t facet = 0; facet < sides.count(); ++facet) {
    const auto [a, b] = sides.of(facet);
    if (b < 0 || mesh.cell_regions[a] == mesh.cell_regions[b]) continue;
    across[mesh.cell_regions[a]].insert(mesh.cell_regions[b]);
    across[mesh.cell_regions[b]].insert(mesh.cell_regions[a]);
  }
  for (std::size_t r = 0; r < across.size(); ++r) made.regions[r].neighbours.assign(across[r].begin(), across[r].end());
  for (std::size_t f = 0; f < made.faces.size(); ++f) {
    std::set<std::int32_t> regions;
    for (const BoundaryFacet& facet : mesh.boundaries[f].facets) {
      const auto [a, b] = sides.of(sides.number(facet));
      regions.insert(mesh.cell_regions[a]);
      if (b < 0) continue;
      regions.insert(mesh.cell_regions[b]);
      made.faces[f].inside = true;
    }
    made.faces[f].neighbours.assign(regions.begin(), regions.end());
  }
}

void measure_faces(const Mesh& mesh, const Sides& sides, Inspection& made) {
  FacetMeasure measure(mesh);
  std::vector<char> named(sides.count(), 0);
  for (std::size_t f = 0; f < made.faces.size(); ++f) {
    Sums sums;
    for (const BoundaryFacet& facet : mesh.boundaries[f].facets) {
      measure.add(facet, sums);
      named[sides.number(facet)] = 1;
    }
    made.faces[f].elements = std::ssize(mesh.boundaries[f].facets);
    sums.put_into(made.faces[f], mesh.dimension());
  }
  Sums unnamed;
  for (const BoundaryFacet& facet : mesh::boundary_facets(mesh)) {
    if (named[sides.number(facet)] != 0) continue;
    measure.add(facet, unnamed);
    ++made.unnamed.elements;
  }
  if (made.unnamed.elements > 0) unnamed.put_into(made.unnamed, mesh.dimension());
}

Extreme extreme(const Mesh& mesh, const std::vector<mesh::CellQuality>& of_cells, double mesh::CellQuality::*number,
                bool least) {
  const auto before = [&](const mesh::CellQuality& a, const mesh::CellQuality& b) {
    return least ? a.*number < b.*number : a.*number > b.*number;
  };
  const auto worst = std::min_element(of_cells.begin(), of_cells.end(), before);
  Extreme found;
  found.worst = (*worst).*number;
  for (const mesh::CellQuality& quality : of_cells)
    found.mean += quality.*number / static_cast<double>(of_cells.size());
  found.at = mesh::cell_centre(mesh, static_cast<std::int32_t>(worst - of_cells.begin()));
  return found;
}

}  // namespace

Inspection inspect(const mesh::EntityMesh& by_entity) {
  const Mesh& mesh = by_entity.mesh;
  Inspection made;
  made.dimension = mesh.dimension();
  for (const mesh::Entity& region : by_entity.regions) made.regions.emplace_back().entity = region;
  for (const mesh::Entity& face : by_entity.faces) made.faces.emplace_back().entity = face;
  measure_regions(mesh, made.regions);
  const Sides sides(mesh);
  find_neighbours(mesh, sides, made);
  measure_faces(mesh, sides, made);
  made.of_cells = mesh::cell_qualities(mesh);
  made.smallest_angle = extreme(mesh, made.of_cells, &mesh::CellQuality::smallest_angle, true);
  made.largest_angle = extreme(mesh, made.of_cells, &mesh::CellQuality::largest_angle, false);
  made.jacobian = extreme(mesh, made.of_cells, &mesh::CellQuality::jacobian, true);
  made.aspect = extreme(mesh, made.of_cells, &mesh::CellQuality::aspect, false);
  return made;
}

mesh::EntityMesh entities_of_groups(mesh::Mesh mesh) {
  mesh::EntityMesh made;
  int tag = 0;
  for (const std::string& name : mesh.region_names) made.regions.push_back({++tag, {}, {name}});
  tag = 0;
  for (const mesh::BoundaryGroup& group : mesh.boundaries) made.faces.push_back({++tag, {}, {group.name}});
  made.mesh = std::move(mesh);
  return made;
}

}  // namespace femcg::solver
