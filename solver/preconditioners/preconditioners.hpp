#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "operators/options.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

/// Input that a preconditioner may be made from besides the operator, as far as it is there.
template <std::floating_point T>
struct PreconditionerInput {
  const operators::Vector<T>* diagonal = nullptr;        ///< of the operator
  const operators::BilinearForm* form = nullptr;         ///< whose matrix the operator is, or this process's part of it
  PartOfForm of = {};                                    ///< which part that is
  const operators::CsrMatrix<double>* matrix = nullptr;  ///< the operator's, from a file or where it is at hand
  std::int64_t systems = 1;                              ///< right-hand sides that it is applied to at once
};

/// A preconditioner that `solver.preconditioner` may name.
struct PreconditionerDescription {
  std::string_view name, meaning, source = {};
  std::span<const operators::OptionDescription> options = {};
  bool diagonal = false;  ///< or the identity: its applications are fused with CG's passes
  int vectors = 0;        ///< that it needs beside CG's own, of the length of x
  bool inverts = false;   ///< whether it has an operators::InverseDiagonal as well
  template <class T>
  using Make = std::unique_ptr<Preconditioner<T>>(const operators::Operator<T>&, const operators::Options&,
                                                  const PreconditionerInput<T>&);
  Make<double>* make_double;
  Make<float>* make_single;
  double iterations = 0;     ///< of CG that are expected to a solution; 0: they grow with the problem
  bool by_hypre = false;     ///< works in builds with hypre and on the host
  bool one_process = false;  ///< works in one process only
  /// About how many bytes its levels take on a device beside CG's operator, of a form, or of a matrix of so many
  /// entries where the form is null, for so many right-hand sides at once; null where it has none.
  std::int64_t (*bytes_of_levels)(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device device,
                                  std::string_view of_cg, std::int64_t systems) = nullptr;
  bool reads_matrix = false;  ///< of degree 1, the operator's own if there is one
  /// Several right-hand sides at once take less time than one after the other, with an operator that gains too.
  bool gains_on_host = false;
};

std::span<const PreconditionerDescription> preconditioners();

/// Stands for the preconditioner that a run is expected to end soonest with; jacobi where there is no choice.
constexpr std::string_view automatic_preconditioner = "auto";

struct PreconditionerDecision {
  std::string_view name;
  std::string why;  ///< one sentence
};

/// Multigrid, tensor for a separable problem on a box, or Jacobi for a problem that is solved before a hierarchy of
/// levels is made. Unknowns are those of all processes, of each load; `form`: null for a matrix. `why_diagonal`: why
/// there is no other choice than a diagonal one; empty where there is.
PreconditionerDecision decide_preconditioner(std::int64_t unknowns, std::int64_t loads,
                                             const operators::BilinearForm* form, operators::Device device,
                                             int processes, std::string_view why_diagonal);

/// The row of that name; null where there is none.
const PreconditionerDescription* find_preconditioner(std::string_view name);

/// One sentence on why this build has no such preconditioner on that device for so many processes; empty where it has.
std::string why_not(const PreconditionerDescription& row, operators::Device device, int processes = 1);

/// Throws std::invalid_argument with one sentence where an option is unknown or its value is not accepted.
void check_options(const PreconditionerDescription& row, const operators::Options& given);

/// The preconditioner of that name for `a`, which must outlive it, as what `input` points to.
/// Throws std::invalid_argument where the name or an option is wrong, or why_not says so, InputError where `a` turns
/// out not to be positive definite.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(std::string_view name, const operators::Operator<T>& a,
                                                       const operators::Options& given = {},
                                                       const PreconditionerInput<T>& input = {});

}  // namespace femcg::solver
