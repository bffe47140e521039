#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operators/operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/prediction/choice.hpp"

namespace femcg::solver {

/// y = A x and, if `energy` is not null, x'Ax, with vectors in the ordering of another operator of the same matrix and
/// device. Returns the seconds of the product, including the wait for it but not the conversions to A's own ordering
/// and back.
template <std::floating_point T>
double timed_product(const operators::Operator<T>& a, const operators::Operator<T>& ordered_as,
                     const operators::Vector<T>& x, operators::Vector<T>& y, operators::Scalar* energy);

/// Runs `iterations` iterations of CG with an operator whose products are trials, in launched kernels, and returns its
/// state, from which CG resumes with another operator (CgOptions::before). Ignores `loop` and `captured`.
template <std::floating_point T>
CgCheckpoint<T> iterate_with_trials(const operators::Operator<T>& trials, std::int64_t iterations,
                                    const operators::Vector<T>& b, std::vector<double>& x, CgOptions<T> options);

/// Two operators of one matrix in a timing trial: they alternate until each has made four products, the first of which
/// is not counted; afterwards the first operator makes all. x and y are in the first's ordering. On a GPU every product
/// is synchronised and thus cannot be captured (CgOptions::captured).
template <std::floating_point T>
class TrialOperator final : public operators::Operator<T>, public operators::WithVectorKernels<T> {
 public:
  /// Both operators must outlive this object. Throws std::invalid_argument if their sizes or devices differ.
  TrialOperator(const operators::Operator<T>& first, const operators::Operator<T>& runner_up);

  void diagonal(operators::Vector<T>& d) const override { first_.diagonal(d); }
  operators::Footprint footprint() const override { return first_.footprint(); }
  const operators::Vector<std::int32_t>& ordering() const override { return first_.ordering(); }
  const operators::VectorKernels<T>& vector_kernels() const override { return vector_kernels_for(first_); }

  /// Least seconds of the products of each; 0 if none has been counted.
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

/// Runs the first iterations of CG as a timing trial of two operators. CG then resumes with the selected one from x and
/// the state (CgOptions::before), with the same result up to rounding as with that operator throughout. The options'
/// preconditioner must be the first's; `loop` and `captured` are ignored. `agreed` converts this process's seconds to
/// values that all processes agree on; null on one process.
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
