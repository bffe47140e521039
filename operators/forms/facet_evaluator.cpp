#include <Eigen/Dense>
#include <numbers>

#include "mesh/base/first_failure.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// Tables of one facet of the reference cell, independent of the cell.
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
    const double* jacobian = geometry.jacobian(q);  // row by row
    const auto in_space = [&](const double* direction) {
      Eigen::Vector3d image = Eigen::Vector3d::Zero();
      for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j) image[i] += jacobian[i * d + j] * direction[j];
      return image;
    };
    const Eigen::Vector3d first = in_space(tables.tangents.col(0).data());
    Eigen::Vector3d normal(first[1], -first[0], 0);
    if (d == 3) normal = first.cross(in_space(tables.tangents.col(1).data()));
    const double measure = normal.norm();
    if (normal.dot(in_space(tables.inward.data())) > 0) normal = -normal;
    s.measures[q] = tables.rule.weights[q] * measure;
    if (s.mesh->axisymmetric) s.measures[q] *= 2 * std::numbers::pi * geometry.all_points()[3 * q];
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

void for_each_facet(const mesh::FunctionSpace& space, int quadrature, std::size_t count,
                    const std::function<void(FacetEvaluator&, std::size_t)>& work) {
  mesh::parallel_for(
      count, [&] { return FacetEvaluator(space, quadrature); }, work);
}

void add_facet_moments(const mesh::FunctionSpace& space, int quadrature, std::span<const mesh::BoundaryFacet> facets,
                       const FacetDensity& density, std::span<double> of_dofs) {
  const std::size_t n = space.facet_nodes(0).size();
  mesh::Array<double> moments = mesh::array_of<double>(facets.size() * n);
  for_each_facet(space, quadrature, facets.size(), [&](FacetEvaluator& evaluator, std::size_t k) {
    evaluator.move_to(facets[k]);
    std::vector<double> values(static_cast<std::size_t>(evaluator.points()));
    density(evaluator, k, values);
    const std::vector<int>& nodes = space.facet_nodes(facets[k].facet);
    for (std::size_t i = 0; i < n; ++i)
      for (int q = 0; q < evaluator.points(); ++q)
        moments[k * n + i] += values[q] * evaluator.measures()[q] * evaluator.values()(q, nodes[i]);
  });
  for (std::size_t k = 0; k < facets.size(); ++k) {
    const mesh::CellDofs dofs = space.dofs(facets[k].cell);
    const std::vector<int>& nodes = space.facet_nodes(facets[k].facet);
    for (std::size_t i = 0; i < n; ++i) of_dofs[dofs[nodes[i]]] += moments[k * n + i];
  }
}

}  // namespace femcg::operators
