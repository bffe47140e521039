#include "solver/fields/boundary_file.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/case/case_output.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/measures/boundary_flux.hpp"

namespace femcg::solver {

namespace {

/// VTK's number of a facet's cell type, and its nodes in the facet's own coordinates.
std::pair<std::uint8_t, Eigen::MatrixXd> vtk_facet(mesh::CellShape shape, const FileCells& cells) {
  if (mesh::dimension(shape) == 2)
    return {cells.linear ? mesh::vtk_line : mesh::vtk_lagrange_curve, mesh::vtk_lagrange_points_of_curve(cells.degree)};
  const auto facet = is_tensor(shape) ? mesh::CellShape::quadrilateral : mesh::CellShape::triangle;
  return {mesh::vtk_cell_type(facet, cells.kind()), mesh::vtk_lagrange_points(facet, cells.degree)};
}

/// Nodes of a facet in the cell's coordinates, ordered such that the right-hand rule gives the outward normal.
Eigen::MatrixXd facet_points(mesh::CellShape shape, int facet, Eigen::MatrixXd nodes) {
  const Eigen::MatrixXd tangents = mesh::facet_tangents(shape, facet);
  const Eigen::MatrixXd corners = mesh::LagrangeBasis(shape, 1, mesh::NodeFamily::equispaced).nodes();
  const Eigen::VectorXd origin = corners.col(mesh::facets(shape)[facet].vertices[0]);
  if (nodes.rows() == 2) {
    const Eigen::Vector3d normal = Eigen::Vector3d(tangents.col(0)).cross(Eigen::Vector3d(tangents.col(1)));
    if (normal.dot(corners.rowwise().mean() - origin) > 0) nodes.row(0).swap(nodes.row(1));
  }
  return (tangents * nodes).colwise() + origin;
}

}  // namespace

std::vector<mesh::TextField> names_of_parts(const mesh::Mesh& mesh) {
  std::vector<mesh::TextField> names{{"region_names", mesh.region_names}, {"group_names", {}}};
  for (const mesh::BoundaryGroup& group : mesh.boundaries) names[1].texts.push_back(group.name);
  return names;
}

std::string normal_flux_name(const std::string& load) { return load.empty() ? "normal_flux" : "normal_flux_" + load; }

/// Tables at the nodes of the facets' VTK cells, for each facet of the reference cell.
struct BoundaryFile::Nodes {
  Nodes(const mesh::FunctionSpace& of, const Eigen::MatrixXd& nodes) : space(&of) {
    const auto facets = static_cast<int>(mesh::facets(of.mesh().shape).size());
    for (int f = 0; f < facets; ++f) {
      const Eigen::MatrixXd points = facet_points(of.mesh().shape, f, nodes);
      geometry.emplace_back(of.mesh(), points);
      const Eigen::MatrixXd all = of.basis().values(points);
      basis.emplace_back(all(Eigen::all, of.facet_nodes(f)));
    }
  }

  const mesh::FunctionSpace* space;
  std::vector<mesh::GeometryTables> geometry;
  std::vector<Eigen::MatrixXd> basis;  ///< VTK nodes x nodes of the facet
};

BoundaryFile::BoundaryFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem)
    : output_(&output),
      label_(&label),
      problem_(&problem),
      cells_(output, problem.form().space->degree(), problem.form().space->mesh(), problem.shared()) {
  const auto& boundary = problem.boundary();
  const auto is_written = [&](const ConditionedFacet& at) {
    return !cells_.numbers || std::ranges::binary_search(*cells_.numbers, at.facet.cell);
  };
  for (std::size_t i = 0; i < boundary.size(); ++i)
    if (is_written(boundary[i])) facets_.push_back(static_cast<std::int64_t>(i));
}

std::int64_t BoundaryFile::expected_bytes() const {
  const auto nodes = vtk_facet(problem_->form().space->mesh().shape, cells_).second.cols();
  return bytes_of_boundary(std::ssize(facets_), static_cast<int>(nodes), problem_->loads().size());
}

std::vector<std::int32_t> BoundaryFile::group_of_facets() const {
  const auto& boundary = problem_->boundary();
  const std::vector<mesh::BoundaryGroup>& groups = problem_->form().space->mesh().boundaries;
  std::vector<std::int32_t> numbers(boundary.size(), -1);
  for (auto group = static_cast<std::int32_t>(groups.size()) - 1; group >= 0; --group)
    for (const mesh::BoundaryFacet wanted : groups[group].facets) {
      const auto key = [](mesh::BoundaryFacet facet) { return std::pair{facet.cell, facet.facet}; };
      const auto entry = std::ranges::lower_bound(boundary, key(wanted), {},
                                                  [&](const ConditionedFacet& facet) { return key(facet.facet); });
      numbers[entry - boundary.begin()] = group;
    }
  return numbers;
}

void BoundaryFile::write(std::ostream& stream, std::span<const std::vector<double>> solutions) const {
  const mesh::FunctionSpace& space = *problem_->form().space;
  const auto& boundary = problem_->boundary();
  const auto [type, facet_nodes] = vtk_facet(space.mesh().shape, cells_);
  const Nodes nodes(space, facet_nodes);
  const auto points = [&]() -> mesh::NodeValues {
    return [&, geometry = std::vector<mesh::CellGeometry>(nodes.geometry.begin(), nodes.geometry.end())](
               std::int64_t number, std::span<double> values) mutable {
      const mesh::BoundaryFacet at = boundary[facets_[number]].facet;
      geometry[at.facet].move_to(space.mesh(), at.cell);
      std::ranges::copy(geometry[at.facet].all_points(), values.begin());
    };
  };
  std::vector<mesh::CellwiseField> fields;
  std::vector<LoadSolution> of;
  for (std::size_t i = 0; i < solutions.size(); ++i) of.push_back({&problem_->loads()[i], solutions[i]});
  const std::vector<BoundaryFlux> fluxes = boundary_fluxes(*problem_, of);
  for (std::size_t i = 0; i < solutions.size(); ++i) {
    const Load& load = problem_->loads()[i];
    const std::span<const double> dofs = solutions[i];
    const auto u = [&, dofs]() -> mesh::NodeValues {
      return [&, dofs](std::int64_t number, std::span<double> values) {
        const mesh::BoundaryFacet at = boundary[facets_[number]].facet;
        const std::vector<int>& of_facet = space.facet_nodes(at.facet);
        const auto of_cell = space.dofs(at.cell);
        Eigen::VectorXd coefficients(static_cast<Eigen::Index>(of_facet.size()));
        for (std::size_t a = 0; a < of_facet.size(); ++a)
          coefficients[static_cast<Eigen::Index>(a)] = dofs[of_cell[of_facet[a]]];
        Eigen::Map<Eigen::VectorXd>(values.data(), std::ssize(values)).noalias() = nodes.basis[at.facet] * coefficients;
      };
    };
    const BoundaryFlux& flux = fluxes[i];
    const auto outflow = [&]() -> mesh::NodeValues {
      return [&, evaluator = std::make_shared<operators::FacetEvaluator>(space, problem_->form().quadrature)](
                 std::int64_t number, std::span<double> values) {
        const std::int64_t facet = facets_[number];
        const mesh::BoundaryFacet at = boundary[facet].facet;
        evaluator->move_to(at);
        const Eigen::Map<const Eigen::VectorXd> measures(evaluator->measures().data(), evaluator->points());
        if (measures.maxCoeff() <= 0) {  // on the axis of a body of revolution
          std::ranges::fill(values, 0.0);
          return;
        }
        const Eigen::MatrixXd phi = evaluator->values()(Eigen::all, space.facet_nodes(at.facet));
        const Eigen::MatrixXd mass = phi.transpose() * measures.asDiagonal() * phi;
        const std::span<const double> all = flux.moments(facet);
        const Eigen::Map<const Eigen::VectorXd> moments(all.data(), std::ssize(all));
        Eigen::Map<Eigen::VectorXd>(values.data(), std::ssize(values)).noalias() =
            -nodes.basis[at.facet] * mass.llt().solve(moments);
      };
    };
    fields.push_back({name_in_file(OutputField::u, false, *label_, load.name()), u, 1, label_->unit});
    fields.push_back({normal_flux_name(load.name()), outflow, 1});
  }
  const std::vector<std::int32_t> group_of = group_of_facets();
  std::vector<std::int32_t> groups, regions;
  for (const std::int64_t facet : facets_) {
    groups.push_back(group_of[facet]);
    regions.push_back(space.mesh().cell_regions[boundary[facet].facet.cell]);
  }
  const std::vector<mesh::CellField> cell_fields{{"group", groups}, {"region", regions}};
  mesh::write_vtu(stream, {type, std::ssize(facets_), static_cast<int>(facet_nodes.cols()), points}, fields,
                  cell_fields, names_of_parts(space.mesh()));
}

}  // namespace femcg::solver
