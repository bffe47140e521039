#pragma once

#include <cstdint>

#include "operators/aggregation/rectangular_matrix.hpp"

namespace femcg::operators {

/// Aggregates of unknowns, each an unknown of the coarser level, for smoothed aggregation (Vanek, Mandel & Brezina
/// 1996).
struct Aggregates {
  Vector<std::int32_t> of;  ///< [rows]: the aggregate, -1 for an unknown without strong connections
  std::int32_t count = 0;
};

/// The strong connections of a symmetric matrix, [rows][columns of strong entries]: a_ij < 0 with a_ij^2 > threshold^2
/// m_i m_j, where m_i is the most negative entry of row i; also m_i itself, so that no unknown is cut off from all
/// others. Where the diffusion jumps, m_i is strong in row i and not in row j: an unknown of a good conductor never
/// joins an aggregate by way of a poor one, which would tie two good conductors together. With the diagonal in place of
/// m_i, as in Vanek, Mandel & Brezina, all 26 neighbours of a hexahedral node would be weak.
RectangularMatrix strong_connections(const RectangularMatrix& a, double threshold);
RectangularMatrix cuda_strong_connections(const RectangularMatrix& a, double threshold);

/// Aggregates around the members of an independent set of distance 2 in the graph of strong connections. The set is
/// chosen by the greatest hash numbers (Kelley & Rajamanickam 2022; Bell, Dalton & Olson 2012): the same for any number
/// of threads.
Aggregates aggregate(const RectangularMatrix& strong);
Aggregates cuda_aggregate(const RectangularMatrix& strong);

/// P = (I - omega D^-1 A) T, where T_ij = 1 if j is the aggregate of i. Weak entries of A are added to its diagonal D
/// first, so that P preserves constants where A has them in its kernel. With omega = 0, P = T.
RectangularMatrix prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                               const Aggregates& aggregates, double omega);
RectangularMatrix cuda_prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                                    const Aggregates& aggregates, double omega);

}  // namespace femcg::operators
