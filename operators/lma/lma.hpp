#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The local matrix approach: y = sum_c P_c' (K_c (P_c x)) with the element matrices stored, never assembled (Reguly &
/// Giles 2012, section 8). Blocks of cells that share unknowns add to them atomically; colour by colour; or each to a
/// place of its own, from where they are gathered in a fixed order. The last two are bitwise reproducible.
///
/// On the host made from the element matrices, on a GPU from the form alone.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_atomic(const Ingredients<T>& from, const Options& given);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_coloured(const Ingredients<T>& from, const Options& given);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_gather(const Ingredients<T>& from, const Options& given);

std::span<const OptionDescription> lma_options();

/// The memory that they take. How many unknowns parts of the mesh share, and how many element matrices are distinct, is
/// slack before cells are looked at.
template <std::floating_point T>
OperatorBytes bytes_of_lma_atomic(const Extent<T>& of, const Options& given);
template <std::floating_point T>
OperatorBytes bytes_of_lma_coloured(const Extent<T>& of, const Options& given);
template <std::floating_point T>
OperatorBytes bytes_of_lma_gather(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators
