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

/// Where a product on the GPU takes D_q = w_q |J| kappa J^-1 J^-T from, or what stands for them.
enum class CellGeometry {
  affine,    ///< one D / w a cell: affine cells, the diffusion constant in each
  boxes,     ///< its diagonal: affine quadrilaterals and hexahedra whose edges are orthogonal
  vertices,  ///< the multilinear maps of straight-sided quadrilaterals and hexahedra, the diffusion constant in each
  stored,    ///< the factors of all quadrature points
  pairs,     ///< K_e, an entry for each pair of dofs, since rows add up to zero: where these are fewer (fewer_pairs)
  mixed      ///< of affine simplices one D / w, of the others the factors of all points or pairs, where these are fewer
};

constexpr bool is_affine(CellGeometry geometry) {
  return geometry == CellGeometry::affine || geometry == CellGeometry::boxes;
}

/// True if cells that are identical may share these numbers.
constexpr bool may_share(CellGeometry geometry) { return is_affine(geometry) || geometry == CellGeometry::vertices; }

/// Pairs of dofs of a cell.
constexpr int pairs_of(int dofs) { return dofs * (dofs - 1) / 2; }

/// True if these are fewer than the factors of all points: those of simplices of degree 1 and 2, and of quadrilaterals
/// and hexahedra of degree 1.
constexpr bool fewer_pairs(int dimension, int dofs) { return dofs <= (dimension + 1) * (dimension + 2) / 2; }

/// True if a thread works on a hexahedron with n nodes per direction alone, and not a team of them: with all it needs
/// in registers.
constexpr bool thread_per_hexahedron(int n) { return n <= 3; }

/// True if a warp works on a hexahedron with n nodes per direction, by the instructions that multiply small matrices:
/// of double precision and four rows. Where D_q is computed from a few numbers per cell, a team has less to compute.
constexpr bool warp_per_hexahedron(std::int64_t value_bytes, int n, CellGeometry geometry) {
  return value_bytes == 8 && n == 4 && (geometry == CellGeometry::boxes || geometry == CellGeometry::stored);
}

/// Thread blocks of such boxes that have a multiprocessor together, by their registers. Patches are made for as many.
constexpr int blocks_of_box_warps = 4;

/// Cells that a thread block works on at once, a thread each.
constexpr int cells_per_wave = 128;

/// True if patches of tensor cells of so many dofs, a thread per cell, have no more than that: quadrilaterals of degree
/// 4, to which a second wave would be worth less than the registers that it takes.
constexpr bool is_one_wave(int dofs) { return dofs == 25; }

/// True if warps work on triangles or tetrahedra of n dofs by the instructions that multiply small matrices, and not
/// each thread on one: few dofs leave most of them empty.
constexpr bool warp_of_simplices(int n) { return n >= 10; }

/// Slots in succession in which mixed simplices are all taken as affine, or none: those that a thread block works on at
/// once, whose colours must ascend.
constexpr int mixed_wave(int n) { return warp_of_simplices(n) ? 64 : cells_per_wave; }

/// Numbers that a straight-sided quadrilateral or hexahedron takes: the vectors of its multilinear map, and kappa.
template <int d>
inline constexpr int straight_words = ((1 << d) - 1) * d + 1;

/// Groups of 32 slots of mixed simplices: a number k for each, or -1 - k where it belongs to a wave of affine cells,
/// which are a patch's first; and the cells of the slots of the affine groups, and of the others, in the order of these
/// numbers.
struct MixedGroups {
  Vector<std::int32_t> numbers, affine_cells, other_cells;
};

/// Tables of the form and the reference cell for a matrix-free product on a GPU.
struct MatrixFreeTables {
  int degree = 0, dimension = 0;
  CellGeometry geometry = CellGeometry::stored;
  /// Tables of tensor cells along a line: the basis at the Gauss points and its derivatives there (both points x
  /// nodes), the derivatives of the Lagrange polynomials on the Gauss points (points x points), the points and their
  /// weights.
  std::vector<double> interpolate, interpolate_derivative, differentiate, points, weights;
  /// Tables of simplices, [tables][axes][dofs]: the gradients at the quadrature points, where factors are stored; else
  /// the coefficients of the gradients in an orthonormal basis of the polynomials that they are, so that on the
  /// reference cell the integral of d_r phi_a d_s phi_b is the sum over tables of G_ra G_sb. Mixed cells have the first
  /// as `gradients`, the second as `affine_gradients`.
  std::vector<double> gradients, affine_gradients;
  int tables = 0, affine_tables = 0;
  std::int64_t affine_slots = 0, other_slots = 0;  ///< of mixed cells
  const BilinearForm* form = nullptr;              ///< for the diagonal

  /// True if mixed cells that are not affine have the entries of K_e.
  bool pairs_of_others() const { return fewer_pairs(dimension, form->dofs_per_cell()); }
};

namespace cuda {
class CellPatchesOnGpu;
}
template <class T>
struct CellData;
template <std::floating_point T>
class RobinOnGpu;

/// The parts of a product in double precision that one in single precision takes over.
struct MatrixFreeInDouble {
  std::shared_ptr<const cuda::CellPatchesOnGpu> patches;
  const CellData<double>* cells;
  const RobinOnGpu<double>* robin;
};

/// Data of a matrix-free product on a GPU. Lists are on the host; empty where they are taken over.
struct MatrixFreeInputs : MatrixFreeTables {
  CellPatches patches;
  FactorInputs factors;
  /// Congruence classes, where their data are stored once: a cell of each class, then -1 to a multiple of 32; and the
  /// class of each slot's cell. Else empty.
  Vector<std::int32_t> cell_of_class;
  Vector<std::uint16_t> class_of_slot;
  MixedGroups groups;
  RobinTerms robin;
  const MatrixFreeInDouble* from = nullptr;

  bool stored_once() const { return class_of_slot.size() > 0; }
};

/// Tables for the diagonal of sum_q B_q' D_q B_q, [points][entries of D, the upper triangle row by row][dofs]: products
/// of the functions' derivatives along the two axes, doubled where the axes differ. Where D_q is computed from vertices
/// they include w_q, and the points themselves follow; for affine cells and boxes there is one point, the sum over all
/// points times w_q, which mixed cells have behind the others. Where entries of K_e are stored, these stand for entries
/// of D at some points, and a product is 1 for each dof of a pair.
struct DiagonalTables {
  int points = 0;
  std::vector<double> squares, positions;  ///< positions: points x dimension
};
DiagonalTables diagonal_tables(const BilinearForm& form, CellGeometry geometry);

/// y = A x by sum factorisation (tensor cells) or reference tables (simplices), bitwise reproducible.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_cuda(const MatrixFreeInputs& inputs);

/// The same for the cells that it finds: in files of their own, each of which takes minutes to compile.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_quadrilaterals(const MatrixFreeInputs& inputs);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_hexahedra(const MatrixFreeInputs& inputs);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_simplices(const MatrixFreeInputs& inputs);

}  // namespace femcg::operators
