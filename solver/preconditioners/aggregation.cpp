#include "solver/preconditioners/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "operators/backend/mixed_bits.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/preconditioners/sparse_product.hpp"

namespace femcg::solver {

using operators::for_each_row;
using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// The entries of every row that `is_taken(row, k)`.
template <class Taken>
RectangularMatrix filtered(const RectangularMatrix& a, const Taken& is_taken) {
  RectangularMatrix result;
  result.rows = a.rows;
  result.columns = a.columns;
  result.row_offsets = Vector<std::int64_t>(a.rows + std::int64_t{1});
  result.row_offsets[0] = 0;
  for_each_row(a.rows, [&](std::int64_t row) {
    std::int64_t count = 0;
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) count += is_taken(row, k) ? 1 : 0;
    result.row_offsets[row + 1] = count;
  });
  for (std::int32_t row = 0; row < a.rows; ++row) result.row_offsets[row + 1] += result.row_offsets[row];
  result.column = Vector<std::int32_t>(result.nonzeros());
  result.value = Vector<double>(result.nonzeros());
  for_each_row(a.rows, [&](std::int64_t row) {
    std::int64_t to = result.row_offsets[row];
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k)
      if (is_taken(row, k)) {
        result.column[to] = a.column[k];
        result.value[to++] = a.value[k];
      }
  });
  return result;
}

enum State : std::uint64_t { out, undecided, in };

/// The state, a hash and the number of an unknown, in the order by which the set is chosen; 2, 30 and 32 bits.
std::uint64_t rank_of(State state, std::int32_t unknown) {
  const auto number = static_cast<std::uint32_t>(unknown);
  return state << 62U | operators::mixed_bits(unknown) >> 34U << 32U | number;
}

/// max_j over the neighbours of i and i itself.
void greatest_nearby(const RectangularMatrix& graph, const std::vector<std::uint64_t>& rank,
                     std::vector<std::uint64_t>& greatest) {
  for_each_row(graph.rows, [&](std::int64_t row) {
    std::uint64_t most = rank[row];
    for (std::int64_t k = graph.row_offsets[row]; k < graph.row_offsets[row + 1]; ++k)
      most = std::max(most, rank[graph.column[k]]);
    greatest[row] = most;
  });
}

/// In each round an undecided unknown comes in that has the greatest rank within distance 2, and one goes out that has
/// a member there.
std::vector<std::uint64_t> independent_set(const RectangularMatrix& graph) {
  std::vector<std::uint64_t> rank(static_cast<std::size_t>(graph.rows)), near(rank.size()), far(rank.size());
  for_each_row(graph.rows, [&](std::int64_t row) {
    const auto unknown = static_cast<std::int32_t>(row);
    rank[row] = rank_of(graph.row_offsets[row] == graph.row_offsets[row + 1] ? out : undecided, unknown);
  });
  for (bool changes = true; changes;) {
    greatest_nearby(graph, rank, near);
    greatest_nearby(graph, near, far);
    const std::int64_t left =
        operators::sum_over_row_blocks(graph.rows, operators::EqualRows{}, [&](std::int64_t first, std::int64_t last) {
          std::int64_t undecided_left = 0;
          for (std::int64_t row = first; row < last; ++row) {
            if (rank[row] >> 62U != undecided) continue;
            const auto unknown = static_cast<std::int32_t>(row);
            if (far[row] == rank[row])
              rank[row] = rank_of(in, unknown);
            else if (far[row] >> 62U == in)
              rank[row] = rank_of(out, unknown);
            else
              ++undecided_left;
          }
          return undecided_left;
        });
    changes = left > 0;
  }
  return rank;
}

/// The pattern of G + G', with the greater strength |g_ij| of the two.
RectangularMatrix symmetric_graph(const RectangularMatrix& strong) {
  const RectangularMatrix back = operators::transposed(strong);
  RectangularMatrix graph;
  graph.rows = graph.columns = strong.rows;
  graph.row_offsets = Vector<std::int64_t>(strong.rows + std::int64_t{1});
  graph.row_offsets[0] = 0;
  const auto for_entries = [&](std::int64_t row, const auto& work) {
    std::int64_t k = strong.row_offsets[row], l = back.row_offsets[row];
    const std::int64_t last = strong.row_offsets[row + 1], back_last = back.row_offsets[row + 1];
    while (k < last || l < back_last) {
      const bool here = k < last && (l == back_last || strong.column[k] <= back.column[l]);
      const bool there = l < back_last && (k == last || back.column[l] <= strong.column[k]);
      work(here ? strong.column[k] : back.column[l],
           std::max(here ? std::abs(strong.value[k]) : 0.0, there ? std::abs(back.value[l]) : 0.0));
      k += here ? 1 : 0;
      l += there ? 1 : 0;
    }
  };
  for_each_row(graph.rows, [&](std::int64_t row) {
    std::int64_t count = 0;
    for_entries(row, [&](std::int32_t, double) { ++count; });
    graph.row_offsets[row + 1] = count;
  });
  for (std::int32_t row = 0; row < graph.rows; ++row) graph.row_offsets[row + 1] += graph.row_offsets[row];
  graph.column = Vector<std::int32_t>(graph.nonzeros());
  graph.value = Vector<double>(graph.nonzeros());
  for_each_row(graph.rows, [&](std::int64_t row) {
    std::int64_t to = graph.row_offsets[row];
    for_entries(row, [&](std::int32_t column, double strength) {
      graph.column[to] = column;
      graph.value[to++] = strength;
    });
  });
  return graph;
}

}  // namespace

RectangularMatrix strong_connections(const RectangularMatrix& a, double threshold) {
  std::vector<double> least(static_cast<std::size_t>(a.rows), 0.0);  // of each row's entries
  for_each_row(a.rows, [&](std::int64_t row) {
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k)
      least[row] = std::min(least[row], a.value[k]);
  });
  return filtered(a, [&](std::int64_t row, std::int64_t k) {
    const std::int32_t column = a.column[k];
    const double value = a.value[k];
    return column != row && value < 0 &&
           (value * value > threshold * threshold * least[row] * least[column] || value == least[row]);
  });
}

Aggregates aggregate(const RectangularMatrix& strong) {
  const RectangularMatrix graph = symmetric_graph(strong);
  const std::vector<std::uint64_t> rank = independent_set(graph);
  Aggregates aggregates{std::vector<std::int32_t>(rank.size(), -1), 0};
  for (std::size_t i = 0; i < rank.size(); ++i)
    if (rank[i] >> 62U == in) aggregates.of[i] = aggregates.count++;
  // Round each member its neighbours, then what is left, to the aggregate that it is connected to most strongly.
  for (int distance = 1; distance <= 2; ++distance) {
    const std::vector<std::int32_t> before = aggregates.of;
    for_each_row(graph.rows, [&](std::int64_t row) {
      if (before[row] >= 0) return;
      double strongest = -1;
      for (std::int64_t k = graph.row_offsets[row]; k < graph.row_offsets[row + 1]; ++k)
        if (before[graph.column[k]] >= 0 && graph.value[k] > strongest) {
          strongest = graph.value[k];
          aggregates.of[row] = before[graph.column[k]];
        }
    });
  }
  return aggregates;
}

RectangularMatrix tentative_prolongation(const Aggregates& aggregates) {
  RectangularMatrix tentative;
  tentative.rows = static_cast<std::int32_t>(aggregates.of.size());
  tentative.columns = aggregates.count;
  tentative.row_offsets = Vector<std::int64_t>(tentative.rows + std::int64_t{1});
  tentative.row_offsets[0] = 0;
  for (std::int32_t row = 0; row < tentative.rows; ++row)
    tentative.row_offsets[row + 1] = tentative.row_offsets[row] + (aggregates.of[row] >= 0 ? 1 : 0);
  tentative.column = Vector<std::int32_t>(tentative.nonzeros());
  tentative.value = Vector<double>(tentative.nonzeros());
  operators::fill(tentative.value, 1.0);
  for_each_row(tentative.rows, [&](std::int64_t row) {
    if (aggregates.of[row] >= 0) tentative.column[tentative.row_offsets[row]] = aggregates.of[row];
  });
  return tentative;
}

RectangularMatrix smoothed_prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                                        const RectangularMatrix& tentative, double largest) {
  // The filtered matrix: strong entries and those of the diagonal, which gets the weak ones.
  const double omega = 4.0 / 3.0 / largest;
  const std::vector<double> diagonal = diagonal_of(a);
  const auto is_strong = [&](std::int64_t row, std::int64_t k, std::int64_t& next) {
    while (next < strong.row_offsets[row + 1] && strong.column[next] < a.column[k]) ++next;
    return next < strong.row_offsets[row + 1] && strong.column[next] == a.column[k];
  };
  RectangularMatrix smoother;  // I - omega D^-1 A, filtered
  smoother.rows = smoother.columns = a.rows;
  smoother.row_offsets = Vector<std::int64_t>(a.rows + std::int64_t{1});
  for (std::int32_t row = 0; row <= a.rows; ++row) smoother.row_offsets[row] = strong.row_offsets[row] + row;
  smoother.column = Vector<std::int32_t>(smoother.nonzeros());
  smoother.value = Vector<double>(smoother.nonzeros());
  for_each_row(a.rows, [&](std::int64_t row) {
    double sum = 0;  // of the diagonal entry and the weak ones
    std::int64_t next = strong.row_offsets[row], to = smoother.row_offsets[row], at_diagonal = to;
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      if (a.column[k] == row) {
        at_diagonal = to++;
        smoother.column[at_diagonal] = static_cast<std::int32_t>(row);
      } else if (is_strong(row, k, next)) {
        smoother.column[to] = a.column[k];
        smoother.value[to++] = a.value[k];
        continue;
      }
      sum += a.value[k];
    }
    // Lumping may leave little of a diagonal entry, or nothing: the entry then stays as it is.
    constexpr double least = 0.1;
    const double lumped = sum > least * diagonal[row] ? sum : diagonal[row];
    for (std::int64_t k = smoother.row_offsets[row]; k < smoother.row_offsets[row + 1]; ++k)
      smoother.value[k] = k == at_diagonal ? 1 - omega : -omega * smoother.value[k] / lumped;
  });
  return product(smoother, tentative);
}

}  // namespace femcg::solver
