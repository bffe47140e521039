#include "solver/preconditioners/preconditioners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "solver/preconditioners/boomeramg.hpp"
#include "solver/preconditioners/chebyshev.hpp"
#include "solver/preconditioners/hypre_amg.hpp"
#include "solver/preconditioners/multigrid.hpp"
#include "solver/preconditioners/tensor.hpp"

namespace femcg::solver {

using operators::Device;
using operators::InverseDiagonal;
using operators::MultiVector;
using operators::Operator;
using operators::Options;
using operators::Vector;

namespace {

template <std::floating_point T>
class Identity final : public Preconditioner<T> {
 public:
  explicit Identity(const Operator<T>& a) : Preconditioner<T>(a.size(), a.device()) {}
  bool is_identity() const override { return true; }
  PreconditionerCost cost() const override { return {0, 2}; }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override { operators::copy(r, z); }
  void solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const override {
    operators::copy(r.entries(), z.entries());
  }
};

template <std::floating_point T>
class Jacobi final : public Preconditioner<T> {
 public:
  Jacobi(const Operator<T>& a, const Vector<T>* diagonal)
      : Preconditioner<T>(a.size(), a.device()),
        inverse_diagonal_(inverse_diagonal_of(a, "jacobi", diagonal)),
        unused_(operators::CgMultiScalars::count * MultiVector<T>::most, a.device()) {}
  const InverseDiagonal* inverse_diagonal() const override { return &inverse_diagonal_; }
  PreconditionerCost cost() const override { return {0, 2, 1}; }

 private:
  void solve(const Vector<T>& r, Vector<T>& z) const override {
    operators::CgScalars norms(unused_, 0);
    operators::vector_kernels<T>(this->device()).start(r, &inverse_diagonal_, z, norms);
  }
  void solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const override {
    operators::CgMultiScalars norms(unused_, 0, operators::MultiScalar(unused_, 0, r.stride()));
    operators::multi_vector_kernels<T>(this->device()).start(r, &inverse_diagonal_, z, norms);
  }

  InverseDiagonal inverse_diagonal_;
  mutable Vector<double> unused_;  ///< r'z and r'r, which the kernel also computes
};

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_none(const Operator<T>& a, const Options&, const PreconditionerInput<T>&) {
  return std::make_unique<Identity<T>>(a);
}
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_jacobi(const Operator<T>& a, const Options&,
                                               const PreconditionerInput<T>& input) {
  return std::make_unique<Jacobi<T>>(a, input.diagonal);
}

}  // namespace

std::span<const PreconditionerDescription> preconditioners() {
  static const std::array<PreconditionerDescription, 7> rows{{
      {.name = automatic_preconditioner,
       .meaning = "in a run multigrid, tensor on separable boxes, or jacobi for small problems; else jacobi",
       .diagonal = true,
       .inverts = true,
       .make_double = make_jacobi,
       .make_single = make_jacobi},
      {.name = "none",
       .meaning = "plain conjugate gradients",
       .source = "Hestenes & Stiefel 1952",
       .diagonal = true,
       .make_double = make_none,
       .make_single = make_none},
      {.name = "jacobi",
       .meaning = "the inverse of the diagonal, fused with the passes of CG",
       .source = "Saad 2003",
       .diagonal = true,
       .inverts = true,
       .make_double = make_jacobi,
       .make_single = make_jacobi},
      {.name = "chebyshev",
       .meaning = "a polynomial of the operator scaled by its diagonal, degree - 1 products an application",
       .source = "Saad 2003",
       .options = chebyshev_options(),
       .vectors = chebyshev_vectors + 1,  // plus z
       .inverts = true,
       .make_double = make_chebyshev,
       .make_single = make_chebyshev},
      {.name = "multigrid",
       .meaning = "a cycle over lower degrees, coarser boxes and aggregates",
       .source = "Brandt 1977; Vanek, Mandel & Brezina 1996; Lottes 2023",
       .options = multigrid_options(),
       .vectors = 1,
       .inverts = true,
       .make_double = make_multigrid,
       .make_single = make_multigrid,
       .iterations = 15,
       .bytes_of_levels = bytes_of_multigrid,
       .reads_matrix = true,
       .gains_on_host = true},
      {.name = "tensor",
       .meaning = "the inverse by eigenvectors of the lines of a box, exact where the problem is separable",
       .source = "Lynch, Rice & Thomas 1964",
       .vectors = 1,
       .make_double = make_tensor,
       .make_single = make_tensor,
       .iterations = 2,
       .one_process = true,
       .bytes_of_levels = bytes_of_tensor},
      {.name = "boomeramg",
       .meaning = "a V-cycle of hypre's algebraic multigrid for the assembled matrix, a baseline; on the host",
       .source = "Henson & Yang 2002",
       .options = boomeramg_options(),
       .vectors = 1,
       .inverts = true,
       .make_double = make_boomeramg,
       .make_single = make_boomeramg,
       .iterations = 15,
       .by_hypre = true,
       .one_process = true,
       .bytes_of_levels = bytes_of_boomeramg,
       .reads_matrix = true},
  }};
  return rows;
}

namespace {

/// Number of unknowns of all loads from which on multigrid pays on a GPU, where CG makes hundreds of iterations in the
/// time of making the levels: 2D problems and higher degrees need more iterations, a 3D box fewer.
std::int64_t least_for_multigrid_on_gpu(const operators::BilinearForm* form) {
  if (form == nullptr) return 30'000'000;
  const mesh::FunctionSpace& space = *form->space;
  const bool is_box = space.mesh().box && mesh::is_tensor(space.mesh().shape);
  if (space.mesh().dimension() == 2) return 2'000'000;
  return is_box ? 4'000'000 : space.degree() == 1 ? 1'400'000 : space.degree() == 2 ? 400'000 : 300'000;
}
/// Number of unknowns of one load from which on multigrid pays, the same on all processes. On the host block CG solves
/// several loads in little more time than one.
std::int64_t least_for_multigrid(const operators::BilinearForm* form, std::int64_t loads, Device device) {
  if (device == Device::host) return 20'000;
  return least_for_multigrid_on_gpu(form) / loads;
}
/// The same for the direct solution on a box by eigenvectors; a GPU loads cuBLAS first.
std::int64_t least_for_tensor(Device device) { return device == Device::host ? 4'000 : 2'000'000; }

}  // namespace

PreconditionerDecision decide_preconditioner(std::int64_t unknowns, std::int64_t loads,
                                             const operators::BilinearForm* form, Device device, int processes,
                                             std::string_view why_diagonal) {
  if (!why_diagonal.empty()) return {"jacobi", fmt::format("jacobi, as {}", why_diagonal)};
  if (processes == 1 && form != nullptr && unknowns >= least_for_tensor(device) && tensor_is_best(*form, device))
    return {"tensor", "tensor, which solves the problem at once, as it is separable on a box"};
  const std::int64_t least = least_for_multigrid(form, loads, device);
  if (unknowns < least)
    return {"jacobi",
            fmt::format("jacobi, as below {} unknowns the set-up of multigrid takes longer than it saves", least)};
  return {"multigrid", "multigrid, whose iterations do not grow with the number of unknowns"};
}

const PreconditionerDescription* find_preconditioner(std::string_view name) {
  const auto rows = preconditioners();
  const auto row = std::ranges::find(rows, name, &PreconditionerDescription::name);
  return row == rows.end() ? nullptr : &*row;
}

std::string why_not(const PreconditionerDescription& row, Device device, int processes) {
  if (row.by_hypre && !built_with_hypre())
    return fmt::format("this femcg was built without hypre, which has {}: use preconditioner multigrid", row.name);
  if (row.by_hypre && device == Device::cuda)
    return fmt::format("{} works on the host: use device cpu, or preconditioner multigrid", row.name);
  if (row.one_process && processes > 1)
    return fmt::format("{} works in one process: use preconditioner multigrid", row.name);
  return "";
}

void check_options(const PreconditionerDescription& row, const Options& given) {
  for (const auto& [name, value] : given) {
    const auto known = std::ranges::find(row.options, name, &operators::OptionDescription::name);
    if (known == row.options.end()) {
      std::string names;
      for (const operators::OptionDescription& option : row.options)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
      throw std::invalid_argument(fmt::format("preconditioner '{}' has no option '{}' ({})", row.name, name,
                                              names.empty() ? "it has none" : "it has " + names));
    }
    if (!known->accepts(value))
      throw std::invalid_argument(
          fmt::format("option '{}' of preconditioner '{}' must be {}, not '{}'", name, row.name, known->values, value));
  }
}

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(std::string_view name, const Operator<T>& a,
                                                       const Options& given, const PreconditionerInput<T>& input) {
  const PreconditionerDescription* row = find_preconditioner(name);
  if (row == nullptr) throw std::invalid_argument(fmt::format("no preconditioner is called '{}'", name));
  check_options(*row, given);
  if (const std::string why = why_not(*row, a.device(), input.of.processes->size()); !why.empty())
    throw std::invalid_argument(why);
  if constexpr (std::is_same_v<T, double>)
    return row->make_double(a, given, input);
  else
    return row->make_single(a, given, input);
}

template std::unique_ptr<Preconditioner<double>> make_preconditioner(std::string_view, const Operator<double>&,
                                                                     const Options&,
                                                                     const PreconditionerInput<double>&);
template std::unique_ptr<Preconditioner<float>> make_preconditioner(std::string_view, const Operator<float>&,
                                                                    const Options&, const PreconditionerInput<float>&);

}  // namespace femcg::solver
