#pragma once

// Cases made in the test and solved like `femcg run` does.

#include <memory>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/measures/errors.hpp"
#include "solver/measures/measure.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::tests {

inline solver::Field field(const std::string& expression) {
  return {solver::Expression(expression, "test"), {}, "test"};
}

inline solver::DiffusionField diffusion(const std::string& expression) {
  return {solver::Expression(expression, "test"), {}, "test"};
}

inline solver::BoundaryCondition value_on(const std::string& group, const std::string& value) {
  solver::BoundaryCondition condition;
  condition.group = group;
  condition.place = "test";
  condition.value = solver::Expression(value, "test");
  return condition;
}

inline solver::BoundaryCondition flux_on(const std::string& group, const std::string& flux) {
  solver::BoundaryCondition condition = value_on(group, flux);
  condition.kind = solver::BoundaryKind::flux;
  return condition;
}

inline solver::BoundaryCondition transfer_on(const std::string& group, const std::string& transfer,
                                             const std::string& ambient) {
  solver::BoundaryCondition condition;
  condition.group = group;
  condition.place = "test";
  condition.kind = solver::BoundaryKind::transfer;
  condition.transfer = solver::Expression(transfer, "test");
  condition.ambient = solver::Expression(ambient, "test");
  return condition;
}

inline solver::Case make_case(int degree, const std::string& diffusion, const std::string& source) {
  solver::Case made;
  made.file = "test.yaml";
  made.degree = degree;
  made.problem.quadrature = degree + 1;
  made.problem.diffusion = tests::diffusion(diffusion);
  made.problem.source = field(source);
  return made;
}

/// A problem on a mesh, with its solution.
struct Solved {
  std::unique_ptr<mesh::FunctionSpace> space;
  std::unique_ptr<solver::Problem> problem;
  solver::CgResult cg;
  std::vector<double> dofs;
};

/// Ingredients of all operators of a problem.
struct Assembled {
  explicit Assembled(const solver::Problem& problem) : Assembled(problem.form()) {}
  explicit Assembled(const operators::BilinearForm& form)
      : element_matrices(operators::assemble_element_matrices(form)) {
    from.form = &form;
    from.element_matrices = &element_matrices;
    from.matrix = std::make_shared<operators::CsrMatrix<double>>(operators::assemble<double>(form, element_matrices));
  }
  operators::ElementMatrices element_matrices;
  operators::Ingredients<double> from;
};

/// Dofs of A u = b by CG with Jacobi, on the device of the ingredients; b is the first load, or `of`.
inline std::vector<double> solve_with(const std::string& name, const Assembled& assembled,
                                      const solver::Problem& problem, double tolerance, solver::CgResult* cg = nullptr,
                                      const solver::Load* of = nullptr) {
  const solver::Load& load = of != nullptr ? *of : problem.loads().front();
  const auto a = operators::find_operator(name)->make<double>(assembled.from, {});
  const auto preconditioner = solver::make_preconditioner<double>("jacobi", *a);
  operators::Vector<double> b(a->size());
  std::vector<double> x;
  std::ranges::copy(load.values(), b.data());
  solver::CgOptions<double> options;
  options.tolerance = tolerance;
  options.preconditioner = preconditioner.get();
  const solver::CgResult result = solver::conjugate_gradients(*a, copied(b, a->device()), x, options);
  if (cg != nullptr) *cg = result;
  return problem.to_dofs(x, load);
}

inline Solved solve(const solver::Case& resolved, const mesh::Mesh& mesh, const std::string& name = "csr",
                    double tolerance = 1e-12, operators::Device device = operators::Device::host) {
  Solved solved;
  solved.space = std::make_unique<mesh::FunctionSpace>(mesh, resolved.degree);
  solved.problem = std::make_unique<solver::Problem>(resolved.problem, *solved.space);
  Assembled assembled(*solved.problem);
  assembled.from.device = device;
  solved.dofs = solve_with(name, assembled, *solved.problem, tolerance, &solved.cg);
  return solved;
}

}  // namespace femcg::tests
