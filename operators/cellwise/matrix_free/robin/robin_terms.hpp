#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The Robin terms of a form, y += sum_F P_F' Phi' diag(alpha w |J|) Phi P_F x over their facets F, in the layout of a
/// GPU: 32 facets interleaved (place_of), and one table for all, since the nodes of each facet of the reference cell
/// are permuted to match the first one's.
struct RobinTerms {
  static constexpr int group = 32;

  int nodes = 0, points = 0;            ///< of a facet
  std::int64_t facets = 0;              ///< a multiple of `group`; the last may be empty: no unknowns, weights 0
  std::vector<double> table;            ///< Phi, [points][nodes]
  mesh::Array<double> weights;          ///< alpha w |J| at the points of the facets, interleaved
  mesh::Array<std::int32_t> positions;  ///< of the unknowns of their nodes, interleaved; -1 for constrained dofs
  /// Facets of one boundary dof, as indices into `positions`: the first two inline, further ones in `more`, whose entry
  /// `rest` is their number; -1: none.
  struct Row {
    std::int32_t position, first, second, rest;
  };
  mesh::Array<Row> rows;  ///< by ascending position
  std::vector<std::int32_t> more;

  /// Index of value `number` of `count` values of a facet.
  static std::int64_t place_of(std::int64_t facet, int number, int count) {
    return (facet / group * count + number) * group + facet % group;
  }
};

/// Makes the terms, with unknowns at the positions of `unknown_at`. Throws std::length_error for more than 2^31 - 1
/// entries of `positions`.
RobinTerms robin_terms(const BilinearForm& form, std::span<const std::int32_t> unknown_at);

}  // namespace femcg::operators
