#pragma once

// Nodes of cells as entries of an operator's vectors on a GPU.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/launch.cuh"
#include "operators/transfers/cell_transfer.hpp"

namespace femcg::operators::cuda {

constexpr int block_threads = 128;

inline std::int64_t blocks_for(std::int64_t threads) { return blocks_of(threads, block_threads); }

/// Launches a kernel with one thread for each of `count` items.
template <class... Parameters, class... Arguments>
void for_each(std::int64_t count, void (*kernel)(std::int64_t, Parameters...), const Arguments&... arguments) {
  launch(kernel, blocks_for(count), block_threads, 0, count, arguments...);
}

/// places[unknown of the form] = entry of the vectors (LevelOrdering); null pointers for empty lists. One thread an
/// entry.
static __global__ void __launch_bounds__(block_threads)
    invert_kernel(std::int64_t count, const std::int32_t* order, const std::int32_t* unknowns, std::int32_t* places) {
  const std::int64_t i = thread_number();
  if (i >= count) return;
  const std::int64_t number = order != nullptr ? order[i] : i;
  places[unknowns != nullptr ? unknowns[number] : number] = static_cast<std::int32_t>(i);
}
/// Replaces unknowns of the form, negative for none, by their entries of the vectors. One thread a dof.
static __global__ void __launch_bounds__(block_threads)
    places_kernel(std::int64_t count, const std::int32_t* places, std::int32_t* of_dofs) {
  const std::int64_t dof = thread_number();
  if (dof >= count) return;
  const std::int32_t unknown = of_dofs[dof];
  of_dofs[dof] = unknown < 0 ? -1 : places != nullptr ? places[unknown] : unknown;
}

/// Null for an empty vector.
inline const std::int32_t* data_of(const Vector<std::int32_t>& numbers) {
  return numbers.size() > 0 ? numbers.data() : nullptr;
}

/// The entry of each unknown of the form in an operator's vectors; empty if these are equal.
inline Vector<std::int32_t> places_on_gpu(const LevelOrdering& ordering) {
  const Vector<std::int32_t>& order = *ordering.ordering;
  const Vector<std::int32_t> unknowns = copied(ordering.unknowns, Device::cuda);
  const std::int64_t size = std::max(order.size(), unknowns.size());
  Vector<std::int32_t> places(size, Device::cuda);
  for_each(size, invert_kernel, data_of(order), data_of(unknowns), places.data());
  synchronize(Device::cuda);  // before `unknowns` is freed
  return places;
}

/// The nodes of cells on the GPU, as entries of an operator's vectors.
class PlacesOfNodes {
 public:
  struct Pointers {
    mesh::GridDofTables grid;
    const std::int32_t* listed;  ///< null if the grid gives the dofs
    const std::int32_t* place_of_dof;
    int count;

    /// The entry of node i of a cell; -1 for none.
    __device__ std::int32_t operator()(std::int32_t cell, int i) const {
      const std::int32_t dof = listed != nullptr ? listed[std::int64_t{cell} * count + i] : grid(cell, i);
      return dof < 0 ? -1 : place_of_dof[dof];
    }
  };

  PlacesOfNodes(const NodesOfCells& of, std::int32_t cells, const LevelOrdering& ordering)
      : count_(of.count), place_of_dof_(copied(of.unknown_of_dof, Device::cuda)), places_(places_on_gpu(ordering)) {
    if (of.grid != nullptr) {
      grid_numbers_ = copied(of.grid->numbers(), Device::cuda);
      grid_ = of.grid->tables(grid_numbers_.data());
    } else if (!of.listed.empty()) {
      listed_ = copied(of.listed, Device::cuda);
    } else {
      std::vector<std::int32_t> written(static_cast<std::size_t>(cells) * static_cast<std::size_t>(of.count));
#pragma omp parallel for schedule(static)
      for (std::int32_t cell = 0; cell < cells; ++cell) of.write(cell, written.data() + std::int64_t{cell} * of.count);
      listed_ = copied(std::span<const std::int32_t>(written), Device::cuda);
    }
    for_each(place_of_dof_.size(), places_kernel, data_of(places_), place_of_dof_.data());
  }

  Pointers pointers() const { return {grid_, data_of(listed_), place_of_dof_.data(), count_}; }
  const std::int32_t* places() const { return data_of(places_); }

 private:
  int count_;
  Vector<std::uint32_t> grid_numbers_;
  mesh::GridDofTables grid_;
  Vector<std::int32_t> place_of_dof_, listed_, places_;
};

}  // namespace femcg::operators::cuda
