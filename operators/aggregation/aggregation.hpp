#pragma once

#include <cstdint>

#include "operators/aggregation/rectangular_matrix.hpp"

namespace femcg::operators {

/// Aggregates of unknowns, each the unknown of a coarser level. Smoothed aggregation (Vanek, Mandel & Brezina 1996).
struct Aggregates {
  Vector<std::int32_t> of;  ///< [rows]: the aggregate, -1 for an unknown without strong connections
  std::int32_t count = 0;
};

/// The strong connections of a symmetric matrix, [rows][their columns]: a_ij < 0 with a_ij^2 > threshold^2 m_i m_j, m_i
/// being the most negative entry of row i; and m_i itself, and m_j, so that no unknown is cut off from all others. With
/// the diagonal in place of m_i, as of Vanek, Mandel & Brezina, a hexahedron's 26 neighbours are all weak.
RectangularMatrix strong_connections(const RectangularMatrix& a, double threshold);
RectangularMatrix cuda_strong_connections(const RectangularMatrix& a, double threshold);

/// Aggregates round the members of an independent set of distance 2 in the graph of strong connections. The set is that
/// of the greatest hash numbers (Kelley & Rajamanickam 2022; Bell, Dalton & Olson 2012): the same for any number of
/// threads.
Aggregates aggregate(const RectangularMatrix& strong);
Aggregates cuda_aggregate(const RectangularMatrix& strong);

/// P = (I - omega D^-1 A) T, T_ij = 1 where j is the aggregate of i. Weak entries of A are added to its diagonal D
/// first, so that constants stay constants where A has them in its kernel. With omega = 0 it is T.
RectangularMatrix prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                               const Aggregates& aggregates, double omega);
RectangularMatrix cuda_prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                                    const Aggregates& aggregates, double omega);

}  // namespace femcg::operators
