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

/// Optional input of a preconditioner in addition to the operator.
template <std::floating_point T>
struct PreconditionerInput {
  const operators::Vector<T>* diagonal = nullptr;        ///< of the operator
  const operators::BilinearForm* form = nullptr;         ///< whose matrix, or subdomain's matrix, the operator applies
  PartOfForm of = {};                                    ///< the subdomain, if any
  const operators::CsrMatrix<double>* matrix = nullptr;  ///< the operator's, from a file or already assembled
  std::int64_t systems = 1;                              ///< number of right-hand sides at once
};

/// A preconditioner that `solver.preconditioner` may name.
struct PreconditionerDescription {
  std::string_view name, meaning, source = {};
  std::span<const operators::OptionDescription> options = {};
  bool diagonal = false;  ///< diagonal or the identity: fused with CG's vector kernels
  int vectors = 0;        ///< number of vectors of the length of x, in addition to CG's
  bool inverts = false;   ///< true if it also has an operators::InverseDiagonal
  template <class T>
  using Make = std::unique_ptr<Preconditioner<T>>(const operators::Operator<T>&, const operators::Options&,
                                                  const PreconditionerInput<T>&);
  Make<double>* make_double;
  Make<float>* make_single;
  double iterations = 0;     ///< expected iterations of CG to a solution; 0: they grow with the problem
  bool by_hypre = false;     ///< needs a build with hypre, and the host
  bool one_process = false;  ///< only on one process
  /// Approximate bytes of its levels on a device, in addition to CG's operator, for a form, or for a matrix with
  /// `nonzeros` entries if `form` is null, and `systems` right-hand sides at once; null if it has no levels.
  std::int64_t (*bytes_of_levels)(const operators::BilinearForm* form, std::int64_t nonzeros, operators::Device device,
                                  std::string_view of_cg, std::int64_t systems) = nullptr;
  bool reads_matrix = false;  ///< reads the matrix of degree 1, the operator's own if there is one
  /// Several right-hand sides at once are faster than one after the other, with an operator that gains too.
  bool gains_on_host = false;
};

std::span<const PreconditionerDescription> preconditioners();

/// Name that stands for the preconditioner expected to be fastest; jacobi where there is no choice.
constexpr std::string_view automatic_preconditioner = "auto";

struct PreconditionerDecision {
  std::string_view name;
  std::string why;  ///< one sentence
};

/// Chooses multigrid, tensor for a separable problem on a box, or Jacobi for a problem that is solved before a
/// hierarchy could be made. `unknowns`: over all processes, per load; `form`: null for a matrix. `why_diagonal`: why
/// only a diagonal preconditioner is possible; empty if others are.
PreconditionerDecision decide_preconditioner(std::int64_t unknowns, std::int64_t loads,
                                             const operators::BilinearForm* form, operators::Device device,
                                             int processes, std::string_view why_diagonal);

/// Row of this name; null if there is none.
const PreconditionerDescription* find_preconditioner(std::string_view name);

/// One sentence on why this build lacks the preconditioner on this device for that many processes; empty if it has it.
std::string why_not(const PreconditionerDescription& row, operators::Device device, int processes = 1);

/// Throws std::invalid_argument with one sentence if an option is unknown or its value is not accepted.
void check_options(const PreconditionerDescription& row, const operators::Options& given);

/// Makes the named preconditioner for `a`. `a` and everything that `input` refers to must outlive it. Throws
/// std::invalid_argument if the name or an option is wrong or why_not gives a reason, InputError if `a` is not positive
/// definite.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(std::string_view name, const operators::Operator<T>& a,
                                                       const operators::Options& given = {},
                                                       const PreconditionerInput<T>& input = {});

}  // namespace femcg::solver
