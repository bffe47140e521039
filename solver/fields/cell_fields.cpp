#include "solver/fields/cell_fields.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "mesh/element/lagrange_basis.hpp"

namespace femcg::solver {

CellFields::CellFields(const mesh::FunctionSpace& space, const FileCells& cells) : cells_(cells) {
  const Eigen::MatrixXd nodes = mesh::vtk_lagrange_points(space.mesh().shape, cells.degree);
  tables_ = std::make_shared<GradientTables>(space, nodes);
  basis_ = std::make_shared<Eigen::MatrixXd>(space.basis().values(nodes));
}

mesh::SeparateCells CellFields::cells() const {
  const mesh::Mesh& mesh = tables_->space->mesh();
  const auto points = [cells = cells_, tables = tables_]() -> mesh::NodeValues {
    return [cells, tables, geometry = mesh::CellGeometry(tables->geometry)](std::int64_t cell,
                                                                            std::span<double> values) mutable {
      geometry.move_to(tables->space->mesh(), cells.number(cell));
      std::ranges::copy(geometry.all_points(), values.begin());
    };
  };
  return {mesh::vtk_cell_type(mesh.shape, cells_.kind()), cells_.count(mesh), static_cast<int>(basis_->rows()), points};
}

std::function<mesh::NodeValues()> CellFields::function(const mesh::FunctionSpace& space,
                                                       std::vector<std::span<const double>> components) const {
  return [cells = cells_, basis = basis_, &space, components = std::move(components)]() -> mesh::NodeValues {
    return [cells, basis, &space, components, coefficients = Eigen::VectorXd(basis->cols())](
               std::int64_t cell, std::span<double> values) mutable {
      const auto dofs = space.dofs(cells.number(cell));
      const auto count = static_cast<Eigen::Index>(components.size() == 1 ? 1 : 3);
      using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      Eigen::Map<RowMajor> at_nodes(values.data(), basis->rows(), count);
      at_nodes.setZero();
      for (std::size_t c = 0; c < components.size(); ++c) {
        for (std::size_t a = 0; a < dofs.size(); ++a)
          coefficients[static_cast<Eigen::Index>(a)] = components[c][dofs[a]];
        at_nodes.col(static_cast<Eigen::Index>(c)).noalias() = *basis * coefficients;
      }
    };
  };
}

std::function<mesh::NodeValues()> CellFields::gradient(std::span<const double> dofs) const {
  return [cells = cells_, tables = tables_, dofs]() -> mesh::NodeValues {
    return
        [cells, tables, dofs, gradient = CellGradient(*tables)](std::int64_t cell, std::span<double> values) mutable {
          gradient.move_to(cells.number(cell));
          gradient.evaluate(dofs, values);
        };
  };
}

std::function<mesh::NodeValues()> CellFields::flux(std::span<const double> dofs,
                                                   const DiffusionOnRegions& diffusion) const {
  return [cells = cells_, tables = tables_, dofs, diffusion]() -> mesh::NodeValues {
    return [cells, tables, dofs, diffusion, gradient = CellGradient(*tables)](std::int64_t cell,
                                                                              std::span<double> values) mutable {
      const std::int32_t number = cells.number(cell);
      gradient.move_to(number);
      gradient.evaluate(dofs, values);
      diffusion.multiply(number, gradient.points_in_space(), values);
      for (double& value : values) value = -value;
    };
  };
}

std::function<mesh::NodeValues()> CellFields::magnitude(std::function<mesh::NodeValues()> vector) const {
  return [vector = std::move(vector)]() -> mesh::NodeValues {
    return [evaluate = vector(), vectors = std::vector<double>()](std::int64_t cell, std::span<double> values) mutable {
      vectors.resize(3 * values.size());
      evaluate(cell, vectors);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::hypot(vectors[3 * i], vectors[3 * i + 1], vectors[3 * i + 2]);
    };
  };
}

}  // namespace femcg::solver
