#include "solver/preconditioners/chebyshev.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

using operators::CgScalars;
using operators::Device;
using operators::InverseDiagonal;
using operators::MultiVector;
using operators::Operator;
using operators::OptionDescription;
using operators::Options;
using operators::Vector;

namespace {

constexpr std::int64_t largest_degree = 16;
/// Factor by which the interval exceeds the estimate, a lower bound.
constexpr double margin = 1.1;

std::optional<double> parse_ratio(std::string_view text) {
  const std::optional<double> number = operators::parse_number(text);
  return number && *number > 1 ? number : std::nullopt;
}

bool is_degree(std::string_view text) {
  const auto number = operators::parse_positive(text);
  return number && *number <= largest_degree;
}

constexpr std::array<OptionDescription, 2> degree_and_ratio{{
    {"degree", "1 to 16", "4", "of the polynomial that damps the error; an application takes one product less",
     is_degree},
    {"ratio", "a number above 1", "30", "of the largest eigenvalue to the least that is damped",
     [](std::string_view text) { return parse_ratio(text).has_value(); }},
}};

/// r'D^-1 r before each step of CG preconditioned by D and after the last one, and p'Ap of each step.
struct CgCoefficients {
  std::vector<double> rz, energy;
};

template <std::floating_point T>
CgCoefficients coefficients_of_cg(const Operator<T>& a, const InverseDiagonal& inverse_diagonal, int steps,
                                  const Preconditioner<T>* m) {
  ClassicCg<T> cg(a, m != nullptr ? Inverse<T>(m) : Inverse<T>(inverse_diagonal), false);
  BatchScalars<CgScalars> scalars(
      steps, 0, 1, a.device(), [](Vector<double>& numbers, std::int64_t place) { return CgScalars(numbers, place); });
  operators::copy(
      operators::random_residual<T>(inverse_diagonal, a.ordering(), vector_kernels_for(a).ownership().numbers()),
      cg.r());
  cg.start(scalars.of(0));
  cg.iterate(steps, scalars);
  CgCoefficients coefficients;
  for (int j = 0; j <= steps; ++j) {
    coefficients.rz.push_back(scalars.of(j).rz.value());
    coefficients.energy.push_back(scalars.of(j).energy.value());
  }
  return coefficients;
}

template <std::floating_point T>
class Chebyshev final : public Preconditioner<T> {
 public:
  Chebyshev(const Operator<T>& a, const Options& given, const Vector<T>* diagonal)
      : Preconditioner<T>(a.size(), a.device()),
        a_(a),
        degree_(
            static_cast<int>(*operators::parse_positive(operators::value_of(degree_and_ratio[0], "chebyshev", given)))),
        ratio_(*parse_ratio(operators::value_of(degree_and_ratio[1], "chebyshev", given))),
        inverse_diagonal_(inverse_diagonal_of(a, "chebyshev", diagonal)),
        largest_(largest_eigenvalue(a, inverse_diagonal_)),
        theta_((margin + 1 / ratio_) / 2 * largest_),
        delta_((margin - 1 / ratio_) / 2 * largest_),
        d_(a.size(), a.device()),
        q_(a.size(), a.device()) {}

  PreconditionerCost cost() const override { return {degree_ - 1, 3 + 6 * (degree_ - 1), degree_}; }
  std::map<std::string, std::string> chosen() const override {
    return {{"degree", fmt::format("{}", degree_)},
            {"ratio", fmt::format("{}", ratio_)},
            {"largest_eigenvalue", fmt::format("{:.6g}", largest_)}};
  }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override { iterate(r, d_, q_, z); }
  /// Scratch vectors are made on first use of this number of columns.
  void solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const override {
    if (d_columns_.count() != r.count() || d_columns_.rows() != r.rows()) {
      d_columns_ = MultiVector<T>(r.rows(), r.count(), r.device());
      q_columns_ = MultiVector<T>(r.rows(), r.count(), r.device());
      operators::clear(q_columns_.entries());  // products may leave padding columns unwritten
    }
    iterate(r, d_columns_, q_columns_, z);
  }
  /// d: last step; q = A z.
  template <class V>
  void iterate(const V& r, V& d, V& q, V& z) const {
    operators::chebyshev_first(1 / theta_, r, inverse_diagonal_, d, z);
    double rho = delta_ / theta_;
    for (int step = 1; step < degree_; ++step) {
      const double next = 1 / (2 * theta_ / delta_ - rho);
      a_.apply(z, q);
      operators::chebyshev_next(next * rho, 2 * next / delta_, r, q, inverse_diagonal_, d, z);
      rho = next;
    }
  }

  const Operator<T>& a_;
  int degree_;
  double ratio_;
  InverseDiagonal inverse_diagonal_;
  double largest_, theta_, delta_;
  mutable Vector<T> d_, q_;
  mutable MultiVector<T> d_columns_, q_columns_;
};

}  // namespace

template <std::floating_point T>
double largest_eigenvalue(const Operator<T>& a, const InverseDiagonal& inverse_diagonal, int steps,
                          const Preconditioner<T>* m) {
  if (vector_kernels_for(a).ownership().sum(a.size()) == 0) return 1;
  const CgCoefficients of = coefficients_of_cg(a, inverse_diagonal, steps, m);
  if (!(of.energy[0] > 0))
    throw InputError(
        fmt::format("the preconditioner needs a positive definite matrix, but x'Ax is {} for some x", of.energy[0]));
  // Once the residual consists of rounding, further coefficients carry no information.
  const double vanished = std::pow(std::numeric_limits<T>::epsilon(), 2) * of.rz[0];
  const auto told = [&](int j) { return j < steps && of.energy[j] > 0 && of.rz[j] > vanished; };
  std::vector<double> diagonal, beside;
  for (int j = 0; told(j); ++j) {
    const double alpha = of.rz[j] / of.energy[j];
    diagonal.push_back(1 / alpha);
    if (j > 0) diagonal.back() += of.rz[j] / of.rz[j - 1] * of.energy[j - 1] / of.rz[j - 1];
    beside.push_back(std::sqrt(of.rz[j + 1] / of.rz[j]) / alpha);
  }
  const auto count = static_cast<Eigen::Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<Eigen::VectorXd>(diagonal.data(), count),
                                Eigen::Map<Eigen::VectorXd>(beside.data(), count - 1), Eigen::EigenvaluesOnly);
  return solver.eigenvalues().maxCoeff();
}

std::span<const OptionDescription> chebyshev_options() { return degree_and_ratio; }

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_chebyshev(const Operator<T>& a, const Options& given,
                                                  const PreconditionerInput<T>& input) {
  return std::make_unique<Chebyshev<T>>(a, given, input.diagonal);
}

template std::unique_ptr<Preconditioner<double>> make_chebyshev(const Operator<double>&, const Options&,
                                                                const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_chebyshev(const Operator<float>&, const Options&,
                                                               const PreconditionerInput<float>&);
template double largest_eigenvalue(const Operator<double>&, const InverseDiagonal&, int, const Preconditioner<double>*);
template double largest_eigenvalue(const Operator<float>&, const InverseDiagonal&, int, const Preconditioner<float>*);

}  // namespace femcg::solver
