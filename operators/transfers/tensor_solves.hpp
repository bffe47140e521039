#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/transfers/cell_transfer.hpp"
#include "operators/transfers/local_solves.hpp"

namespace femcg::operators {

/// An axis of a lattice: stiffness K and mass M of its line in a basis S of the line's unknowns: all eigenvectors, with
/// S'M S = I, or S = I, where only the diagonals of K and M are kept.
struct TensorAxis {
  std::int32_t size = 1;
  std::vector<double> vectors;          ///< S, [size][size] by columns; empty for the identity
  std::vector<double> stiffness, mass;  ///< [size]: the diagonals of S'K S and S'M S
};

/// Points of the lattice of a box, x fastest. A cell has (degree + 1)^d of them, and shares those on its sides.
struct BoxPoints {
  NodesOfCells nodes;  ///< of the cells, x fastest
  int degree;
  std::array<std::int32_t, 3> cells;        ///< of the box along the axes
  std::array<std::int32_t, 3> first, size;  ///< the range of points along the axes
  std::vector<std::int32_t> node_at;        ///< the node at each position of a cell's own lattice, x fastest

  std::int64_t count() const { return std::int64_t{size[0]} * size[1] * size[2]; }
};

/// Entries of the points in an operator's vectors on the GPU, -1 for a point without unknown.
Vector<std::int32_t> cuda_places_of_points(const BoxPoints& points, const LevelOrdering& ordering);

/// A symmetric map B on the unknowns of a box, by fast diagonalization (Lynch, Rice & Thomas 1964): with the Kronecker
/// product S = S_z x S_y x S_x of three axes and E and R below,
///
///     B = R E S (K_x M_y M_z + M_x K_y M_z + M_x M_y K_z)^-1 S' E R'
///
/// with the diagonals K and M of the axes. B is the inverse of a separable operator if all axes have their
/// eigenvectors, and block Jacobi along lines or in planes if only some have.
struct TensorInverse {
  std::array<TensorAxis, 3> axes;
  Vector<std::int32_t>
      unknowns;         ///< R: entry of r at each point of the lattice, x fastest; -1: none. On the device of B
  Vector<float> scale;  ///< E, per point; empty: 1
  double least = 0;     ///< lower bound of the sum that is inverted, which vanishes for constants
  bool drops_constants = false;  ///< takes the sum's pseudo-inverse: 0 for constants

  std::int64_t points() const { return unknowns.size(); }
};

/// B on one device. Has its own work vectors: not to be used by two threads concurrently.
template <std::floating_point T>
class TensorSolves : public LocalSolves<T> {
 public:
  /// z = B r.
  virtual void apply(const Vector<T>& r, Vector<T>& z) const = 0;
};

template <std::floating_point T>
std::unique_ptr<TensorSolves<T>> make_tensor_solves(TensorInverse of, Device device);
template <std::floating_point T>
std::unique_ptr<TensorSolves<T>> make_cuda_tensor_solves(const TensorInverse& of);

}  // namespace femcg::operators
