#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "operators/cellwise/cell_loops/patch_batches.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

/// y += sum over Robin facets of sum_q alpha w |J| phi_q phi_q' x, on the buffers of a patch of cells.
template <std::floating_point T>
class RobinFacets {
 public:
  RobinFacets(const BilinearForm& form, const PatchBatches<T>& batches)
      : first_of_patch_(static_cast<std::size_t>(batches.patches()) + 1, 0),
        tables_(mesh::facets(form.space->mesh().shape).size()) {
    if (form.robin.empty()) return;
    nodes_ = static_cast<int>(form.space->facet_nodes(0).size());
    points_ = static_cast<int>(form.robin.front().transfer.size());
    // The facets in the order of their cells' slots.
    const std::vector<std::int64_t> slot_of_cell = batches.slots_of_cells(form.cells());
    std::vector<std::size_t> order(form.robin.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t f) { return slot_of_cell[form.robin[f].cell]; });
    for (const std::size_t f : order) {
      facets_.push_back(form.robin[f].facet);
      ++first_of_patch_[batches.patch_of(static_cast<std::int32_t>(slot_of_cell[form.robin[f].cell] / lanes)) + 1];
    }
    std::partial_sum(first_of_patch_.begin(), first_of_patch_.end(), first_of_patch_.begin());
    FacetEvaluator evaluator(*form.space, form.quadrature);
    for (std::size_t facet = 0; facet < tables_.size(); ++facet) {
      evaluator.move_to({form.robin.front().cell, static_cast<std::int32_t>(facet)});
      const std::vector<int>& nodes = form.space->facet_nodes(static_cast<int>(facet));
      Tables& tables = tables_[facet];
      tables.at_points.resize(static_cast<std::size_t>(points_ * registers(nodes_)));
      tables.of_nodes.resize(static_cast<std::size_t>(nodes_ * registers(points_)));
      for (int q = 0; q < points_; ++q)
        for (int a = 0; a < nodes_; ++a) {
          const auto value = static_cast<T>(evaluator.values()(q, nodes[a]));
          tables.at_points[q * registers(nodes_) + a / lanes][a % lanes] = value;
          tables.of_nodes[a * registers(points_) + q / lanes][q % lanes] = value;
        }
    }
    local_indices_.resize(facets_.size() * nodes_);
    weights_.resize(facets_.size() * points_ + lanes);
    for_each_facet(*form.space, form.quadrature, facets_.size(), [&](FacetEvaluator& at, std::size_t f) {
      const RobinFacet& facet = form.robin[order[f]];
      const std::int64_t slot = slot_of_cell[facet.cell];
      const std::uint16_t* local_indices =
          batches.local_indices(static_cast<std::int32_t>(slot / lanes)) + slot % lanes;
      const std::vector<int>& nodes = form.space->facet_nodes(facet.facet);
      at.move_to({facet.cell, facet.facet});
      for (int i = 0; i < nodes_; ++i) local_indices_[f * nodes_ + i] = local_indices[nodes[i] * lanes];
      for (int q = 0; q < points_; ++q)
        weights_[f * points_ + q] = static_cast<T>(facet.transfer[q] * at.measures()[q]);
    });
  }

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(facets_.size() * sizeof(std::int32_t) +
                                     local_indices_.size() * sizeof(std::uint16_t) + weights_.size() * sizeof(T));
  }

  /// Adds the facets of one patch: points of a facet, then its nodes, are in the lanes of registers.
  void add(std::int32_t patch, const T* x, T* y) const {
    for (std::int32_t f = first_of_patch_[patch]; f < first_of_patch_[patch + 1]; ++f) {
      const std::uint16_t* place = local_indices_.data() + std::int64_t{f} * nodes_;
      const Tables& tables = tables_[facets_[f]];
      Lanes<T> sums[most_registers]{};
      for (int first = 0; first < points_; first += lanes) {
        Lanes<T> at_points{}, weights;
        for (int a = 0; a < nodes_; ++a)
          at_points += tables.of_nodes[a * registers(points_) + first / lanes] * x[place[a]];
        std::memcpy(&weights, weights_.data() + std::int64_t{f} * points_ + first, sizeof weights);
        at_points *= weights;
        for (int l = 0; l < lanes && first + l < points_; ++l)
          for (int r = 0; r < registers(nodes_); ++r)
            sums[r] += tables.at_points[(first + l) * registers(nodes_) + r] * at_points[l];
      }
      for (int a = 0; a < nodes_; ++a) y[place[a]] += sums[a / lanes][a % lanes];
    }
  }

 private:
  static constexpr int lanes = PatchBatches<T>::lanes;
  static constexpr int registers(int numbers) { return (numbers + lanes - 1) / lanes; }
  static constexpr int most_registers = (25 + lanes - 1) / lanes;  ///< for a quadrilateral of degree 4

  /// Basis values of a facet of the reference cell, padded with zeros.
  struct Tables {
    std::vector<Lanes<T>> at_points;  ///< [points][registers of facet nodes]
    std::vector<Lanes<T>> of_nodes;   ///< [facet nodes][registers of points]
  };

  int points_ = 0, nodes_ = 0;
  std::vector<std::int32_t> first_of_patch_;
  std::vector<Tables> tables_;                ///< of each facet of the reference cell
  std::vector<std::int32_t> facets_;          ///< of the reference cell
  std::vector<std::uint16_t> local_indices_;  ///< [facets][facet nodes]
  std::vector<T> weights_;                    ///< [facets][points], padded to whole registers
};

}  // namespace femcg::operators
