#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/vector.hpp"
#include "operators/footprint.hpp"

namespace femcg::operators {

/// Size, device and address of a vector that a map is applied to, or of its result.
struct Operand {
  template <class T>
  Operand(const Vector<T>& of) : rows(of.size()), device(of.device()), data(of.data()) {}
  template <class T>
  Operand(const MultiVector<T>& of) : rows(of.rows()), device(of.device()), data(of.data()) {}
  std::int64_t rows;
  Device device;
  const void* data;
};

/// Throws std::invalid_argument where `who`, a map of so many rows on a device, cannot be applied to x to give y.
void check_operands(std::string_view who, std::int64_t rows, Device device, const Operand& x, const Operand& y);

/// A symmetric positive (semi)definite map on the unknowns of one problem: y = A x.
template <std::floating_point T>
class Operator {
 public:
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  /// Number of rows, and of columns.
  std::int32_t size() const { return size_; }
  Device device() const { return device_; }

  /// y = A x; every entry of y is written. With `energy`, also x'Ax, which CG needs and which costs next to nothing
  /// here (a sum over rows, or over cells). Throws std::invalid_argument where sizes or devices do not match, or x and
  /// y are one vector.
  void apply(const Vector<T>& x, Vector<T>& y, Scalar* energy = nullptr) const;

  /// Y = A X, column by column of vectors that are interleaved. An operator that gains from it reads what it stores
  /// once for all of them. With `energies`, also x_c'A x_c of each. Throws as apply does.
  void apply(const MultiVector<T>& x, MultiVector<T>& y, MultiScalar* energies = nullptr) const;

  /// d_i = A_ii.
  virtual void diagonal(Vector<T>& d) const = 0;
  virtual Footprint footprint() const = 0;
  /// Resolved values of options left on auto, by option name, and further facts by names of their own.
  virtual std::map<std::string, std::string> chosen() const { return {}; }
  /// The ordering of x, y and d: entry i is the unknown ordering()[i]. On the operator's device; empty where that is i
  /// itself. See to_ordering and from_ordering (operators/ordering.hpp).
  virtual const Vector<std::int32_t>& ordering() const;
  /// True if products of two operators may run concurrently: apply writes only y and its own scratch memory, and gives
  /// all work to the current stream.
  virtual bool runs_concurrently() const { return true; }

 protected:
  /// Y = A X for a stride of 2, 4, 8, 16 or 32, and the energies where they are not null. By default one vector after
  /// the other, through copies that are allocated in the first such product, which must not be captured in a graph.
  virtual void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const;

  Operator(std::int32_t size, Device device) : size_(size), device_(device) {}

 private:
  /// y = A x, and x'Ax where energy is not null.
  virtual void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const = 0;

  std::int32_t size_;
  Device device_;
  mutable std::vector<Vector<T>> turn_x_, turn_y_;  ///< scratch of multiply_multi_vector
};

}  // namespace femcg::operators
