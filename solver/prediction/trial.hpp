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
/// goes on from there with another operator (CgOptions::before). Neither `loop` nor `recorded` are taken.
template <std::floating_point T>
CgState<T> iterate_with_trials(const operators::Operator<T>& trials, std::int64_t iterations,
                               const operators::Vector<T>& b, std::vector<double>& x, CgOptions<T> options);

/// Two operators of one matrix as one, whose products they make in turn until each has made four, of which the first is
/// not counted; after that the first makes them all. x and y are in the first's ordering. On a GPU every product is
/// waited for: its work cannot be recorded (CgOptions::recorded).
template <std::floating_point T>
class TrialOperator final : public operators::Operator<T>, public operators::WithVectorOperations<T> {
 public:
  /// Both must outlive it. Throws std::invalid_argument where they are not of one size and device.
  TrialOperator(const operators::Operator<T>& first, const operators::Operator<T>& rival);

  void diagonal(operators::Vector<T>& d) const override { first_.diagonal(d); }
  operators::Footprint footprint() const override { return first_.footprint(); }
  const operators::Vector<std::int32_t>& ordering() const override { return first_.ordering(); }
  const operators::VectorOperations<T>& vector_operations() const override { return operations_for(first_); }

  /// The least seconds of the products of each; 0 where it has made none that counts.
  double first_seconds() const { return least_[0]; }
  double rival_seconds() const { return least_[1]; }

  static constexpr int products = 8;  ///< until the verdict

 private:
  void multiply(const operators::Vector<T>& x, operators::Vector<T>& y, operators::Scalar* energy) const override;
  void multiply_columns(const operators::Columns<T>& x, operators::Columns<T>& y, double* energies) const override;

  const operators::Operator<T>&first_, &rival_;
  mutable int made_ = 0;
  mutable double least_[2] = {0, 0};
};

/// The first iterations of CG, with the products of both in turn: CG goes on with the operator that won from x and the
/// state (CgOptions::before), as if it had been that operator throughout but for rounding. The options' preconditioner
/// is the first's; neither `loop` nor `recorded` are taken. `agreed` turns the seconds of this process into those by
/// which all processes decide; null on one.
template <std::floating_point T>
struct Trial {
  CgState<T> state;
  ProductVerdict verdict;
};
template <std::floating_point T>
Trial<T> try_both(const operators::Operator<T>& first, const std::string& first_name,
                  const operators::Operator<T>& rival, const std::string& rival_name, const operators::Vector<T>& b,
                  std::vector<double>& x, CgOptions<T> options, const std::function<double(double)>& agreed = {});

}  // namespace femcg::solver
