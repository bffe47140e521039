// The cube of cases/unit_cube.yaml by deal.II: CG with geometric multigrid, matrix-free, for tools/peers, which
// compiles it.
//
//   mpirun -n 2 peers_dealii DEGREE CELLS TOLERANCE SMOOTHER
//
// CELLS along an edge are halved while they are even; SMOOTHER is the degree of the Chebyshev polynomial.
//
// Prints a line of JSON: version, integral of u, seconds of set-up and of the loop, the last residual, and all
// residuals with their seconds.

#include <deal.II/base/config.h>
// Debian compiles deal.II for generic processors, without SIMD. Its matrix-free templates are compiled here for
// registers of PEERS_REGISTER_BITS.
#undef DEAL_II_VECTORIZATION_WIDTH_IN_BITS
#define DEAL_II_VECTORIZATION_WIDTH_IN_BITS PEERS_REGISTER_BITS
#include <deal.II/matrix_free/evaluation_template_face_factory.templates.h>
#undef dealii_matrix_free_evaluation_template_factory_templates_h  // two files of deal.II 9.4 share one guard
#include <deal.II/matrix_free/evaluation_template_factory.templates.h>
#include <deal.II/matrix_free/evaluation_template_factory_hanging_nodes.templates.h>
#include <deal.II/matrix_free/mapping_info.templates.h>
#include <deal.II/matrix_free/matrix_free.templates.h>
#include <deal.II/matrix_free/shape_info.templates.h>

#include <deal.II/base/mpi.h>
#include <deal.II/base/timer.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/matrix_free/fe_evaluation.h>
#include <deal.II/matrix_free/matrix_free.h>
#include <deal.II/matrix_free/tools.h>
#include <deal.II/multigrid/mg_coarse.h>
#include <deal.II/multigrid/mg_matrix.h>
#include <deal.II/multigrid/mg_smoother.h>
#include <deal.II/multigrid/mg_transfer_matrix_free.h>
#include <deal.II/multigrid/multigrid.h>
#include <deal.II/numerics/vector_tools.h>

#include <cstdio>
#include <cstdlib>

using namespace dealii;

namespace {

template <typename Number>
using VectorOf = LinearAlgebra::distributed::Vector<Number>;

template <typename Number>
using Lanes = VectorizedArray<Number, PEERS_REGISTER_BITS / 8 / sizeof(Number)>;

/// -laplace(u) on one level or on the finest mesh. Constrained entries are zero in all vectors.
template <int degree, typename Number>
class Laplace : public Subscriptor {
 public:
  using value_type = Number;
  using Vector = VectorOf<Number>;
  using Cell = FEEvaluation<3, degree, degree + 1, 1, Number, Lanes<Number>>;
  using Data = MatrixFree<3, Number, Lanes<Number>>;
  using Ranges = std::function<void(unsigned int, unsigned int)>;

  void reinit(const DoFHandler<3>& dofs, const AffineConstraints<double>& constraints, unsigned int level) {
    typename Data::AdditionalData options;
    options.tasks_parallel_scheme = Data::AdditionalData::none;
    options.mapping_update_flags = update_gradients | update_JxW_values;
    options.mg_level = level;
    data_.reinit(MappingQ1<3>(), dofs, constraints, QGauss<1>(degree + 1), options);
  }

  types::global_dof_index m() const { return data_.get_vector_partitioner()->size(); }
  Number el(unsigned int, unsigned int) const { return 0; }  // required by templates, never called
  void initialize_dof_vector(Vector& vector) const { data_.initialize_dof_vector(vector); }
  void vmult(Vector& y, const Vector& x) const { data_.cell_loop(&Laplace::multiply, this, y, x, true); }
  void Tvmult(Vector& y, const Vector& x) const { vmult(y, x); }
  /// y = A x, with vector operations of CG or of the smoother on entries about to be read, and on finished ones.
  void vmult(Vector& y, const Vector& x, const Ranges& before, const Ranges& after) const {
    data_.cell_loop(&Laplace::multiply, this, y, x, before, after);
  }

  void make_inverse_diagonal(Vector& inverse) const {
    data_.initialize_dof_vector(inverse);
    MatrixFreeTools::compute_diagonal(data_, inverse, &Laplace::multiply_cell, this);
    for (auto& entry : inverse) entry = std::abs(entry) > 1e-10 ? 1 / entry : 1;
  }

  /// Load of the constant source 1.
  void make_load(Vector& load) const {
    data_.initialize_dof_vector(load);
    Cell cell(data_);
    for (unsigned int batch = 0; batch < data_.n_cell_batches(); ++batch) {
      cell.reinit(batch);
      for (unsigned int q = 0; q < cell.n_q_points; ++q) cell.submit_value(Lanes<Number>(1.), q);
      cell.integrate_scatter(EvaluationFlags::values, load);
    }
    load.compress(VectorOperation::add);
  }

 private:
  void multiply_cell(Cell& cell) const {
    cell.evaluate(EvaluationFlags::gradients);
    for (unsigned int q = 0; q < cell.n_q_points; ++q) cell.submit_gradient(cell.get_gradient(q), q);
    cell.integrate(EvaluationFlags::gradients);
  }

  void multiply(const Data& data, Vector& y, const Vector& x,
                const std::pair<unsigned int, unsigned int>& batches) const {
    Cell cell(data);
    for (unsigned int batch = batches.first; batch < batches.second; ++batch) {
      cell.reinit(batch);
      cell.read_dof_values(x);
      multiply_cell(cell);
      cell.distribute_local_to_global(y);
    }
  }

  Data data_;
};

template <int degree>
void solve(unsigned int cells, double tolerance, unsigned int smoother_degree) {
  unsigned int refinements = 0;
  while (cells % 2 == 0) cells /= 2, ++refinements;
  parallel::distributed::Triangulation<3> mesh(MPI_COMM_WORLD, Triangulation<3>::limit_level_difference_at_vertices,
                                               parallel::distributed::Triangulation<3>::construct_multigrid_hierarchy);
  GridGenerator::subdivided_hyper_cube(mesh, cells);
  mesh.refine_global(refinements);
  DoFHandler<3> dofs(mesh);
  dofs.distribute_dofs(FE_Q<3>(degree));
  dofs.distribute_mg_dofs();
  AffineConstraints<double> boundary;
  DoFTools::make_zero_boundary_constraints(dofs, boundary);
  boundary.close();

  MPI_Barrier(MPI_COMM_WORLD);
  Timer set_up;
  Laplace<degree, double> matrix;
  matrix.reinit(dofs, boundary, numbers::invalid_unsigned_int);
  MGConstrainedDoFs level_boundary;
  level_boundary.initialize(dofs);
  level_boundary.make_zero_boundary_constraints(dofs, {0});

  using Level = Laplace<degree, float>;
  using Vector = VectorOf<float>;
  using Smoother = PreconditionChebyshev<Level, Vector>;
  MGLevelObject<Level> levels(0, mesh.n_global_levels() - 1);
  MGLevelObject<typename Smoother::AdditionalData> options(0, mesh.n_global_levels() - 1);
  for (unsigned int level = 0; level < mesh.n_global_levels(); ++level) {
    AffineConstraints<double> constraints;
    constraints.add_lines(level_boundary.get_boundary_indices(level));
    constraints.close();
    levels[level].reinit(dofs, constraints, level);
    auto& of_level = options[level];
    of_level.preconditioner = std::make_shared<DiagonalMatrix<Vector>>();
    levels[level].make_inverse_diagonal(of_level.preconditioner->get_vector());
    of_level.constraints.copy_from(constraints);
    of_level.degree = level > 0 ? smoother_degree : numbers::invalid_unsigned_int;
    of_level.smoothing_range = level > 0 ? 20 : 1e-3;
    of_level.eig_cg_n_iterations = level > 0 ? 12 : levels[0].m();
  }
  mg::SmootherRelaxation<Smoother, Vector> smoother;
  smoother.initialize(levels, options);
  for (unsigned int level = 0; level < mesh.n_global_levels(); ++level) {  // estimates the eigenvalues
    Vector vector;
    levels[level].initialize_dof_vector(vector);
    smoother[level].estimate_eigenvalues(vector);
  }
  MGTransferMatrixFree<3, float> transfer(level_boundary);
  transfer.build(dofs, [&](unsigned int level, Vector& vector) { levels[level].initialize_dof_vector(vector); });
  MGCoarseGridApplySmoother<Vector> coarse;
  coarse.initialize(smoother);
  mg::Matrix<Vector> level_matrices(levels);
  Multigrid<Vector> cycle(level_matrices, coarse, transfer, smoother, smoother);
  PreconditionMG<3, Vector, MGTransferMatrixFree<3, float>> multigrid(dofs, cycle, transfer);
  MPI_Barrier(MPI_COMM_WORLD);
  set_up.stop();

  VectorOf<double> u, b, r;
  matrix.initialize_dof_vector(u);
  matrix.initialize_dof_vector(r);
  matrix.make_load(b);
  Timer loop;
  std::vector<std::pair<double, double>> history;
  SolverControl control(1000, tolerance * b.l2_norm());
  SolverCG<VectorOf<double>> cg(control);
  cg.connect([&](unsigned int, double residual, const VectorOf<double>&) {
    history.emplace_back(residual, loop.wall_time());
    return SolverControl::success;
  });
  cg.solve(matrix, u, b, multigrid);
  loop.stop();
  matrix.vmult(r, u);
  r -= b;
  const double true_residual = r.l2_norm() / b.l2_norm(), of_load = b.l2_norm(), integral = u * b;
  if (Utilities::MPI::this_mpi_process(MPI_COMM_WORLD) != 0) return;
  std::printf(
      "{\"version\": \"deal.II %s\", \"integral\": %.10g, \"set_up\": %g, "
      "\"solve\": %g, \"true_residual\": %g, \"history\": [",
      DEAL_II_PACKAGE_VERSION, integral, set_up.wall_time(), loop.wall_time(), true_residual);
  for (std::size_t k = 0; k < history.size(); ++k)
    std::printf("%s[%g, %g]", k > 0 ? ", " : "", history[k].first / of_load, history[k].second);
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  if (argc != 5) return 2;
  const auto cells = static_cast<unsigned int>(std::atoi(argv[2])),
             smoother = static_cast<unsigned int>(std::atoi(argv[4]));
  const double tolerance = std::atof(argv[3]);
  std::atoi(argv[1]) == 2 ? solve<2>(cells, tolerance, smoother) : solve<3>(cells, tolerance, smoother);
}
