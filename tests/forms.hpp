#pragma once

// Small bilinear forms for tests below the solver.

#include <cmath>
#include <memory>

#include "mesh/box/box.hpp"
#include "mesh/dofs/function_space.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::tests {

/// A tensor in place of a multiple of the identity: along the axes, or along none.
enum class Anisotropy { none, along_axes, full };

struct FormOptions {
  bool constrained = true;  ///< u fixed on the left side
  bool robin = true;        ///< alpha = 1 + y on the right side
  bool varying = true;      ///< kappa = 1 + x + 2 y^2, else 1.5
  double distort = 0.2;
  int quadrature = 0;           ///< 0: degree + 1
  bool quadratic = false;       ///< order 2, straight
  bool curved = false;          ///< order 2, bent
  bool partly_curved = false;   ///< order 2, curved where x > 0.6; for simplices, those on the left are affine
  bool here_and_there = false;  ///< with partly_curved: curved at scattered nodes instead
  bool sheared = false;         ///< affine cells stay affine, but no edges are orthogonal
  bool turned = false;          ///< rotated about z: boxes stay boxes, with edges along no axis
  Anisotropy anisotropy = Anisotropy::none;  ///< kappa times test_tensor, and x^2 added to its first entry if varying
  bool axisymmetric = false;                 ///< a body of revolution about x = 0, in the plane
};

/// Entry (i, j) of a positive definite tensor.
inline double test_tensor(Anisotropy anisotropy, int i, int j) {
  constexpr double full[3][3] = {{2, 0.5, -0.3}, {0.5, 1.2, 0.4}, {-0.3, 0.4, 0.8}};
  return anisotropy == Anisotropy::full || i == j ? full[i][j] : 0;
}

/// A form on a small box, with all objects that it refers to.
struct SmallForm {
  std::unique_ptr<mesh::Mesh> mesh;
  std::unique_ptr<mesh::FunctionSpace> space;
  operators::BilinearForm form;
};

inline void make_quadratic(mesh::Mesh& mesh) {
  const mesh::FunctionSpace lattice(mesh, 2, mesh::NodeFamily::equispaced);
  mesh.coordinates = lattice.dof_points();
  const auto nodes = lattice.list_dofs();
  mesh.cell_nodes.assign(nodes.begin(), nodes.end());
  mesh.order = 2;
}

inline void bend(mesh::Mesh& mesh) {
  for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
    double* x = mesh.coordinates.data() + std::int64_t{node} * mesh.dimension();
    x[0] += 0.1 * x[1] * x[1];
    x[1] += 0.05 * std::sin(x[0]);
  }
}

/// Moves nodes of a mesh of order 2 that are no vertices: those on the right, or a few scattered ones.
inline void bend_partly(mesh::Mesh& mesh, bool here_and_there) {
  const std::vector<int> vertices = mesh::Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<char> is_vertex(static_cast<std::size_t>(mesh.node_count()));
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const int v : vertices) is_vertex[mesh.nodes(cell)[v]] = 1;
  for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
    double* x = mesh.coordinates.data() + std::int64_t{node} * mesh.dimension();
    if ((here_and_there ? node % 13 == 0 : x[0] > 0.6) && is_vertex[node] == 0) x[1] += 0.004 * std::sin(20 * x[0]);
  }
}

inline void shear(mesh::Mesh& mesh) {
  const int d = mesh.dimension();
  for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
    double* x = mesh.coordinates.data() + std::int64_t{node} * d;
    const double y = x[1], z = d == 3 ? x[2] : 0;
    x[0] += 0.3 * y + 0.2 * z;
    x[1] += 0.25 * z;
  }
}

inline void turn(mesh::Mesh& mesh) {
  for (std::int32_t node = 0; node < mesh.node_count(); ++node) {
    double* x = mesh.coordinates.data() + std::int64_t{node} * mesh.dimension();
    const double from[2] = {x[0], x[1]};
    x[0] = std::cos(0.5) * from[0] - std::sin(0.5) * from[1];
    x[1] = std::sin(0.5) * from[0] + std::cos(0.5) * from[1];
  }
}

inline void set_diffusion(operators::Diffusion& diffusion, int d, const FormOptions& options) {
  const bool varying = options.varying;
  const auto scalar = [varying](const double* at) { return varying ? 1 + at[0] + 2 * at[1] * at[1] : 1.5; };
  if (options.anisotropy == Anisotropy::none) {
    diffusion.evaluate = [scalar](std::int32_t, std::span<const double> points, std::span<double> values) {
      for (std::size_t q = 0; q < values.size(); ++q) values[q] = scalar(&points[3 * q]);
    };
    return;
  }
  diffusion.entries = d * (d + 1) / 2;
  const auto tensor = [=, anisotropy = options.anisotropy](const double* at, double* values) {
    for (int i = 0; i < d; ++i)
      for (int j = i; j < d; ++j)
        *values++ = scalar(at) * test_tensor(anisotropy, i, j) + (varying && i + j == 0 ? at[0] * at[0] : 0);
  };
  diffusion.evaluate = [=](std::int32_t, std::span<const double> points, std::span<double> values) {
    for (std::size_t q = 0; q < points.size() / 3; ++q)
      tensor(&points[3 * q], &values[q * values.size() * 3 / points.size()]);
  };
  if (varying) return;
  operators::DiffusionValue value;
  tensor(nullptr, value.entries.data());
  diffusion.constant = [value](std::int32_t) { return std::optional(value); };
}

inline SmallForm make_form(mesh::CellShape shape, int degree, std::array<int, 3> cells,
                           const FormOptions& options = {}) {
  SmallForm small;
  small.mesh = std::make_unique<mesh::Mesh>(mesh::implicit_box({shape, cells, {1.0, 1.2, 0.9}, options.distort}));
  if (options.quadratic || options.curved || options.partly_curved || options.sheared || options.turned)
    small.mesh->list_nodes();
  if (options.quadratic || options.curved || options.partly_curved) make_quadratic(*small.mesh);
  if (options.curved) bend(*small.mesh);
  if (options.partly_curved) bend_partly(*small.mesh, options.here_and_there);
  if (options.sheared) shear(*small.mesh);
  if (options.turned) turn(*small.mesh);
  small.mesh->axisymmetric = options.axisymmetric;
  small.space = std::make_unique<mesh::FunctionSpace>(*small.mesh, degree);
  operators::BilinearForm& form = small.form;
  form.space = small.space.get();
  form.quadrature = options.quadrature > 0 ? options.quadrature : degree + 1;
  set_diffusion(form.diffusion, small.mesh->dimension(), options);
  form.unknown_of_dof.assign(small.space->dof_count(), 0);
  if (options.constrained)
    for (const mesh::BoundaryFacet& facet : small.mesh->boundaries[0].facets)
      for (const int a : small.space->facet_nodes(facet.facet))
        form.unknown_of_dof[small.space->dofs(facet.cell)[a]] = -1;
  for (std::int32_t& unknown : form.unknown_of_dof)
    if (unknown >= 0) unknown = form.unknowns++;
  if (options.robin) {
    operators::FacetEvaluator evaluator(*small.space, form.quadrature);
    for (const mesh::BoundaryFacet& facet : small.mesh->boundaries[1].facets) {
      evaluator.move_to(facet);
      operators::RobinFacet robin{facet.cell, facet.facet, {}};
      for (int q = 0; q < evaluator.points(); ++q) robin.transfer.push_back(1 + evaluator.points_in_space()[3 * q + 1]);
      form.robin.push_back(robin);
    }
  }
  return small;
}

}  // namespace femcg::tests
