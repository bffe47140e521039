#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/problem/memory_estimate.hpp"

namespace femcg::solver {

/// Seconds of a set-up step. A short step is repeated and the least of up to seven times taken: first use of a kernel
/// or of memory, or a preempted thread, would otherwise count against the first operator. Calls prepare() before each
/// step, untimed.
template <class Prepare, class Step>
double least_seconds(const Prepare& prepare, const Step& step) {
  constexpr double is_short = 0.1;
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (int time = 0; time < 7 && all < is_short; ++time) {
    prepare();
    double seconds = 0;
    timed(seconds, step);
    least = std::min(least, seconds);
    all += seconds;
  }
  return least;
}

/// Ingredients, other than the form, that the operators of a comparison are made from.
struct WantedAssembly {
  bool element_matrices = false, matrix = false;
  bool on_host = false;  ///< an operator on the host needs them
};
WantedAssembly wanted_by(std::span<const BenchmarkEntry> entries);

/// Element matrices and assembled matrix of a form, or the matrix of a file in the precision of the comparison; made
/// once for all operators.
template <std::floating_point T>
class Assembly {
 public:
  /// Exactly one of `form` and `source` is null. The form must outlive the assembly.
  Assembly(const operators::BilinearForm* form, std::shared_ptr<const operators::CsrMatrix<double>> source)
      : form_(form), source_(std::move(source)) {}

  /// Counts the entries of rows if a matrix is wanted. Returns the memory estimate of assemble().
  MemoryEstimate prepare(WantedAssembly wanted);
  /// Throws std::overflow_error if the values of a file's matrix exceed single precision.
  void assemble();

  /// Makes an operator that leaves `reserved_bytes` free on its device.
  std::unique_ptr<operators::Operator<T>> make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const;
  MemoryEstimate need_of(const MemoryUser& user) const { return need_of_operator<T>(user, form_, matrix_.get()); }
  /// Seconds of the part of the assembly that this operator is made from.
  double seconds(const BenchmarkEntry& entry) const;
  /// Assembled matrix; null if none was wanted.
  const operators::CsrMatrix<T>* matrix() const { return matrix_.get(); }

 private:
  const operators::BilinearForm* form_;
  std::shared_ptr<const operators::CsrMatrix<double>> source_;
  /// Assembles on the GPU if all operators are on it, as a run with one of them does.
  bool is_on_gpu() const { return form_ != nullptr && !wanted_.on_host && operators::can_assemble_on_gpu(*form_); }

  WantedAssembly wanted_;
  std::optional<operators::MatrixRows<T>> rows_;
  operators::ElementMatrices element_matrices_;
  std::shared_ptr<const operators::CsrMatrix<T>> matrix_;
  double element_seconds_ = 0, matrix_seconds_ = 0;
};

extern template class Assembly<double>;
extern template class Assembly<float>;

}  // namespace femcg::solver
