#include "operators/forms/form_product.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "mesh/pages.hpp"
#include "mesh/reference_cell.hpp"
#include "mesh/vector_register.hpp"
#include "operators/backend/simd.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

constexpr int lanes = mesh::register_bytes / static_cast<int>(sizeof(double));
using Lanes = Pack<double, lanes>;  ///< a number of each of some cells

/// A small matrix, row by row.
struct Table {
  Table() = default;
  explicit Table(const Eigen::MatrixXd& from)
      : rows(static_cast<int>(from.rows())), columns(static_cast<int>(from.cols())), entries(from.size()) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) entries[i * columns + j] = from(i, j);
  }
  Table transposed() const {
    Table other(*this);
    std::swap(other.rows, other.columns);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) other.entries[j * rows + i] = entries[i * columns + j];
    return other;
  }

  int rows = 0, columns = 0;
  std::vector<double> entries;
};

/// to[o, i, k] (+)= sum_j table[i, j] from[o, j, k] for `outer` o and `inner` k.
void contract(const Table& table, const Lanes* from, int outer, int inner, Lanes* to, bool add = false) {
  for (int o = 0; o < outer; ++o)
    for (int i = 0; i < table.rows; ++i) {
      const double* row = table.entries.data() + i * table.columns;
      const Lanes* in = from + o * table.columns * inner;
      Lanes* out = to + (o * table.rows + i) * inner;
      for (int k = 0; k < inner; ++k) {
        Lanes sum = add ? out[k] : Lanes{};
        for (int j = 0; j < table.columns; ++j) sum += row[j] * in[j * inner + k];
        out[k] = sum;
      }
    }
}

/// Values and reference gradients of a Lagrange basis at the points of a quadrature, and their transposes.
class PointTables {
 public:
  PointTables(const mesh::LagrangeBasis& basis, int quadrature)
      : d_(mesh::dimension(basis.shape())), tensor_(mesh::is_tensor(basis.shape())), functions_(basis.size()) {
    if (tensor_) {
      const Eigen::VectorXd nodes = basis.nodes().row(0).head(basis.degree() + 1).transpose();
      const Eigen::VectorXd points = mesh::gauss_line(quadrature).points.row(0).transpose();
      values_ = Table(mesh::line_values(nodes, points));
      slopes_.emplace_back(mesh::line_derivatives(nodes, points));
    } else {
      const Eigen::MatrixXd points = mesh::cell_quadrature(basis.shape(), quadrature).points;
      values_ = Table(basis.values(points));
      for (const Eigen::MatrixXd& gradient : basis.gradients(points)) slopes_.emplace_back(gradient);
    }
    transposed_values_ = values_.transposed();
    for (const Table& slope : slopes_) transposed_slopes_.push_back(slope.transposed());
    points_ = values_.rows;
    for (int axis = 1; tensor_ && axis < d_; ++axis) points_ *= values_.rows;
  }

  int functions() const { return functions_; }
  int points() const { return points_; }
  /// Of what the functions below need beside what they are given.
  int scratch_size() const {
    const int most = std::max(values_.rows, values_.columns);
    return tensor_ ? 5 * most * most * most : 0;
  }

  /// At the points, from the functions' coefficients.
  void values(const Lanes* of, Lanes* at, Lanes* scratch) const {
    if (!tensor_) return contract(values_, of, 1, 1, at);
    const int n = values_.columns, q = values_.rows, all = q * std::max(n, q) * std::max(n, q);
    Lanes *first = scratch, *second = scratch + all;
    contract(values_, of, d_ == 3 ? n * n : n, 1, first);
    contract(values_, first, d_ == 3 ? n : 1, q, d_ == 3 ? second : at);
    if (d_ == 3) contract(values_, second, 1, q * q, at);
  }

  /// The derivatives along each reference axis at the points, axis by axis.
  void gradients(const Lanes* of, Lanes* at, Lanes* scratch) const {
    if (!tensor_) {
      for (int axis = 0; axis < d_; ++axis) contract(slopes_[axis], of, 1, 1, at + axis * points_);
      return;
    }
    const Table &value = values_, &slope = slopes_.front();
    const int n = value.columns, q = value.rows, most = std::max(n, q), all = most * most * most;
    Lanes *v = scratch, *s = scratch + all, *vv = scratch + 2 * all, *sv = scratch + 3 * all, *vs = scratch + 4 * all;
    const int outer = d_ == 3 ? n * n : n;
    contract(value, of, outer, 1, v);
    contract(slope, of, outer, 1, s);
    if (d_ == 2) {
      contract(value, s, 1, q, at);
      contract(slope, v, 1, q, at + points_);
      return;
    }
    contract(value, v, n, q, vv);
    contract(value, s, n, q, sv);
    contract(slope, v, n, q, vs);
    contract(value, sv, 1, q * q, at);
    contract(value, vs, 1, q * q, at + points_);
    contract(slope, vv, 1, q * q, at + 2 * points_);
  }

  /// The sums over points of each function's gradient times a vector, given axis by axis.
  void test_gradients(const Lanes* at, Lanes* of, Lanes* scratch) const {
    if (!tensor_) {
      for (int axis = 0; axis < d_; ++axis) contract(transposed_slopes_[axis], at + axis * points_, 1, 1, of, axis > 0);
      return;
    }
    const Table &value = transposed_values_, &slope = transposed_slopes_.front();
    const int n = value.rows, q = value.columns, most = std::max(n, q), all = most * most * most;
    Lanes *v = scratch, *s = scratch + all, *vv = scratch + 2 * all, *sv = scratch + 3 * all, *vs = scratch + 4 * all;
    if (d_ == 2) {
      contract(value, at, 1, q, s);
      contract(slope, at + points_, 1, q, v);
    } else {
      contract(value, at, 1, q * q, sv);
      contract(value, at + points_, 1, q * q, vs);
      contract(slope, at + 2 * points_, 1, q * q, vv);
      contract(value, sv, n, q, s);
      contract(slope, vs, n, q, v);
      contract(value, vv, n, q, v, true);
    }
    const int outer = d_ == 3 ? n * n : n;
    contract(slope, s, outer, 1, of);
    contract(value, v, outer, 1, of, true);
  }

 private:
  int d_;
  bool tensor_;
  int functions_, points_ = 0;
  Table values_, transposed_values_;               ///< on the line for tensor cells
  std::vector<Table> slopes_, transposed_slopes_;  ///< likewise; of simplices one for each axis
};

/// The products of a few cells at a time. Keeps scratch memory: one a thread.
class CellProducts {
 public:
  explicit CellProducts(const BilinearForm& form)
      : form_(&form),
        mesh_(&form.space->mesh()),
        d_(mesh_->dimension()),
        basis_(form.space->basis(), form.quadrature),
        geometry_(mesh::LagrangeBasis(mesh_->shape, mesh_->order, mesh::NodeFamily::equispaced), form.quadrature),
        weights_(mesh::cell_quadrature(mesh_->shape, form.quadrature).weights),
        facets_(*form.space, form.quadrature),
        scratch_(std::max(basis_.scratch_size(), geometry_.scratch_size())),
        x_(basis_.functions()),
        y_(basis_.functions()),
        nodes_(geometry_.functions()),
        jacobians_(d_ * d_ * points()),
        positions_(d_ * points()),
        diffusion_(points()),
        slopes_(d_ * points()),
        at_(3 * points()),
        values_(points()) {}

  int dofs() const { return basis_.functions(); }

  /// The vectors of the cells [first, last), cells x dofs. `coefficient(dof)` is x; `wanted(cell)` says which to make.
  template <class Coefficient, class Wanted>
  void write(std::int32_t first, std::int32_t last, const Coefficient& coefficient, const Wanted& wanted,
             double* values) {
    for (std::int32_t cell = first; cell < last; cell += lanes, values += lanes * dofs()) {
      const int count = std::min<std::int32_t>(lanes, last - cell);
      if (!gather(cell, count, coefficient, wanted)) {
        std::fill_n(values, count * dofs(), 0.0);
        continue;
      }
      constant_ = constant_in_all(cell, count);
      find_geometry(cell, count);
      find_diffusion(cell, count);
      multiply();
      for (int lane = 0; lane < count; ++lane)
        for (int a = 0; a < dofs(); ++a) values[lane * dofs() + a] = y_[a][lane];
      add_robin(cell, cell + count, coefficient, values);
    }
  }

 private:
  int points() const { return basis_.points(); }
  /// The cell of a lane; lanes beyond the last repeat it.
  static std::int32_t cell_of(std::int32_t first, int lane, int count) { return first + std::min(lane, count - 1); }

  /// Whether there is anything to do.
  template <class Coefficient, class Wanted>
  bool gather(std::int32_t first, int count, const Coefficient& coefficient, const Wanted& wanted) {
    bool zero = true, any = false;
    for (int lane = 0; lane < lanes; ++lane) {
      const auto of_cell = form_->space->dofs(cell_of(first, lane, count));
      any = any || wanted(of_cell);
      for (int a = 0; a < dofs(); ++a) {
        const double value = coefficient(of_cell[a]);
        x_[a][lane] = value;
        zero = zero && value == 0;
      }
    }
    return any && !zero;
  }

  void find_geometry(std::int32_t first, int count) {
    for (int axis = 0; axis < d_; ++axis) {
      for (int lane = 0; lane < lanes; ++lane) {
        const auto nodes = mesh_->nodes(cell_of(first, lane, count));
        for (std::size_t a = 0; a < nodes.size(); ++a) nodes_[a][lane] = mesh_->point(nodes[a])[axis];
      }
      geometry_.gradients(nodes_.data(), jacobians_.data() + axis * d_ * points(), scratch_.data());
      if (!constant_) geometry_.values(nodes_.data(), positions_.data() + axis * points(), scratch_.data());
    }
  }

  bool constant_in_all(std::int32_t first, int count) const {
    if (!form_->constant_diffusion) return false;
    for (int lane = 0; lane < count; ++lane)
      if (!form_->constant_diffusion(first + lane)) return false;
    return true;
  }

  void find_diffusion(std::int32_t first, int count) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int32_t cell = cell_of(first, lane, count);
      if (constant_) {
        const double value = *form_->constant_diffusion(cell);
        for (Lanes& at_point : diffusion_) at_point[lane] = value;
        continue;
      }
      for (int q = 0; q < points(); ++q)
        for (int axis = 0; axis < 3; ++axis)
          at_[3 * q + axis] = axis < d_ ? positions_[axis * points() + q][lane] : 0.0;
      form_->diffusion(cell, at_, values_);
      for (int q = 0; q < points(); ++q) diffusion_[q][lane] = values_[q];
    }
  }

  /// With C = |J| J^-1: the gradient in space is C' g / |J|, and what the test functions' gradients are multiplied with
  /// is w kappa C C' g / |J|.
  void multiply() {
    basis_.gradients(x_.data(), slopes_.data(), scratch_.data());
    d_ == 2 ? scale_slopes<2>() : scale_slopes<3>();
    basis_.test_gradients(slopes_.data(), y_.data(), scratch_.data());
  }

  template <int d>
  void scale_slopes() {
    const int count = points();
    for (int q = 0; q < count; ++q) {
      Lanes m[d][d], c[d][d], g[d], determinant;  // m_ij = dx_i / dxi_j
      for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j) m[i][j] = jacobians_[(i * d + j) * count + q];
      if constexpr (d == 2) {
        c[0][0] = m[1][1];
        c[0][1] = -m[0][1];
        c[1][0] = -m[1][0];
        c[1][1] = m[0][0];
        determinant = m[0][0] * c[0][0] + m[0][1] * c[1][0];
      } else {
        for (int j = 0; j < 3; ++j)
          for (int i = 0; i < 3; ++i) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c[j][i] = m[i1][j1] * m[i2][j2] - m[i1][j2] * m[i2][j1];
          }
        determinant = m[0][0] * c[0][0] + m[0][1] * c[1][0] + m[0][2] * c[2][0];
      }
      const Lanes scale = weights_[q] * diffusion_[q] / determinant;
      for (int i = 0; i < d; ++i) {
        g[i] = Lanes{};
        for (int a = 0; a < d; ++a) g[i] += c[a][i] * slopes_[a * count + q];
        g[i] *= scale;
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
  PointTables basis_, geometry_;
  Eigen::VectorXd weights_;
  FacetEvaluator facets_;
  bool constant_ = false;  ///< whether each cell of the lanes has one diffusion
  std::vector<Lanes> scratch_, x_, y_, nodes_;
  std::vector<Lanes> jacobians_;  ///< axis in space x reference axis x points
  std::vector<Lanes> positions_, diffusion_, slopes_;
  std::vector<double> at_, values_;
};

}  // namespace

template <class Coefficient>
std::vector<double> FormProduct::sum(const Coefficient& coefficient, std::span<const char> wanted) const {
  const auto is_wanted = [wanted](std::span<const std::int32_t> dofs) {
    return wanted.empty() || std::ranges::any_of(dofs, [&](std::int32_t dof) { return wanted[dof] != 0; });
  };
  return sum_over_cell_ranges(*form_->space, [&]() -> CellRangeWork {
    const auto products = std::make_shared<CellProducts>(*form_);
    return [&, products](std::int32_t first, std::int32_t last, double* values) {
      products->write(first, last, coefficient, is_wanted, values);
    };
  });
}

std::vector<double> FormProduct::apply_to_dofs(std::span<const double> x, std::span<const char> wanted) const {
  return sum([x](std::int32_t dof) { return x[dof]; }, wanted);
}

std::vector<double> FormProduct::residual(std::span<const double> x, std::span<const double> b) const {
  const std::span<const std::int32_t> unknown(form_->unknown_of_dof);
  const std::vector<double> of_dofs =
      sum([x, unknown](std::int32_t dof) { return unknown[dof] >= 0 ? x[unknown[dof]] : 0.0; }, {});
  std::vector<double> r = mesh::filled<double>(form_->unknowns);
#pragma omp parallel for schedule(static)
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = unknown[dof]; i >= 0) r[i] = b[i] - of_dofs[dof];
  return r;
}

}  // namespace femcg::operators
