#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/operator.hpp"

namespace femcg::solver {

/// Cost of one application.
struct PreconditionerCost {
  std::int64_t products = 0;   ///< products with the operator
  std::int64_t words = 0;      ///< words read and written per unknown apart from the products
  std::int64_t diagonals = 0;  ///< number of reads of an operators::InverseDiagonal, once for all right-hand sides
};

/// A level of a multilevel preconditioner.
struct LevelSummary {
  std::string kind;           ///< "degree 2", "box of 512 cells", "aggregates", "inverse"
  std::string operator_name;  ///< in the catalogue; empty if it is the operator of CG
  std::int64_t unknowns = 0, bytes = 0;
  double largest_eigenvalue = 0;  ///< of the smoothed operator; 0 if the level is solved directly
  std::int64_t blocks = 0;        ///< blocks of unknowns of bad cells that the smoother inverts
};

/// A symmetric positive definite map z = M^-1 r on the unknowns of one operator, on its device and in its ordering,
/// where M approximates A and is easier to solve with.
template <std::floating_point T>
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  Preconditioner(const Preconditioner&) = delete;
  Preconditioner& operator=(const Preconditioner&) = delete;

  std::int32_t size() const { return size_; }
  operators::Device device() const { return device_; }

  /// z = M^-1 r; every entry of z is written. On a GPU apply neither waits nor allocates, unless waits(), so that CG
  /// can capture it (operators::CudaGraph). Not thread-safe: it may use vectors of its own. Throws
  /// std::invalid_argument if sizes or devices do not match, or if r and z are the same vector.
  void apply(const operators::Vector<T>& r, operators::Vector<T>& z) const;

  /// The same for multi-vectors; may allocate on the first call with another number of vectors.
  void apply(const operators::MultiVector<T>& r, operators::MultiVector<T>& z) const;

  /// Computes an approximation x of A^-1 b better than M^-1 b, if M provides one; else returns false. Every entry of x
  /// is written.
  virtual bool approximate(const operators::Vector<T>& b, operators::Vector<T>& x) const;

  /// True if M = I.
  virtual bool is_identity() const { return false; }
  /// M^-1 if M is diagonal, else null.
  virtual const operators::InverseDiagonal* inverse_diagonal() const { return nullptr; }
  /// True if CG's vector kernels compute M^-1 r (operators::VectorKernels), instead of apply().
  bool is_fused() const { return is_identity() || inverse_diagonal() != nullptr; }
  /// True if M^-1 is A^-1 up to rounding: r'M^-1 r is then the energy of the error, |x - A^-1 b|_A^2.
  virtual bool is_inverse() const { return false; }
  /// True if iterations are few and each takes much longer than the host waits for its scalars: a GPU then receives no
  /// iteration before the host has examined the last one.
  virtual bool takes_few_iterations() const { return false; }
  /// True if the host waits for the device, or for other processes, within apply().
  virtual bool waits() const { return false; }
  /// Cost of apply().
  virtual PreconditionerCost cost() const = 0;
  /// Resolved values of options left on auto, and measured properties, by name.
  virtual std::map<std::string, std::string> chosen() const { return {}; }
  /// Levels, finest first; empty if there are none.
  virtual std::vector<LevelSummary> levels() const { return {}; }

 protected:
  Preconditioner(std::int32_t size, operators::Device device) : size_(size), device_(device) {}

 private:
  virtual void solve(const operators::Vector<T>& r, operators::Vector<T>& z) const = 0;
  /// Default: column by column.
  virtual void solve_columns(const operators::MultiVector<T>& r, operators::MultiVector<T>& z) const;

  std::int32_t size_;
  operators::Device device_;
  mutable operators::Vector<T> column_, solved_;  ///< scratch of the column-by-column default; made on first use
};

/// 1 / d_i for the diagonal d of `a`, in its ordering; scaled by a power of two if the d_i are so far from 1 that
/// single precision would not hold the result. Throws InputError, which names the caller `who`, if an entry is not
/// positive: `a` is then not positive definite. Collective. `diagonal`: d, if already known.
template <std::floating_point T>
operators::InverseDiagonal inverse_diagonal_of(const operators::Operator<T>& a, std::string_view who,
                                               const operators::Vector<T>* diagonal = nullptr);

}  // namespace femcg::solver
