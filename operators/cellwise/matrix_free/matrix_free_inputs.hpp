#pragma once

#include <span>
#include <string_view>

#include "operators/catalogue.hpp"
#include "operators/cellwise/cell_loops/dedup_option.hpp"
#include "operators/cellwise/matrix_free/cells/matrix_free_cuda.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

inline constexpr OptionDescription geometry_option{
    "geometry", "auto|stored|vertices", "auto",
    "the factors of all quadrature points or, on a GPU, from the cells' vertices where these tell them; auto: as few "
    "numbers as tell a product",
    [](std::string_view text) { return text == "auto" || text == "stored" || text == "vertices"; }};

/// Choice of the options of matrix-free.
struct MatrixFreeChoice {
  std::string_view geometry;  ///< auto, stored or vertices (straight-sided cells, affine ones included)
  Dedup dedup = Dedup::automatic;
  int patch = 0;  ///< cells per patch, at most; 0: as many as is best
};

/// Throws std::invalid_argument where the CPU has no such option, the vertices do not tell all, or a kernel takes no
/// such patches.
MatrixFreeChoice chosen_matrix_free(const BilinearForm& form, Device device, const Options& given);

/// Where a GPU's product takes the factors from, known before anything is made.
CellGeometry expected_geometry(const BilinearForm& form, std::string_view asked);

/// Expected fraction of cells that a GPU's product treats as affine where it has others too (CellGeometry::mixed).
double expected_affine_share(const BilinearForm& form);

/// Numbers the groups of slots of patches whose affine cells come first (PatchOptions::first), in waves of so many
/// slots.
MixedGroups number_groups(const CellPatches& patches, std::span<const char> affine, int wave);

/// Up to how many congruence classes of cells have their numbers stored once (Dedup::automatic).
std::int64_t most_matrix_free_classes(const BilinearForm& form);

/// True if all cells are affine, with a diffusion that is constant in each.
bool has_constant_factors(const BilinearForm& form);

/// True if the Gauss points of quadrilaterals or hexahedra are not as many as their nodes.
bool any_points(const BilinearForm& form);

/// The patches of cells, for numbers of so many bytes; which cells come first in them is left open.
PatchOptions matrix_free_patches(const BilinearForm& form, CellGeometry geometry, std::int64_t value_bytes);

/// Makes the data of a GPU's product with a form, for values of so many bytes and a choice that fits the form.
MatrixFreeInputs matrix_free_inputs(const BilinearForm& form, const MatrixFreeChoice& choice, std::int64_t value_bytes);

}  // namespace femcg::operators
