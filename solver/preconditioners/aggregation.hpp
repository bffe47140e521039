#pragma once

#include <cstdint>
#include <vector>

#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// Aggregates of unknowns, each the unknown of a coarser level. Smoothed aggregation (Vanek, Mandel & Brezina 1996).
struct Aggregates {
  std::vector<std::int32_t> of;  ///< [rows]: the aggregate, -1 for an unknown without strong connections
  std::int32_t count = 0;
};

/// The strong connections of a matrix: a_ij < 0 with a_ij^2 > threshold^2 m_i m_j, m_i being the most negative entry of
/// row i; and m_i itself, so that no unknown is cut off from all others. With the diagonal in place of m_i, as of
/// Vanek, Mandel & Brezina, a hexahedron's 26 neighbours are all weak. [rows][its strong columns].
operators::RectangularMatrix strong_connections(const operators::RectangularMatrix& a, double threshold);

/// Aggregates round the members of an independent set of distance 2 in the graph of strong connections, made
/// symmetric. The set is that of the greatest hash numbers (Kelley & Rajamanickam 2022; Bell, Dalton & Olson 2012):
/// the same for any number of threads.
Aggregates aggregate(const operators::RectangularMatrix& strong);

/// T: T_ij = 1 where j is the aggregate of i.
operators::RectangularMatrix tentative_prolongation(const Aggregates& aggregates);

/// P = (I - omega D^-1 A) T, omega = 4/3 / `largest`, the largest eigenvalue of D^-1 A. Weak entries of A are added to
/// its diagonal first, so that constants stay constants where A has them in its kernel.
operators::RectangularMatrix smoothed_prolongation(const operators::RectangularMatrix& a,
                                                   const operators::RectangularMatrix& strong,
                                                   const operators::RectangularMatrix& tentative, double largest);

}  // namespace femcg::solver
