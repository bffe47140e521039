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

namespace {

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

}  // namespace

RectangularMatrix strong_connections(const RectangularMatrix& a, double threshold) {
  constexpr double nearly = 1 - 1e-10;                               // a_ij and a_ji may be rounded differently
  std::vector<double> least(static_cast<std::size_t>(a.rows), 0.0);  // of each row's entries
  for_each_row(a.rows, [&](std::int64_t row) {
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k)
      least[row] = std::min(least[row], a.value[k]);
  });
  const double squared = threshold * threshold;
  return matrix_of_rows(
      a.rows, a.rows, [&](std::int64_t row) { return a.row_offsets[row]; },
      [&] {
        return [&](std::int64_t row, std::vector<std::int32_t>& columns, std::vector<double>& values) {
          for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
            const std::int32_t column = a.column[k];
            const double value = a.value[k];
            if (column == row || value >= 0) continue;
            if (value * value <= squared * least[row] * least[column] &&
                value > nearly * std::max(least[row], least[column]))
              continue;
            columns.push_back(column);
            values.push_back(value);
          }
        };
      });
}

Aggregates aggregate(const RectangularMatrix& strong) {
  const std::vector<std::uint64_t> rank = independent_set(strong);
  Aggregates aggregates{std::vector<std::int32_t>(rank.size(), -1), 0};
  for (std::size_t i = 0; i < rank.size(); ++i)
    if (rank[i] >> 62U == in) aggregates.of[i] = aggregates.count++;
  // Round each member its neighbours, then what is left, to the aggregate that it is connected to most strongly.
  for (int distance = 1; distance <= 2; ++distance) {
    const std::vector<std::int32_t> before = aggregates.of;
    for_each_row(strong.rows, [&](std::int64_t row) {
      if (before[row] >= 0) return;
      double strongest = 0;
      for (std::int64_t k = strong.row_offsets[row]; k < strong.row_offsets[row + 1]; ++k)
        if (before[strong.column[k]] >= 0 && strong.value[k] < strongest) {
          strongest = strong.value[k];
          aggregates.of[row] = before[strong.column[k]];
        }
    });
  }
  return aggregates;
}

RectangularMatrix prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                               const Aggregates& aggregates, double omega) {
  return matrix_of_rows(
      a.rows, aggregates.count, [&](std::int64_t row) { return a.row_offsets[row]; },
      [&] {
        return [&, terms = std::vector<std::pair<std::int32_t, double>>()](
                   std::int64_t row, std::vector<std::int32_t>& columns, std::vector<double>& values) mutable {
          const std::int32_t own = aggregates.of[row];
          if (own < 0) return;
          double weak = 0, diagonal = 0;  // weak: the sum of the diagonal entry and the weak ones
          for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
            weak += a.value[k];
            if (a.column[k] == row) diagonal = a.value[k];
          }
          for (std::int64_t k = strong.row_offsets[row]; k < strong.row_offsets[row + 1]; ++k) weak -= strong.value[k];
          // Lumping may leave little of a diagonal entry, or nothing: the entry then stays as it is.
          constexpr double least = 0.1;
          const double lumped = weak > least * diagonal ? weak : diagonal;
          terms.assign(1, {own, 1 - omega});
          if (omega > 0)
            for (std::int64_t k = strong.row_offsets[row]; k < strong.row_offsets[row + 1]; ++k) {
              const std::int32_t of = aggregates.of[strong.column[k]];
              if (of < 0) continue;
              auto term = terms.begin();
              while (term != terms.end() && term->first < of) ++term;
              if (term == terms.end() || term->first != of) term = terms.insert(term, {of, 0.0});
              term->second -= omega * strong.value[k] / lumped;
            }
          for (const auto& [column, value] : terms) {
            columns.push_back(column);
            values.push_back(value);
          }
        };
      });
}

}  // namespace femcg::solver
