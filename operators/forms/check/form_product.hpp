#pragma once

#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// y = A x in double precision directly from the form, nothing stored, on all threads: to check solutions. Computes
/// several cells at a time, one a lane; tensor cells by sum factorisation (Orszag 1980). Shares no code with the
/// operators of the catalogue, and with ReferenceOperator only geometry and values on Robin facets.
///
/// Sums are in the order of the cells: the same bits for any number of threads.
class FormProduct {
 public:
  explicit FormProduct(const BilinearForm& form) : form_(&form) {}

  /// a(x, phi_i) for all dofs i, constrained ones included. Skips cells where x is zero and, if `wanted` is not empty,
  /// cells with wanted[cell] = 0.
  mesh::Array<double> apply_to_dofs(std::span<const double> x, std::span<const char> wanted = {}) const;
  /// The same for x that is values[k] at constrained dof k, the one with unknown -1 - k, and 0 elsewhere.
  mesh::Array<double> apply_to_constrained(std::span<const double> values, std::span<const char> wanted) const;
  /// b - A x on the unknowns, with x = 0 at constrained dofs.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b) const;

 private:
  template <class Coefficient>
  mesh::Array<double> sum(const Coefficient& coefficient, std::span<const char> wanted) const;

  const BilinearForm* form_;
};

}  // namespace femcg::operators
