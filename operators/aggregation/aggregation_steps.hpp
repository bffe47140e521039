#pragma once

// Steps of smoothed aggregation, row by row, for the threads of the host (OnHost) and of a GPU (OnGpu).

#include <algorithm>
#include <utility>

#include "operators/aggregation/aggregation.hpp"
#include "operators/aggregation/matrix_pointers.hpp"
#include "operators/backend/mixed_bits.hpp"

namespace femcg::operators {

/// m_i = min(0, min_j a_ij).
struct LeastEntry {
  MatrixPointers a;
  double* least;

  constexpr void operator()(std::int64_t row) const {
    least[row] = 0;
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) least[row] = std::min(least[row], a.value[k]);
  }
};

/// The strong entries of a row.
struct StrongRow {
  MatrixPointers a;
  const double* least;
  double threshold;

  constexpr bool is_strong(std::int64_t row, std::int32_t column, double value) const {
    return column != row && value < 0 &&
           (value * value > threshold * threshold * (least[row] * least[column]) || value == least[row]);
  }
  constexpr std::int64_t most(std::int64_t row) const { return a.length(row); }
  template <class Row>
  constexpr void operator()(std::int64_t row, Row& to) const {
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k)
      if (is_strong(row, a.column[k], a.value[k])) to.append(a.column[k], a.value[k]);
  }
};

template <class On>
RectangularMatrix strong_connections_on(const On& on, const RectangularMatrix& a, double threshold) {
  Vector<double> least(a.rows, On::device);
  on.for_each(a.rows, LeastEntry{MatrixPointers(a), least.data()});
  return on.rows(a.rows, a.rows, StrongRow{MatrixPointers(a), least.data(), threshold});
}

/// Membership of an unknown in the independent set; undecided at first.
enum class Membership : std::uint64_t { out, undecided, in };

/// Rank by which the set is chosen: membership, hash and number of an unknown in 2, 30 and 32 bits.
constexpr std::uint64_t rank_of(Membership membership, std::int64_t unknown) {
  return static_cast<std::uint64_t>(membership) << 62U | mixed_bits(unknown) >> 34U << 32U |
         static_cast<std::uint64_t>(unknown);
}
constexpr Membership membership(std::uint64_t rank) { return static_cast<Membership>(rank >> 62U); }

/// First ranks: unknowns without strong connections are out, all others undecided.
struct FirstRank {
  MatrixPointers strong;
  std::uint64_t* rank;

  constexpr void operator()(std::int64_t row) const {
    rank[row] = rank_of(strong.length(row) == 0 ? Membership::out : Membership::undecided, row);
  }
};

/// Greatest rank among unknown i and its neighbours.
struct GreatestNearby {
  MatrixPointers strong;
  const std::uint64_t* rank;
  std::uint64_t* greatest;

  constexpr void operator()(std::int64_t row) const {
    std::uint64_t most = rank[row];
    for (std::int64_t k = strong.offsets[row]; k < strong.offsets[row + 1]; ++k)
      most = std::max(most, rank[strong.column[k]]);
    greatest[row] = most;
  }
};

/// Decides undecided unknowns: in if its rank is the greatest within distance 2, out if a member is within distance 2.
struct Decide {
  const std::uint64_t* greatest;
  std::uint64_t* rank;
  std::int32_t* is_undecided;

  constexpr void operator()(std::int64_t row) const {
    if (membership(rank[row]) == Membership::undecided) {
      if (greatest[row] == rank[row])
        rank[row] = rank_of(Membership::in, row);
      else if (membership(greatest[row]) == Membership::in)
        rank[row] = rank_of(Membership::out, row);
    }
    is_undecided[row] = membership(rank[row]) == Membership::undecided ? 1 : 0;
  }
};

struct IsMember {
  const std::uint64_t* rank;
  std::int32_t* is_member;

  constexpr void operator()(std::int64_t row) const {
    is_member[row] = membership(rank[row]) == Membership::in ? 1 : 0;
  }
};

/// Aggregate of a member: its number among the members.
struct NumberMember {
  const std::uint64_t* rank;
  const std::int32_t* members_before;
  std::int32_t* aggregate;

  constexpr void operator()(std::int64_t row) const {
    aggregate[row] = membership(rank[row]) == Membership::in ? members_before[row] : -1;
  }
};

/// Adds an unknown without aggregate to the aggregate of its most strongly connected neighbour.
struct JoinStrongest {
  MatrixPointers strong;
  const std::int32_t* before;
  std::int32_t* aggregate;

  constexpr void operator()(std::int64_t row) const {
    aggregate[row] = before[row];
    double strongest = 0;
    for (std::int64_t k = strong.offsets[row]; before[row] < 0 && k < strong.offsets[row + 1]; ++k)
      if (before[strong.column[k]] >= 0 && strong.value[k] < strongest) {
        strongest = strong.value[k];
        aggregate[row] = before[strong.column[k]];
      }
  }
};

template <class On>
Aggregates aggregate_on(const On& on, const RectangularMatrix& strong) {
  const MatrixPointers graph(strong);
  const std::int64_t rows = strong.rows;
  Vector<std::uint64_t> rank(rows, On::device), near(rows, On::device), far(rows, On::device);
  Vector<std::int32_t> counted(rows + 1, On::device);  // the last is 0 before the prefix sum
  const auto count = [&](const auto& flag) {
    const std::int32_t none = 0;
    copy_bytes(&none, Device::host, counted.data() + rows, On::device, sizeof none);
    on.for_each(rows, flag);
    return on.sum_before(counted);
  };
  on.for_each(rows, FirstRank{graph, rank.data()});
  do {
    on.for_each(rows, GreatestNearby{graph, rank.data(), near.data()});
    on.for_each(rows, GreatestNearby{graph, near.data(), far.data()});
  } while (count(Decide{far.data(), rank.data(), counted.data()}) > 0);

  Aggregates aggregates{Vector<std::int32_t>(rows, On::device), count(IsMember{rank.data(), counted.data()})};
  on.for_each(rows, NumberMember{rank.data(), counted.data(), aggregates.of.data()});
  // First the neighbours of each member, then the remaining unknowns.
  Vector<std::int32_t> before(rows, On::device);
  for (int distance = 1; distance <= 2; ++distance) {
    std::swap(before, aggregates.of);
    on.for_each(rows, JoinStrongest{graph, before.data(), aggregates.of.data()});
  }
  synchronize(On::device);  // before ranks and `before` are freed
  return aggregates;
}

/// Row i of (I - omega D^-1 A) T.
struct ProlongationRow {
  MatrixPointers a, strong;
  const std::int32_t* aggregate;
  double omega;

  /// The diagonal entry plus the weak ones; the diagonal entry alone where the sum would be too small.
  constexpr double lumped_diagonal(std::int64_t row) const {
    constexpr double least = 0.1;
    double weak = 0, diagonal = 0;
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) {
      weak += a.value[k];
      if (a.column[k] == row) diagonal = a.value[k];
    }
    for (std::int64_t k = strong.offsets[row]; k < strong.offsets[row + 1]; ++k) weak -= strong.value[k];
    return weak > least * diagonal ? weak : diagonal;
  }
  constexpr std::int64_t most(std::int64_t row) const { return strong.length(row) + 1; }
  template <class Row>
  constexpr void operator()(std::int64_t row, Row& to) const {
    if (aggregate[row] < 0) return;
    to.append(aggregate[row], 1 - omega);
    if (omega == 0) return;
    const double diagonal = lumped_diagonal(row);
    for (std::int64_t k = strong.offsets[row]; k < strong.offsets[row + 1]; ++k) {
      const std::int32_t of = aggregate[strong.column[k]];
      if (of >= 0) to.add(of, -(omega * strong.value[k] / diagonal));
    }
  }
};

template <class On>
RectangularMatrix prolongation_on(const On& on, const RectangularMatrix& a, const RectangularMatrix& strong,
                                  const Aggregates& aggregates, double omega) {
  return on.rows(a.rows, aggregates.count,
                 ProlongationRow{MatrixPointers(a), MatrixPointers(strong), aggregates.of.data(), omega});
}

}  // namespace femcg::operators
