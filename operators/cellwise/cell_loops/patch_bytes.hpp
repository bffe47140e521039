#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cstdint>

#include "mesh/base/vector_register.hpp"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/footprint.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// GPU memory in bytes of a product over patches of cells, estimated before patches are made.
struct PatchBytes {
  std::int64_t slots;       ///< number of slots of the cells
  std::int64_t lists;       ///< local indices of their dofs
  std::int64_t interface;   ///< upper bound, for unknowns shared by patches
  std::int64_t persistent;  ///< upper bound, of a persistent kernel: exchange buffers
  std::int64_t geometry;    ///< temporary, upper bound: the mesh and the diffusion, from which data of cells are made
};
PatchBytes bytes_of_patches(const BilinearForm& form, CellLayout layout, ConflictResolution resolution,
                            std::int64_t value_bytes);

/// Arrays of the host: `words` values per cell under `name`, in batches of a register of cells, and upper bounds of the
/// indices of unknowns.
template <std::floating_point T>
std::vector<StoredArray> arrays_of_cells(const BilinearForm& form, std::string_view name, std::int64_t words) {
  constexpr std::int64_t lanes = mesh::register_bytes / sizeof(T);
  const std::int64_t cells = (form.cells() + lanes - 1) / lanes * lanes;
  const std::int64_t local_indices = cells * form.dofs_per_cell();
  // Each unknown is listed by its block of cells, shared ones by several.
  const std::int64_t listed = form.unknowns * 3 / 2;
  return {{std::string(name), cells * words, cells * words * static_cast<std::int64_t>(sizeof(T))},
          {"places of dofs", local_indices, local_indices * static_cast<std::int64_t>(sizeof(std::uint16_t))},
          {"unknowns of blocks", listed, listed * static_cast<std::int64_t>(sizeof(std::int32_t))}};
}

/// Number of cells, rounded up to whole registers.
template <std::floating_point T>
std::int64_t padded_cells(const BilinearForm& form) {
  constexpr std::int64_t lanes = mesh::register_bytes / sizeof(T);
  return (form.cells() + lanes - 1) / lanes * lanes;
}

/// Estimate of the bytes of patches for shared unknowns: 4 per unknown in two dimensions, 11 in three, as measured on
/// the cases of cases/h200.
std::int64_t expected_interface(const BilinearForm& form);

/// Footprint of a product that reads `read_bytes` besides x and y, with `operations` multiply-adds in each of `cells`
/// cells.
template <std::floating_point T>
Footprint footprint_of_cells(const BilinearForm& form, std::int64_t cells, std::int64_t read_bytes,
                             std::int64_t operations) {
  constexpr std::int64_t word = sizeof(T);
  Footprint footprint;
  footprint.stored_bytes = read_bytes;
  footprint.moved_bytes = read_bytes + 2 * word * form.unknowns;
  footprint.effective_bytes = read_bytes + 3 * cells * form.dofs_per_cell() * word;  // x read, y read and written
  footprint.flops = 2 * cells * operations;
  return footprint;
}

}  // namespace femcg::operators
