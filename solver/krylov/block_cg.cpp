#include "solver/krylov/block_cg.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "operators/backend/passes/block_cg_kernels.hpp"
#include "operators/capabilities.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/krylov/several_systems.hpp"

namespace femcg::solver {

using operators::BlockNorms;
using operators::BlockStep;
using operators::MultiVector;
using operators::Operator;
using operators::SmallMatrix;
using operators::Vector;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix to_eigen(const SmallMatrix& from) { return Eigen::Map<const Matrix>(from.data(), from.stride(), from.stride()); }
SmallMatrix from_eigen(const Matrix& from) {
  SmallMatrix to(static_cast<int>(from.rows()));
  Eigen::Map<Matrix>(to.data(), to.stride(), to.stride()) = from;
  return to;
}

/// Rank and an orthonormal basis of some vectors V, from their Gram matrix h = V'V.
struct Basis {
  int rank = 0;
  Matrix from_vectors;  ///< V times this has `rank` orthonormal columns, followed by zero columns
};

/// Pivoted Cholesky factorisation of h, scaled to a unit diagonal. A vector is dependent if less than `dependent` of
/// its squared length is orthogonal to the vectors chosen before; vectors not longer than sqrt(`nothing`) count as
/// zero. Empty if h is not a Gram matrix.
std::optional<Basis> orthonormal_basis(const Matrix& h, double dependent, double nothing) {
  const Eigen::Index n = h.rows();
  Basis basis{0, Matrix::Zero(n, n)};
  Eigen::VectorXd scale = Eigen::VectorXd::Zero(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    if (!std::isfinite(h(i, i)) || h(i, i) < -nothing) return std::nullopt;
    if (h(i, i) > nothing) scale[i] = 1 / std::sqrt(h(i, i));
  }
  // Row j of `l` is column j of the factor, over all vectors.
  Matrix l = Matrix::Zero(n, n);
  Eigen::VectorXd left = (scale.array() > 0).cast<double>();
  std::vector<Eigen::Index> chosen;
  for (;;) {
    Eigen::Index pivot = 0;
    const double most = left.maxCoeff(&pivot);
    if (left.minCoeff() < -std::sqrt(dependent)) return std::nullopt;
    if (!(most > dependent)) break;
    const auto j = static_cast<Eigen::Index>(chosen.size());
    const double length = std::sqrt(most);
    for (Eigen::Index i = 0; i < n; ++i)
      l(j, i) = (h(pivot, i) * scale[pivot] * scale[i] - l.col(pivot).head(j).dot(l.col(i).head(j))) / length;
    left.array() -= l.row(j).transpose().array().square();
    left[pivot] = 0;
    chosen.push_back(pivot);
  }
  basis.rank = static_cast<int>(chosen.size());
  const Eigen::Index rank = basis.rank;
  Matrix factor = Matrix::Zero(rank, rank);  // upper triangular: h of the chosen vectors is factor' factor, scaled
  for (Eigen::Index i = 0; i < rank; ++i)
    for (Eigen::Index j = 0; j <= i; ++j) factor(j, i) = l(j, chosen[static_cast<std::size_t>(i)]);
  const Matrix inverse = factor.triangularView<Eigen::Upper>().solve(Matrix::Identity(rank, rank));
  for (Eigen::Index i = 0; i < rank; ++i) {
    const Eigen::Index of = chosen[static_cast<std::size_t>(i)];
    basis.from_vectors.row(of).head(rank) = scale[of] * inverse.row(i);
  }
  return basis;
}

/// Least squared fraction of a vector that counts as independent; inner products are in double precision. Small enough
/// to retain every significant vector, large enough that the basis is orthonormal to some digits.
constexpr double dependent_part = 1e-13;

/// Block kernels of the operator if it brings its own, else femcg's.
template <std::floating_point T>
std::unique_ptr<operators::BlockCgKernels<T>> block_cg_kernels_for(const Operator<T>& a) {
  const auto* with = dynamic_cast<const operators::WithBlockCgKernels<T>*>(&a);
  return with != nullptr ? with->make_block_cg_kernels() : operators::make_block_cg_kernels<T>(a.device());
}

template <std::floating_point T>
class BlockLoop final : public SeveralSystems<T> {
 public:
  BlockLoop(const Operator<T>& a, std::span<const Vector<T>> b, std::span<std::vector<double>> x, std::size_t first,
            const SystemsCgOptions<T>& options)
      : SeveralSystems<T>(a, b, x, first, options, CgMethod::block),
        operations_(block_cg_kernels_for(a)),
        m_(options.preconditioner) {}

 private:
  void iterate(const std::vector<std::size_t>& members) override {
    const Operator<T>& a = this->a();
    this->set_members(members);
    for (MultiVector<T>* columns : {&x_, &w_, &s_, &q_})
      *columns = MultiVector<T>(a.size(), this->columns(), a.device());
    if (m_.applied != nullptr) z_ = MultiVector<T>(a.size(), this->columns(), a.device());
    for (MultiVector<T>* columns : {&x_, &w_, &s_, &q_}) operators::clear(columns->entries());
    const int stride = x_.stride();
    lengths_.clear();
    for (int column = 0; column < this->columns(); ++column) {
      lengths_.push_back(norm(this->at(column).residual, this->ownership()));
      this->move_residual(column, 1 / lengths_.back(), w_);
      this->at(column).energy.error().restart(std::numeric_limits<double>::quiet_NaN());
    }
    const Matrix none = Matrix::Zero(stride, stride);
    // Squared rounding error of a difference of numbers of size 1.
    const double nothing = std::pow(64.0 * std::numeric_limits<T>::epsilon(), 2);
    sigma_ = Matrix::Identity(stride, stride);
    this->start_clock();
    if (!advance(none, operations_->update(q_, from_eigen(none), m_.diagonal, w_), 0)) stop_all(StopReason::indefinite);
    while (this->running_count() > 0) {
      a.apply(s_, q_);
      const Matrix energies = to_eigen(operations_->product(s_, q_));
      const auto basis = orthonormal_basis((energies + energies.transpose()) / 2, dependent_part, 0);
      SystemsIteration iteration = this->begin_iteration();
      if (!basis) {
        stop_all(energies.allFinite() ? StopReason::indefinite : StopReason::not_finite);
        continue;
      }
      if (basis->rank == 0) {  // the residuals consist only of rounding
        stop_all(StopReason::converged, true);
        continue;
      }
      const Matrix xi = basis->from_vectors * basis->from_vectors.transpose();
      const BlockNorms norms = operations_->update(q_, from_eigen(xi), m_.diagonal, w_);
      const Matrix squares = sigma_.transpose() * to_eigen(norms.plain) * sigma_;
      const Matrix falls = sigma_.transpose() * xi * sigma_;  // of the energies of the errors
      const bool goes_on = advance(xi * sigma_, norms, nothing);
      for (int column = 0; column < this->columns(); ++column) {
        if (!this->is_running(column)) continue;
        ++this->at(column).result.iterations;
        const double scale = lengths_[static_cast<std::size_t>(column)],
                     length = scale * std::sqrt(std::max(0.0, squares(column, column)));
        this->at(column).energy.error().add_fall(scale * scale * falls(column, column));
        if (!goes_on || !std::isfinite(length))
          this->stop(column, std::isfinite(length) ? StopReason::indefinite : StopReason::not_finite);
        else
          this->reach(column, length / this->at(column).norm_b, iteration);
      }
      this->end_iteration(iteration);
    }
    operators::synchronize(a.device());
    for (int column = 0; column < this->columns(); ++column) add_correction(column, *this->at(column).total);
  }
  void add_correction(int column, std::vector<double>& x) override {
    this->add_column(x_, column, lengths_[static_cast<std::size_t>(column)], x);
  }
  /// X += S correction; then W and S of the next iteration from the new W and its products. False if the iteration
  /// cannot continue: M is not positive definite, or a value is not finite.
  bool advance(const Matrix& correction, BlockNorms norms, double nothing) {
    if (m_.applied != nullptr) {
      m_.applied->apply(w_, z_);
      norms.preconditioned = operations_->product(w_, z_);
    }
    const Matrix products = to_eigen(norms.preconditioned);
    const auto basis = orthonormal_basis((products + products.transpose()) / 2, dependent_part, nothing);
    if (!basis) return false;
    const Matrix zeta = basis->from_vectors.transpose() * products;
    const Matrix direction = zeta.transpose();
    operations_->advance({from_eigen(correction), from_eigen(basis->from_vectors), from_eigen(direction)}, m_.diagonal,
                         m_.applied != nullptr ? &z_ : nullptr, w_, s_, x_);
    sigma_ = zeta * sigma_;
    return true;
  }
  void stop_all(StopReason reason, bool at_tolerance = false) {
    for (int column = 0; column < this->columns(); ++column)
      if (this->is_running(column)) this->stop(column, reason, at_tolerance);
  }

  std::unique_ptr<operators::BlockCgKernels<T>> operations_;
  Inverse<T> m_;
  // Between two restarts:
  std::vector<double> lengths_;  ///< of the initial residuals
  MultiVector<T> x_, w_, s_, q_, z_;
  Matrix sigma_;  ///< the residuals are W sigma
};

}  // namespace

template <std::floating_point T>
std::vector<CgResult> block_conjugate_gradients(const Operator<T>& a, std::span<const Vector<T>> b,
                                                std::vector<std::vector<double>>& x,
                                                const SystemsCgOptions<T>& options) {
  return solve_in_turns<BlockLoop<T>>(a, b, x, options);
}

template std::vector<CgResult> block_conjugate_gradients(const Operator<double>&, std::span<const Vector<double>>,
                                                         std::vector<std::vector<double>>&,
                                                         const SystemsCgOptions<double>&);
template std::vector<CgResult> block_conjugate_gradients(const Operator<float>&, std::span<const Vector<float>>,
                                                         std::vector<std::vector<double>>&,
                                                         const SystemsCgOptions<float>&);

}  // namespace femcg::solver
