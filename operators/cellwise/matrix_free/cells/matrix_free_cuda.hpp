#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/cellwise/matrix_free/robin/robin_terms.hpp"
#include "operators/forms/cell_factors.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// Source of D_q = w_q |J| kappa J^-1 J^-T in a product on the GPU, or of equivalent data.
enum class CellGeometry {
  affine,    ///< one D / w per cell: affine cells, with diffusion constant in each
  boxes,     ///< its diagonal: affine quadrilaterals and hexahedra with orthogonal edges
  vertices,  ///< multilinear maps of straight-sided quadrilaterals and hexahedra, with diffusion constant in each
  stored,    ///< factors of all quadrature points
  pairs,     ///< K_e, one entry per pair of dofs, as rows sum to zero: where these are fewer (fewer_pairs)
  mixed      ///< simplices: one D / w if affine, else factors of all points, or pairs where these are fewer
};

constexpr bool is_affine(CellGeometry geometry) {
  return geometry == CellGeometry::affine || geometry == CellGeometry::boxes;
}

/// True if congruent cells may share these data.
constexpr bool may_share(CellGeometry geometry) { return is_affine(geometry) || geometry == CellGeometry::vertices; }

/// Pairs of dofs of a cell.
constexpr int pairs_of(int dofs) { return dofs * (dofs - 1) / 2; }

/// True if pairs are fewer than the factors of all points: simplices of degree 1 and 2, quadrilaterals and hexahedra of
/// degree 1.
constexpr bool fewer_pairs(int dimension, int dofs) { return dofs <= (dimension + 1) * (dimension + 2) / 2; }

/// True if a hexahedron with n nodes per direction has a single thread, with all data in registers, instead of a team.
constexpr bool thread_per_hexahedron(int n) { return n <= 3; }

/// True if a hexahedron with n nodes per direction has a warp, with matrix instructions in double precision and four
/// rows. If D_q is computed from few values per cell, a team has less to compute.
constexpr bool warp_per_hexahedron(std::int64_t value_bytes, int n, CellGeometry geometry) {
  return value_bytes == 8 && n == 4 && (geometry == CellGeometry::boxes || geometry == CellGeometry::stored);
}

/// Thread blocks of such boxes per multiprocessor, bounded by registers. Patches are sized for as many.
constexpr int blocks_of_box_warps = 4;

/// Cells that a thread block processes at a time, one thread each.
constexpr int cells_per_wave = 128;

/// True if patches of tensor cells with so many dofs, one thread a cell, are a single wave: quadrilaterals of degree 4,
/// where a second wave is not worth the registers it takes.
constexpr bool is_one_wave(int dofs) { return dofs == 25; }

/// True if triangles or tetrahedra of n dofs are processed by warps with matrix instructions instead of one thread
/// each: with few dofs most of the instructions would be padding.
constexpr bool warp_of_simplices(int n) { return n >= 10; }

/// Consecutive slots in which mixed simplices are all treated as affine, or none: those that a thread block processes
/// at a time, whose colours must ascend.
constexpr int mixed_wave(int n) { return warp_of_simplices(n) ? 64 : cells_per_wave; }

/// Values per straight-sided quadrilateral or hexahedron: the vectors of its multilinear map, and kappa.
template <int d>
inline constexpr int straight_words = ((1 << d) - 1) * d + 1;

/// Groups of 32 slots of mixed simplices: a number k per group, or -1 - k for waves of affine cells, which come first
/// in a patch; the cells of the slots of affine groups, and of other groups, in the order of these numbers.
struct MixedGroups {
  Vector<std::int32_t> numbers, affine_cells, other_cells;
};

/// Tables of the form and the reference cell for a matrix-free product on a GPU.
struct MatrixFreeTables {
  int degree = 0, dimension = 0;
  CellGeometry geometry = CellGeometry::stored;
  /// Tables of tensor cells along a line: the basis at the Gauss points and its derivatives there, both
  /// [points][nodes]; derivatives of the Lagrange polynomials on the Gauss points, [points][points]; the points and
  /// their weights.
  std::vector<double> interpolate, interpolate_derivative, differentiate, points, weights;
  /// Tables of simplices, [tables][axes][dofs]: gradients at the quadrature points if factors are stored; else
  /// coefficients of the gradients in an orthonormal basis of their polynomial space, so that on the reference cell the
  /// integral of d_r phi_a d_s phi_b is the sum over tables of G_ra G_sb. Mixed cells have the former as `gradients`,
  /// the latter as `affine_gradients`.
  std::vector<double> gradients, affine_gradients;
  int tables = 0, affine_tables = 0;
  std::int64_t affine_slots = 0, other_slots = 0;  ///< of mixed cells
  const BilinearForm* form = nullptr;              ///< for the diagonal

  /// True if mixed cells that are not affine have entries of K_e.
  bool pairs_of_others() const { return fewer_pairs(dimension, form->dofs_per_cell()); }
};

namespace cuda {
class CellPatchesOnGpu;
}
template <class T>
struct CellData;
template <std::floating_point T>
class RobinOnGpu;

/// Parts of a product in double precision that one in single precision reuses.
struct MatrixFreeInDouble {
  std::shared_ptr<const cuda::CellPatchesOnGpu> patches;
  const CellData<double>* cells;
  const RobinOnGpu<double>* robin;
};

/// Data of a matrix-free product on a GPU. Lists are on the host; empty if they are reused (`from`).
struct MatrixFreeInputs : MatrixFreeTables {
  CellPatches patches;
  FactorInputs factors;
  /// Congruence classes if data are stored per class: a cell of each class, padded with -1 to a multiple of 32; and the
  /// class of each slot's cell. Else empty.
  Vector<std::int32_t> cell_of_class;
  Vector<std::uint16_t> class_of_slot;
  MixedGroups groups;
  RobinTerms robin;
  const MatrixFreeInDouble* from = nullptr;

  bool stored_once() const { return class_of_slot.size() > 0; }
};

/// Tables for the diagonal of sum_q B_q' D_q B_q, [points][entries of D, the upper triangle row by row][dofs]: products
/// of the basis functions' derivatives along two axes, doubled for different axes. If D_q is computed from vertices
/// they include w_q, and the points are given too; for affine cells and boxes there is one point, the sum over all
/// points times w_q, which for mixed cells follows the others. Entries of K_e are treated as entries of D at some
/// points, with products 1 for each dof of a pair.
struct DiagonalTables {
  int points = 0;
  std::vector<double> squares, positions;  ///< positions: [points][dimension]
};
DiagonalTables diagonal_tables(const BilinearForm& form, CellGeometry geometry);

/// y = A x by sum factorisation (tensor cells) or reference tables (simplices); bitwise reproducible.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_cuda(const MatrixFreeInputs& inputs);

/// The same for one kind of cells: in separate files, each of which takes minutes to compile.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_quadrilaterals(const MatrixFreeInputs& inputs);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_hexahedra(const MatrixFreeInputs& inputs);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_simplices(const MatrixFreeInputs& inputs);

}  // namespace femcg::operators
