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
  std::int64_t products = 0;   ///< with the operator
  std::int64_t words = 0;      ///< read and written per unknown beside them
  std::int64_t diagonals = 0;  ///< how often an operators::InverseDiagonal is read, once for all right-hand sides
};

/// A level of a preconditioner that has several.
struct LevelSummary {
  std::string kind;           ///< "degree 2", "box of 512 cells", "aggregates", "inverse"
  std::string operator_name;  ///< in the catalogue; empty where it is the operator of CG
  std::int64_t unknowns = 0, bytes = 0;
  double largest_eigenvalue = 0;  ///< of the smoothed operator; 0 where it is inverted
  std::int64_t blocks = 0;        ///< of unknowns of bad cells that the smoother inverts
};

/// A symmetric positive definite map on the unknowns of one operator, on its device and in its ordering: z = M^-1 r,
/// with an M that is near A and easier to solve with.
template <std::floating_point T>
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  Preconditioner(const Preconditioner&) = delete;
  Preconditioner& operator=(const Preconditioner&) = delete;

  std::int32_t size() const { return size_; }
  operators::Device device() const { return device_; }

  /// z = M^-1 r; every entry of z is written. On a GPU this neither waits nor allocates, unless waits(), so that CG can
  /// record it (operators::CudaGraph). It may use vectors of its own: not for two threads at once. Throws
  /// std::invalid_argument where sizes or devices do not match, or r and z are one vector.
  void apply(const operators::Vector<T>& r, operators::Vector<T>& z) const;

  /// The same for several vectors; the first call with another number of them may allocate.
  void apply(const operators::MultiVector<T>& r, operators::MultiVector<T>& z) const;

  /// x = an approximation of A^-1 b that is better than M^-1 b, where M has one; else false. Every entry of x is
  /// written.
  virtual bool approximate(const operators::Vector<T>& b, operators::Vector<T>& x) const;

  /// True if M = I.
  virtual bool is_identity() const { return false; }
  /// M^-1 where M is diagonal, else null.
  virtual const operators::InverseDiagonal* inverse_diagonal() const { return nullptr; }
  /// True if CG's vector kernels compute M^-1 r (operators::VectorKernels), instead of apply().
  bool is_fused() const { return is_identity() || inverse_diagonal() != nullptr; }
  /// True if M^-1 is A^-1 but for rounding: r'M^-1 r is then the energy of the error, |x - A^-1 b|_A^2.
  virtual bool is_inverse() const { return false; }
  /// True if an iteration takes much longer than the host waits for its numbers, and there are a few: none is then sent
  /// to a GPU before the host has seen the last.
  virtual bool takes_few_iterations() const { return false; }
  /// True if the host waits for the device, or for other processes, within apply().
  virtual bool waits() const { return false; }
  /// Cost of apply().
  virtual PreconditionerCost cost() const = 0;
  /// Resolved values of options left on auto, and measured properties, by name.
  virtual std::map<std::string, std::string> chosen() const { return {}; }
  /// The finest level first; empty where there are none.
  virtual std::vector<LevelSummary> levels() const { return {}; }

 protected:
  Preconditioner(std::int32_t size, operators::Device device) : size_(size), device_(device) {}

 private:
  virtual void solve(const operators::Vector<T>& r, operators::Vector<T>& z) const = 0;
  /// One column after the other, unless a preconditioner does better.
  virtual void solve_columns(const operators::MultiVector<T>& r, operators::MultiVector<T>& z) const;

  std::int32_t size_;
  operators::Device device_;
  mutable operators::Vector<T> column_, solved_;  ///< for one column after the other; made with the first
};

/// 1 / d_i for the diagonal d of `a`, in its ordering; times a power of two, where the d_i are so far from 1 that
/// single precision would not hold it. Throws InputError, which names who needs it, where an entry is not positive: `a`
/// is then not positive definite. Of several processes, together. `diagonal`: d, where it is at hand.
template <std::floating_point T>
operators::InverseDiagonal inverse_diagonal_of(const operators::Operator<T>& a, std::string_view who,
                                               const operators::Vector<T>* diagonal = nullptr);

}  // namespace femcg::solver
