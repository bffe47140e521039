#include "mesh/geometry.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// What does not depend on the cell, for one facet of the reference cell.
struct FacetTables {
  FacetTables(const mesh::FunctionSpace& space, int facet, int quadrature)
      : rule(mesh::facet_quadrature(space.mesh().shape, facet, quadrature)),
        geometry(space.mesh(), rule.points),
        values(space.basis().values(rule.points)),
        tangents(mesh::facet_tangents(space.mesh().shape, facet)),
        inward(mesh::cell_quadrature(space.mesh().shape, 1).points.col(0) - rule.points.col(0)) {}

  mesh::Quadrature rule;
  mesh::GeometryTables geometry;
  Eigen::MatrixXd values;
  Eigen::MatrixXd tangents;
  Eigen::VectorXd inward;  ///< towards the inside of the cell
};

}  // namespace

struct FacetEvaluator::State {
  State(const mesh::FunctionSpace& space, int quadrature) : mesh(&space.mesh()) {
    const int count = static_cast<int>(mesh::facets(mesh->shape).size());
    tables.reserve(count);
    geometries.reserve(count);
    for (int f = 0; f < count; ++f) geometries.emplace_back(tables.emplace_back(space, f, quadrature).geometry);
  }

  const mesh::Mesh* mesh;
  std::vector<FacetTables> tables;
  std::vector<mesh::CellGeometry> geometries;
  int current = 0;
  std::vector<double> measures, normals;
};

FacetEvaluator::FacetEvaluator(const mesh::FunctionSpace& space, int quadrature)
    : state_(std::make_unique<State>(space, quadrature)) {}
FacetEvaluator::~FacetEvaluator() = default;

void FacetEvaluator::move_to(mesh::BoundaryFacet facet) {
  State& s = *state_;
  s.current = facet.facet;
  const FacetTables& tables = s.tables[facet.facet];
  mesh::CellGeometry& geometry = s.geometries[facet.facet];
  geometry.move_to(*s.mesh, facet.cell);
  const int d = s.mesh->dimension();
  s.measures.resize(tables.rule.size());
  s.normals.assign(3 * s.measures.size(), 0.0);
  for (int q = 0; q < tables.rule.size(); ++q) {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> jacobian(geometry.jacobian(q), d, d);
    const Eigen::MatrixXd tangents = jacobian * tables.tangents;
    Eigen::Vector3d normal = Eigen::Vector3d::Zero();
    if (d == 2)
      normal << tangents(1, 0), -tangents(0, 0), 0;
    else
      normal = Eigen::Vector3d(tangents.col(0)).cross(Eigen::Vector3d(tangents.col(1)));
    const double measure = normal.norm();
    if (normal.head(d).dot(jacobian * tables.inward) > 0) normal = -normal;
    s.measures[q] = tables.rule.weights[q] * measure;
    for (int i = 0; i < 3; ++i) s.normals[3 * q + i] = normal[i] / measure;
  }
}

int FacetEvaluator::points() const { return state_->tables[state_->current].rule.size(); }
std::span<const double> FacetEvaluator::points_in_space() const {
  return state_->geometries[state_->current].all_points();
}
std::span<const double> FacetEvaluator::measures() const { return state_->measures; }
std::span<const double> FacetEvaluator::normals() const { return state_->normals; }
const Eigen::MatrixXd& FacetEvaluator::values() const { return state_->tables[state_->current].values; }

}  // namespace femcg::operators
