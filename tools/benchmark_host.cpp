// What the host's operators reach on this machine, as ratios measured in one run: the program behind the numbers in
// README.md.
//
//   build/release/benchmark_host [unknowns, default 1000000] [CG iterations a repetition, default 20]
//
// Repetitions are interleaved over the operators, so that a drift of the machine hits all alike; the best of them
// counts.

#include <fmt/format.h>
#include <omp.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>

#include "mesh/box.hpp"
#include "operators/bandwidth.hpp"
#include "operators/catalogue.hpp"
#include "solver/cg.hpp"
#include "solver/problem.hpp"
#include "solver/record.hpp"

using namespace femcg;

namespace {

constexpr int repetitions = 5;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// -laplace(u) = 1, u = 0 on the rim, on a box of about `unknowns` unknowns.
struct BoxProblem {
  BoxProblem(mesh::CellShape shape, int degree, double unknowns) {
    made.degree = degree;
    made.quadrature = degree + 1;
    made.diffusion.everywhere = solver::Expression(1.0);
    made.source.everywhere = solver::Expression(1.0);
    solver::BoundaryCondition& rim = made.boundary.emplace_back();
    rim.group = "all";
    const int d = mesh::dimension(shape);
    const int n = static_cast<int>(std::lround(std::pow(unknowns, 1.0 / d) / degree));
    set_up = seconds_of([&] {
      mesh = std::make_unique<mesh::Mesh>(mesh::make_box({shape, {n, n, n}, {1, 1, 1}, 0}));
      space = std::make_unique<mesh::FunctionSpace>(*mesh, degree);
      problem = std::make_unique<solver::Problem>(made, *space);
    });
  }
  solver::Case made;
  std::unique_ptr<mesh::Mesh> mesh;
  std::unique_ptr<mesh::FunctionSpace> space;
  std::unique_ptr<solver::Problem> problem;
  double set_up = 0;
};

struct Measured {
  double iterations_per_second = 0;
  double bandwidth = 0;  ///< of the product, bytes that it has to move a second
};

/// CG and products of several operators on one problem.
template <std::floating_point T>
std::map<std::string, Measured> measure(const BoxProblem& box, const std::vector<std::string>& names, int iterations) {
  operators::Ingredients<T> from;
  operators::ElementMatrices matrices = operators::assemble_element_matrices(box.problem->form());
  from.form = &box.problem->form();
  from.element_matrices = &matrices;
  from.matrix = std::make_shared<operators::CsrMatrix<T>>(operators::assemble<T>(box.problem->form(), matrices));
  std::map<std::string, std::unique_ptr<operators::Operator<T>>> made;
  for (const std::string& name : names) made[name] = operators::find_operator(name)->make<T>(from, {});
  matrices = {};

  const std::int32_t n = box.problem->form().unknowns;
  operators::Vector<T> b(n), x(n);
  std::copy(box.problem->load().begin(), box.problem->load().end(), b.data());
  solver::CgOptions<T> options;
  options.tolerance = 0;
  options.max_iterations = iterations;
  std::map<std::string, Measured> measured;
  for (int r = 0; r < repetitions; ++r)
    for (const std::string& name : names) {
      const solver::CgResult result = solver::conjugate_gradients(*made[name], b, x, options);
      Measured& best = measured[name];
      best.iterations_per_second =
          std::max(best.iterations_per_second, static_cast<double>(result.iterations) / result.seconds);
      const double product = solver::time_products(*made[name]).minimum;
      best.bandwidth = std::max(best.bandwidth, static_cast<double>(made[name]->footprint().moved_bytes) / product);
    }
  return measured;
}

template <std::floating_point T>
void squares(double unknowns, int iterations) {
  const std::vector<std::string> names{"csr", "eigen", "sell", "lma-atomic", "lma-coloured", "matrix-free"};
  for (int degree = 1; degree <= 4; ++degree) {
    const BoxProblem box(mesh::CellShape::quadrilateral, degree, unknowns);
    const double copy = operators::measure_copy_bandwidth(operators::Device::host).bytes_per_second;
    const auto measured = measure<T>(box, names, iterations);
    fmt::print("Q{} {:<6} copy {:4.1f} GB/s; csr product {:3.0f}% of it; CG it/s:", degree,
               sizeof(T) == 8 ? "double" : "single", 1e-9 * copy, 100 * measured.at("csr").bandwidth / copy);
    for (const std::string& name : names) fmt::print(" {} {:.1f}", name, measured.at(name).iterations_per_second);
    const double csr = measured.at("csr").iterations_per_second;
    fmt::print("; csr/eigen {:.2f}, lma-coloured/csr {:.2f}, matrix-free/csr {:.2f}\n",
               csr / measured.at("eigen").iterations_per_second,
               measured.at("lma-coloured").iterations_per_second / csr,
               measured.at("matrix-free").iterations_per_second / csr);
    std::fflush(stdout);
  }
}

void set_up(double unknowns, int iterations) {
  const BoxProblem box(mesh::CellShape::quadrilateral, 4, unknowns);
  double assembly = 0;
  std::unique_ptr<operators::Operator<double>> csr;
  std::int64_t data = 0;
  assembly = seconds_of([&] {
    operators::ElementMatrices matrices = operators::assemble_element_matrices(box.problem->form());
    operators::Ingredients<double> from;
    from.matrix =
        std::make_shared<operators::CsrMatrix<double>>(operators::assemble<double>(box.problem->form(), matrices));
    data = matrices.values.bytes() + from.matrix->bytes();
    csr = operators::find_operator("csr")->make<double>(from, {});
  });
  operators::Vector<double> b(csr->size()), x(csr->size());
  std::copy(box.problem->load().begin(), box.problem->load().end(), b.data());
  solver::CgOptions<double> options;
  options.tolerance = 0;
  options.max_iterations = iterations;
  const double iteration = solver::conjugate_gradients(*csr, b, x, options).seconds / iterations;
  fmt::print(
      "set-up of the Q4 square: {:.2f} s = {:.0f} csr iterations; peak memory {:.2f} times element matrices plus CSR\n",
      box.set_up + assembly, (box.set_up + assembly) / iteration,
      static_cast<double>(solver::peak_memory()) / static_cast<double>(data));
}

void cubes(double unknowns, int iterations) {
  const std::int64_t before = solver::peak_memory();
  const BoxProblem box(mesh::CellShape::hexahedron, 4, unknowns);
  operators::Ingredients<double> from;
  from.form = &box.problem->form();
  const auto matrix_free = operators::find_operator("matrix-free")->make<double>(from, {});
  const std::int64_t after = solver::peak_memory();
  fmt::print("Q4 hexahedra, matrix-free: {} unknowns, operator {:.0f} B an unknown{}\n", matrix_free->size(),
             static_cast<double>(matrix_free->footprint().stored_bytes) / matrix_free->size(),
             after > before
                 ? fmt::format(", whole program {:.0f} B an unknown", static_cast<double>(after) / matrix_free->size())
                 : "");
  const auto measured = measure<double>(box, {"csr", "matrix-free", "lma-coloured"}, iterations);
  fmt::print("Q4 hexahedra, CG it/s: csr {:.1f}, lma-coloured {:.1f}, matrix-free {:.1f}; matrix-free/csr {:.2f}\n",
             measured.at("csr").iterations_per_second, measured.at("lma-coloured").iterations_per_second,
             measured.at("matrix-free").iterations_per_second,
             measured.at("matrix-free").iterations_per_second / measured.at("csr").iterations_per_second);
}

}  // namespace

int main(int argc, char** argv) {
  const double unknowns = argc > 1 ? std::atof(argv[1]) : 1e6;
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 20;
  fmt::print("{}, {} threads\n", solver::this_machine().processor, omp_get_max_threads());
  set_up(unknowns, iterations);
  squares<double>(unknowns, iterations);
  squares<float>(unknowns, iterations);
  cubes(unknowns, iterations);
}
