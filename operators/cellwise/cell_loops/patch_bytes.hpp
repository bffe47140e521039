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

/// GPU memory of a product over patches of cells, estimated before there are patches.
struct PatchBytes {
  std::int64_t slots;       ///< of the cells
  std::int64_t lists;       ///< the places of their dofs
  std::int64_t interface;   ///< at most, for unknowns that patches share
  std::int64_t persistent;  ///< at most, of a persistent kernel: what patches tell each other, and for what
  std::int64_t geometry;    ///< for a moment: the mesh and the diffusion, from which cells' numbers are made, at most
};
PatchBytes bytes_of_patches(const BilinearForm& form, CellLayout layout, ConflictResolution resolution,
                            std::int64_t value_bytes);

/// On the host: `words` numbers per cell under that name, in batches of a register of cells, and what a cell needs to
/// find its unknowns, at most.
template <std::floating_point T>
std::vector<StoredArray> arrays_of_cells(const BilinearForm& form, std::string_view name, std::int64_t words) {
  constexpr std::int64_t lanes = mesh::register_bytes / sizeof(T);
  const std::int64_t cells = (form.cells() + lanes - 1) / lanes * lanes;
  const std::int64_t local_indices = cells * form.dofs_per_cell();
  // Each unknown is listed by its block of cells, those that blocks share more than once.
  const std::int64_t listed = form.unknowns * 3 / 2;
  return {{std::string(name), cells * words, cells * words * static_cast<std::int64_t>(sizeof(T))},
          {"places of dofs", local_indices, local_indices * static_cast<std::int64_t>(sizeof(std::uint16_t))},
          {"unknowns of blocks", listed, listed * static_cast<std::int64_t>(sizeof(std::int32_t))}};
}

/// Cells with those that fill the last register.
template <std::floating_point T>
std::int64_t padded_cells(const BilinearForm& form) {
  constexpr std::int64_t lanes = mesh::register_bytes / sizeof(T);
  return (form.cells() + lanes - 1) / lanes * lanes;
}

/// Bytes that patches of cells really take for what they share, about: 4 an unknown in the plane, 11 in space, as they
/// came out on the cases of cases/h200.
std::int64_t expected_interface(const BilinearForm& form);

/// Cost of a product that reads so many bytes beside x and y, with so many multiply-adds in each of `cells`.
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
