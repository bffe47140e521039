#include "operators/forms/check/form_product.hpp"

#include <algorithm>
#include <memory>

#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

constexpr int lanes = cell_lanes;
using Lanes = CellLanes;

/// Products of a few cells at a time. Keeps scratch memory: one object a thread.
class CellProducts {
 public:
  explicit CellProducts(const BilinearForm& form)
      : form_(&form),
        mesh_(&form.space->mesh()),
        d_(mesh_->dimension()),
        basis_(form.space->basis(), form.quadrature),
        cells_(*mesh_, form.quadrature),
        diffusion_(form, basis_.points()),
        facets_(*form.space, form.quadrature),
        scratch_(basis_.scratch_size()),
        x_(basis_.functions()),
        y_(basis_.functions()),
        slopes_(d_ * points()) {}

  int dofs() const { return basis_.functions(); }

  /// Writes the products of the cells [first, last), [cells][dofs]; returns false if all are zero. `coefficient(dof)`
  /// is x; cells with a false `wanted(cell)` are skipped.
  template <class Coefficient, class Wanted>
  bool write(std::int32_t first, std::int32_t last, const Coefficient& coefficient, const Wanted& wanted,
             double* values) {
    bool any = false;
    for (std::int32_t cell = first; cell < last && !any; ++cell) any = wanted(cell);
    if (!any) return false;
    for (std::int32_t cell = first; cell < last; cell += lanes, values += lanes * dofs()) {
      const int count = std::min<std::int32_t>(lanes, last - cell);
      if (!gather(cell, count, coefficient, wanted)) {
        std::fill_n(values, count * dofs(), 0.0);
        continue;
      }
      const bool constant = diffusion_.constant(cell, count);
      cells_.move_to(cell, count, !constant);
      diffusion_.move_to(cells_, constant);
      multiply();
      for (int lane = 0; lane < count; ++lane)
        for (int a = 0; a < dofs(); ++a) values[lane * dofs() + a] = y_[a][lane];
      add_robin(cell, cell + count, coefficient, values);
    }
    return true;
  }

 private:
  int points() const { return basis_.points(); }
  /// The cell of a lane; lanes beyond the last cell repeat it.
  static std::int32_t cell_of(std::int32_t first, int lane, int count) { return first + std::min(lane, count - 1); }

  /// Gathers x of `count` cells; returns false if it is zero or none of the cells is wanted.
  template <class Coefficient, class Wanted>
  bool gather(std::int32_t first, int count, const Coefficient& coefficient, const Wanted& wanted) {
    bool zero = true, any = false;
    for (int lane = 0; lane < count; ++lane) any = any || wanted(first + lane);
    if (!any) return false;
    for (int lane = 0; lane < lanes; ++lane) {
      const auto of_cell = form_->space->dofs(cell_of(first, lane, count));
      for (int a = 0; a < dofs(); ++a) {
        const double value = coefficient(of_cell[a]);
        x_[a][lane] = value;
        zero = zero && value == 0;
      }
    }
    return !zero;
  }

  /// With C = |J| J^-1: the gradient in space is C' g / |J|, and the gradients of the test functions are multiplied by
  /// w C kappa C' g / |J|.
  void multiply() {
    basis_.gradients(x_.data(), slopes_.data(), scratch_.data());
    d_ == 2 ? scale_slopes<2>() : scale_slopes<3>();
    basis_.test_gradients(slopes_.data(), y_.data(), scratch_.data());
  }

  template <int d>
  void scale_slopes() {
    const int count = points();
    Lanes c[d][d], determinant;
    for (int q = 0; q < count; ++q) {
      Lanes g[d];
      if (q == 0 || !cells_.affine()) determinant = cells_.cofactors(q, c);
      const bool is_tensor = diffusion_.is_tensor();
      Lanes scale = cells_.weight(q) / determinant;
      if (!is_tensor) scale *= *diffusion_[q];
      for (int i = 0; i < d; ++i) {
        g[i] = Lanes{};
        for (int a = 0; a < d; ++a) g[i] += c[a][i] * slopes_[a * count + q];
        g[i] *= scale;
      }
      if (is_tensor) {
        Lanes flux[d];
        multiply_tensor<d>(diffusion_[q], g, flux);
        std::ranges::copy(flux, g);
      }
      for (int a = 0; a < d; ++a) {
        Lanes sum{};
        for (int i = 0; i < d; ++i) sum += c[a][i] * g[i];
        slopes_[a * count + q] = sum;
      }
    }
  }

  template <class Coefficient>
  void add_robin(std::int32_t first, std::int32_t last, const Coefficient& coefficient, double* values) {
    const auto before = [](const RobinFacet& facet, std::int32_t cell) { return facet.cell < cell; };
    for (auto facet = std::lower_bound(form_->robin.begin(), form_->robin.end(), first, before);
         facet != form_->robin.end() && facet->cell < last; ++facet) {
      facets_.move_to({facet->cell, facet->facet});
      const auto of_cell = form_->space->dofs(facet->cell);
      const std::vector<int>& nodes = form_->space->facet_nodes(facet->facet);
      for (int q = 0; q < facets_.points(); ++q) {
        double u = 0;
        for (const int a : nodes) u += facets_.values()(q, a) * coefficient(of_cell[a]);
        const double flux = facet->transfer[q] * facets_.measures()[q] * u;
        for (const int a : nodes) values[(facet->cell - first) * dofs() + a] += flux * facets_.values()(q, a);
      }
    }
  }

  const BilinearForm* form_;
  const mesh::Mesh* mesh_;
  int d_;
  PointTables basis_;
  CellsAtPoints cells_;
  DiffusionAtPoints diffusion_;
  FacetEvaluator facets_;
  std::vector<Lanes> scratch_, x_, y_, slopes_;
};

}  // namespace

template <class Coefficient>
mesh::Array<double> FormProduct::sum(const Coefficient& coefficient, std::span<const char> wanted) const {
  const auto is_wanted = [wanted](std::int32_t cell) { return wanted.empty() || wanted[cell] != 0; };
  return sum_over_cell_ranges(*form_->space, [&]() -> CellRangeWork {
    const auto products = std::make_shared<CellProducts>(*form_);
    return [&, products](std::int32_t first, std::int32_t last, double* values) {
      return products->write(first, last, coefficient, is_wanted, values);
    };
  });
}

mesh::Array<double> FormProduct::apply_to_dofs(std::span<const double> x, std::span<const char> wanted) const {
  return sum([x](std::int32_t dof) { return x[dof]; }, wanted);
}

mesh::Array<double> FormProduct::apply_to_constrained(std::span<const double> values,
                                                      std::span<const char> wanted) const {
  const std::span<const std::int32_t> unknown(form_->unknown_of_dof);
  return sum([values, unknown](std::int32_t dof) { return unknown[dof] < 0 ? values[-1 - unknown[dof]] : 0.0; },
             wanted);
}

std::vector<double> FormProduct::residual(std::span<const double> x, std::span<const double> b) const {
  const std::span<const std::int32_t> unknown(form_->unknown_of_dof);
  const mesh::Array<double> of_dofs =
      sum([x, unknown](std::int32_t dof) { return unknown[dof] >= 0 ? x[unknown[dof]] : 0.0; }, {});
  std::vector<double> r = mesh::filled<double>(form_->unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = unknown[dof]; i >= 0) r[i] = b[i] - of_dofs[dof];
  return r;
}

}  // namespace femcg::operators
