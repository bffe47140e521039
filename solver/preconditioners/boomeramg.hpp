#pragma once

#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// One V-cycle of hypre's BoomerAMG for the assembled matrix, whatever operator CG uses: the baseline of a library. On
/// the host, in one process, always in double precision. Settings: hypre_amg.hpp.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_boomeramg(const operators::Operator<T>& a, const operators::Options& given,
                                                  const PreconditionerInput<T>& input);

std::span<const operators::OptionDescription> boomeramg_options();

/// PreconditionerDescription::bytes_of_levels, with the matrix that hypre copies: about 37 bytes per entry.
std::int64_t bytes_of_boomeramg(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device device,
                                std::string_view of_cg, std::int64_t systems);

}  // namespace femcg::solver
