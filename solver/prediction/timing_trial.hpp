#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operators/operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/prediction/choice.hpp"

namespace femcg::solver {

/// y = A x, and where `energy` is not null x'Ax, with vectors in the ordering of another operator of the same matrix
/// and device. Returns the seconds of the product, which is waited for: what it takes is brought to A's own ordering
/// and back, which is not counted.
template <std::floating_point T>
double timed_product(const operators::Operator<T>& a, const operators::Operator<T>& ordered_as,
                     const operators::Vector<T>& x, operators::Vector<T>& y, operators::Scalar* energy);

/// So many iterations of CG with an operator whose products are trials, launch by launch, and where they came to; CG
/// goes on from there with another operator (CgOptions::before). Neither `loop` nor `captured` are taken.
template <std::floating_point T>
CgCheckpoint<T> iterate_with_trials(const operators::Operator<T>& trials, std::int64_t iterations,
                                    const operators::Vector<T>& b, std::vector<double>& x, CgOptions<T> options);

/// Two operators of one matrix in a timing trial: they alternate until each has made four products, of which the first
/// is not counted; after that the first makes all of them. x and y are in the first's ordering. On a GPU every product
/// is synchronized, so that it cannot be captured (CgOptions::captured).
template <std::floating_point T>
class TrialOperator final : public operators::Operator<T>, public operators::WithVectorKernels<T> {
 public:
  /// Both must outlive it. Throws std::invalid_argument where they are not of one size and device.
  TrialOperator(const operators::Operator<T>& first, const operators::Operator<T>& runner_up);

  void diagonal(operators::Vector<T>& d) const override { first_.diagonal(d); }
  operators::Footprint footprint() const override { return first_.footprint(); }
  const operators::Vector<std::int32_t>& ordering() const override { return first_.ordering(); }
  const operators::VectorKernels<T>& vector_kernels() const override { return vector_kernels_for(first_); }

  /// The least seconds of the products of each; 0 where it has made none that counts.
  double first_seconds() const { return least_[0]; }
  double runner_up_seconds() const { return least_[1]; }

  static constexpr int products = 8;  ///< until the selection

 private:
  void multiply(const operators::Vector<T>& x, operators::Vector<T>& y, operators::Scalar* energy) const override;
  void multiply_multi_vector(const operators::MultiVector<T>& x, operators::MultiVector<T>& y,
                             double* energies) const override;

  const operators::Operator<T>&first_, &runner_up_;
  mutable int made_ = 0;
  mutable double least_[2] = {0, 0};
};

/// The first iterations of CG as a timing trial of two operators: CG goes on with the selected one from x and the state
/// (CgOptions::before), as if it had been that operator throughout but for rounding. The options' preconditioner is the
/// first's; neither `loop` nor `captured` are taken. `agreed` turns the seconds of this process into those by which all
/// processes decide; null on one.
template <std::floating_point T>
struct TimingTrial {
  CgCheckpoint<T> state;
  ProductSelection selection;
};
template <std::floating_point T>
TimingTrial<T> try_both(const operators::Operator<T>& first, const std::string& first_name,
                        const operators::Operator<T>& runner_up, const std::string& runner_up_name,
                        const operators::Vector<T>& b, std::vector<double>& x, CgOptions<T> options,
                        const std::function<double(double)>& agreed = {});

}  // namespace femcg::solver
