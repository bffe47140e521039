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

/// Values of the options of matrix-free.
struct MatrixFreeChoice {
  std::string_view geometry;  ///< auto, stored or vertices (straight-sided cells, affine ones included)
  Dedup dedup = Dedup::automatic;
  int patch = 0;  ///< cells per patch, at most; 0: chosen automatically
};

/// The values of the options. Throws std::invalid_argument for options that the host does not have, if vertices are
/// required and do not determine the product, or if a kernel does not support such patches.
MatrixFreeChoice chosen_matrix_free(const BilinearForm& form, Device device, const Options& given);

/// Geometry of a product on a GPU, known before anything is made.
CellGeometry expected_geometry(const BilinearForm& form, std::string_view asked);

/// Estimated fraction of cells that a GPU's product treats as affine among others (CellGeometry::mixed).
double expected_affine_share(const BilinearForm& form);

/// Numbers the groups of slots of patches whose affine cells come first (PatchOptions::first), in waves of `wave`
/// slots.
MixedGroups number_groups(const CellPatches& patches, std::span<const char> affine, int wave);

/// Most congruence classes with which Dedup::automatic stores data per class.
std::int64_t most_matrix_free_classes(const BilinearForm& form);

/// True if all cells are affine, with diffusion constant in each.
bool has_constant_factors(const BilinearForm& form);

/// True if quadrilaterals or hexahedra have another number of Gauss points than nodes per direction.
bool any_points(const BilinearForm& form);

/// Options of the patches for values of `value_bytes`; the cells that come first are not set.
PatchOptions matrix_free_patches(const BilinearForm& form, CellGeometry geometry, std::int64_t value_bytes);

/// Makes the data of a GPU's product with a form, for values of `value_bytes` and a valid choice.
MatrixFreeInputs matrix_free_inputs(const BilinearForm& form, const MatrixFreeChoice& choice, std::int64_t value_bytes);

}  // namespace femcg::operators
