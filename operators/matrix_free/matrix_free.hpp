#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// No matrix: y = sum_c P_c' (B' D_c B) (P_c x) with the factors D_c at the quadrature points stored, one a cell where
/// the cell is affine and its diffusion constant. Sum factorisation on tensor cells (Orszag 1980), reference matrices
/// or gradient tables on simplices.
std::span<const OptionDescription> matrix_free_options();
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free(const Ingredients<T>& from, const Options& given);
template <std::floating_point T>
OperatorBytes bytes_of_matrix_free(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
