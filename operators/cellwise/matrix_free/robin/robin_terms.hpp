#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The Robin terms of a form, y += sum_F P_F' Phi' diag(alpha w |J|) Phi P_F x over their facets F, as a GPU takes
/// them: numbers of facets interleaved, 32 facets side by side (place_of), and one table for all, since the nodes of
/// each facet of the reference cell are taken in the order in which the first one has its own.
struct RobinTerms {
  static constexpr int group = 32;

  int nodes = 0, points = 0;            ///< of a facet
  std::int64_t facets = 0;              ///< a multiple of `group`; the last may be empty: no unknowns, weights 0
  std::vector<double> table;            ///< Phi, points x nodes
  mesh::Array<double> weights;          ///< alpha w |J| at the points of the facets, interleaved
  mesh::Array<std::int32_t> positions;  ///< of the unknowns of their nodes, interleaved; -1 where one is constrained
  /// Facets of one boundary dof, as indices into `positions`: the first two inline, further ones in `more`, whose entry
  /// `rest` is their number; -1: none.
  struct Row {
    std::int32_t position, first, second, rest;
  };
  mesh::Array<Row> rows;  ///< ascending, as their places are
  std::vector<std::int32_t> more;

  /// Where the number of a facet's node or point is, of so many.
  static std::int64_t place_of(std::int64_t facet, int number, int count) {
    return (facet / group * count + number) * group + facet % group;
  }
};

/// Unknowns are where `unknown_at` has them; facets are in their order. Throws std::length_error where there are more
/// than 2^31 - 1 places.
RobinTerms robin_terms(const BilinearForm& form, std::span<const std::int32_t> unknown_at);

}  // namespace femcg::operators
