#pragma once

#include <array>
#include <optional>
#include <string>

#include "operators/transfers/level_ordering.hpp"
#include "solver/preconditioners/box_line.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// Separable problem on a box that approximates a form: with the lines' stiffness K and mass M,
///
///     K_x M_y M_z + M_x K_y M_z + M_x M_y K_z
///
/// A line's points are the mean positions of the vertices across it; an end is fixed if the whole side is; a side has
/// its mean transfer, limited to between 1e-4 of the diffusion over the line's length and 1e4 times the diffusion over
/// a cell's width.
struct SeparableBox {
  std::array<BoxLine, 3> lines;  ///< along z in 2D a single point
  std::string why_not_equal;     ///< empty if the form equals this problem; else the difference in a few words
};

/// Empty if the form is not on a box of quadrilaterals or hexahedra.
std::optional<SeparableBox> separable_box(const operators::BilinearForm& form);

/// The inverse along the `solved` axes and the diagonal along the others. If the form differs from the box, both sides
/// are scaled by the square root of the box's diagonal over `diagonal`, the form's.
template <std::floating_point T>
operators::TensorInverse tensor_inverse(const operators::BilinearForm& form, const SeparableBox& box,
                                        const std::array<bool, 3>& solved, const operators::LevelOrdering& ordering,
                                        const operators::Vector<T>& diagonal, operators::Device device);

/// M^-1 = tensor_inverse along all axes: A^-1 itself if the form is separable. An application takes 4 operations per
/// unknown for each unknown of the three lines.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_tensor(const operators::Operator<T>& a, const operators::Options& given,
                                               const PreconditionerInput<T>& input);

/// PreconditionerDescription::bytes_of_levels.
std::int64_t bytes_of_tensor(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device device,
                             std::string_view of_cg, std::int64_t systems);

/// True if the form is separable, and making its eigenvectors and applying them is faster than multigrid.
bool tensor_is_best(const operators::BilinearForm& form, operators::Device device);

}  // namespace femcg::solver
