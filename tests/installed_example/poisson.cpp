// -div(grad u) = 3 pi^2 sin(pi x) sin(pi y) sin(pi z) on the unit cube, with u = 0 on its boundary:  poisson [OPERATOR]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <femcg/femcg.hpp>

using namespace femcg;

int main(int argc, char** argv) try {
  // The mesh, its space, and the problem: coefficients and conditions are numbers or texts, as in a case file.
  const mesh::Mesh mesh = mesh::make_box({.shape = mesh::CellShape::hexahedron, .cells = {8, 8, 8}, .distort = 0.2});
  const mesh::FunctionSpace space(mesh, 2);
  const solver::Expression exact("sin(pi*x)*sin(pi*y)*sin(pi*z)", "u");
  solver::ProblemData data;
  data.diffusion.everywhere = 1.0;
  data.source.everywhere = solver::Expression("3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)", "f");
  data.boundary.push_back({.group = "all", .place = "", .kind = solver::BoundaryKind::value, .value = 0.0});
  data.quadrature = 3;
  const solver::Problem problem(data, space);

  // An operator of the catalogue, and its ingredients.
  const operators::OperatorDescription* row = operators::find_operator(argc > 1 ? argv[1] : "csr");
  if (row == nullptr) throw solver::InputError("there is no such operator");
  const operators::ElementMatrices element_matrices = operators::assemble_element_matrices(problem.form());
  operators::Ingredients<double> from;
  from.form = &problem.form();
  from.element_matrices = &element_matrices;
  from.matrix =
      std::make_shared<operators::CsrMatrix<double>>(operators::assemble<double>(problem.form(), element_matrices));
  from.device = solver::has_gpu() && row->cuda ? operators::Device::cuda : operators::Device::host;
  const auto a = row->make<double>(from, {});

  // Conjugate gradients on its device.
  operators::Vector<double> b(a->size());
  std::ranges::copy(problem.load(), b.data());
  const auto jacobi = solver::make_preconditioner<double>("jacobi", *a);
  solver::CgOptions<double> options;
  options.preconditioner = jacobi.get();
  std::vector<double> x;
  const solver::CgResult cg = solver::conjugate_gradients(*a, copied(b, a->device()), x, options);
  const std::vector<double> u = problem.to_dofs(x);
  std::printf("%lld iterations, %s, error in L2 %.3e\n", static_cast<long long>(cg.iterations),
              std::string(name(cg.reason)).c_str(), measure_errors({exact, {}, ""}, problem, u).l2);
} catch (const std::exception& error) {
  std::fprintf(stderr, "poisson: %s\n", error.what());
  return 1;
}
