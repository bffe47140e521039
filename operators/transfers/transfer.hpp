#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Prolongation P from the unknowns of a coarse level to those of a fine one, and restriction P', on one device. Both
/// are the same for any number of threads, to the bit.
template <std::floating_point T>
class Transfer {
 public:
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// fine += P coarse.
  virtual void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const = 0;
  /// coarse = P' (r - q).
  virtual void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const = 0;
  virtual std::int64_t stored_bytes() const = 0;

 protected:
  Transfer() = default;
};

/// A transfer by cells: in every coarse cell, values at fine nodes are E times those at the cell's coarse nodes, with
/// E_ij = coarse basis function j at fine node i. The fine nodes are those of the cell itself, of a higher degree, or
/// those of the cells that it was split into. A fine node is owned by the first cell that has it; cells that own none are
/// left out. On the host.
struct CellTransferTables {
  std::int32_t coarse_size = 0, fine_size = 0;  ///< unknowns
  int coarse_nodes = 0;                         ///< of a cell
  Vector<float> embedding;                      ///< E, [fine nodes][coarse nodes]
  Vector<std::int32_t> coarse;                  ///< [cells][coarse nodes]: unknown, -1 where there is none
  Vector<std::int32_t> owned_begin;             ///< [cells + 1]: where a cell's owned nodes begin
  Vector<std::int32_t> owned;                   ///< [fine unknowns]: unknown
  Vector<std::uint8_t> node;                    ///< [fine unknowns]: its row of E

  std::int32_t cells() const { return static_cast<std::int32_t>(owned_begin.size()) - 1; }
};

/// Throws std::length_error where there are 2^31 places or more of coarse nodes in cells.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cell_transfer(CellTransferTables tables, Device device);

/// A sparse matrix of any shape in compressed rows on the host, columns ascending.
struct RectangularMatrix {
  std::int32_t rows = 0, columns = 0;
  Vector<std::int64_t> row_offsets;  ///< [rows + 1]
  Vector<std::int32_t> column;
  Vector<double> value;

  std::int64_t nonzeros() const { return rows == 0 ? 0 : row_offsets[rows]; }
};

RectangularMatrix transposed(const RectangularMatrix& matrix);

/// The transfer with P as a stored matrix, [fine unknowns][coarse unknowns], its values rounded to T.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_matrix_transfer(const RectangularMatrix& prolongation, Device device);

/// Versions for the GPU.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_cell_transfer(const CellTransferTables& tables);
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_matrix_transfer(const RectangularMatrix& prolongation);

}  // namespace femcg::operators
