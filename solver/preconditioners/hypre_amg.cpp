// BoomerAMG of hypre; only this file includes hypre's headers.

#include "solver/preconditioners/hypre_amg.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <fmt/format.h>

#include <array>
#include <limits>
#include <new>
#include <stdexcept>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

/// Starts hypre and MPI, which hypre needs even for one process. Both end with the program.
void start_hypre() {
  operators::Communicator::start_for_library();
  static const struct Session {
    Session() { HYPRE_Init(); }
    ~Session() { HYPRE_Finalize(); }
  } session;
}

/// Throws if a call has left an error.
void check_hypre(const char* what) {
  const HYPRE_Int error = HYPRE_GetError();
  if (error == 0) return;
  std::array<char, 256> text{};
  HYPRE_DescribeError(error, text.data());
  HYPRE_ClearAllErrors();
  if ((error & HYPRE_ERROR_MEMORY) != 0) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("hypre failed in {}: {}", what, text.data()));
}

int number_of_coarsening(std::string_view name) { return name == "falgout" ? 6 : name == "pmis" ? 8 : 10; }

}  // namespace

bool built_with_hypre() { return true; }

struct AmgByHypre::State {
  HYPRE_IJMatrix matrix = nullptr;
  HYPRE_IJVector r = nullptr, z = nullptr;
  HYPRE_Solver solver = nullptr;
  HYPRE_ParCSRMatrix a = nullptr;
  HYPRE_ParVector par_r = nullptr, par_z = nullptr;

  ~State() {
    if (solver != nullptr) HYPRE_BoomerAMGDestroy(solver);
    if (matrix != nullptr) HYPRE_IJMatrixDestroy(matrix);
    for (HYPRE_IJVector vector : {r, z})
      if (vector != nullptr) HYPRE_IJVectorDestroy(vector);
  }
  void copy(const operators::CsrMatrix<double>& from);
  HYPRE_ParVector make_vector(HYPRE_BigInt rows, HYPRE_IJVector& vector) const;
};

void AmgByHypre::State::copy(const operators::CsrMatrix<double>& from) {
  HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, from.rows - 1, 0, from.rows - 1, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  std::vector<HYPRE_Int> lengths(static_cast<std::size_t>(from.rows));
  for (std::int32_t row = 0; row < from.rows; ++row)
    lengths[row] = static_cast<HYPRE_Int>(from.row_offsets[row + 1] - from.row_offsets[row]);
  HYPRE_IJMatrixSetRowSizes(matrix, lengths.data());
  HYPRE_IJMatrixInitialize(matrix);
  std::vector<HYPRE_BigInt> columns;
  for (std::int32_t i = 0; i < from.rows; ++i) {
    const HYPRE_BigInt row = i;
    const std::int32_t* first = from.columns.data() + from.row_offsets[i];
    columns.assign(first, first + lengths[i]);
    HYPRE_IJMatrixSetValues(matrix, 1, &lengths[i], &row, columns.data(), from.values.data() + from.row_offsets[i]);
  }
  HYPRE_IJMatrixAssemble(matrix);
  check_hypre("copying the matrix");
  void* object = nullptr;
  HYPRE_IJMatrixGetObject(matrix, &object);
  a = static_cast<HYPRE_ParCSRMatrix>(object);
}

HYPRE_ParVector AmgByHypre::State::make_vector(HYPRE_BigInt rows, HYPRE_IJVector& vector) const {
  HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, rows - 1, &vector);
  HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(vector);
  HYPRE_IJVectorAssemble(vector);
  void* object = nullptr;
  HYPRE_IJVectorGetObject(vector, &object);
  return static_cast<HYPRE_ParVector>(object);
}

AmgByHypre::AmgByHypre(const operators::CsrMatrix<double>& a, const AmgChoice& choice)
    : state_(std::make_unique<State>()) {
  if (a.nonzeros() > std::numeric_limits<HYPRE_Int>::max())
    throw InputError(
        fmt::format("boomeramg takes a matrix of at most {} entries, and this one has {}: use "
                    "preconditioner multigrid",
                    std::numeric_limits<HYPRE_Int>::max(), a.nonzeros()));
  start_hypre();
  State& s = *state_;
  s.copy(a);
  s.par_r = s.make_vector(a.rows, s.r);
  s.par_z = s.make_vector(a.rows, s.z);
  constexpr int down = 1, up = 2, coarsest = 3, extended_i = 6;
  constexpr int l1_forwards = 13, l1_backwards = 14, l1_symmetric = 8;  // Gauss-Seidel
  HYPRE_BoomerAMGCreate(&s.solver);
  HYPRE_BoomerAMGSetCoarsenType(s.solver, number_of_coarsening(choice.coarsening));
  HYPRE_BoomerAMGSetStrongThreshold(s.solver, choice.strength);
  HYPRE_BoomerAMGSetAggNumLevels(s.solver, choice.aggressive);
  HYPRE_BoomerAMGSetInterpType(s.solver, extended_i);
  HYPRE_BoomerAMGSetPMaxElmts(s.solver, 4);
  HYPRE_BoomerAMGSetCycleRelaxType(s.solver, l1_forwards, down);
  HYPRE_BoomerAMGSetCycleRelaxType(s.solver, l1_backwards, up);
  // The coarsest level uses sweeps instead of elimination: without Dirichlet values its matrix is singular.
  HYPRE_BoomerAMGSetMinCoarseSize(s.solver, 20);
  HYPRE_BoomerAMGSetMaxCoarseSize(s.solver, 200);
  HYPRE_BoomerAMGSetCycleRelaxType(s.solver, l1_symmetric, coarsest);
  HYPRE_BoomerAMGSetCycleNumSweeps(s.solver, 20, coarsest);
  HYPRE_BoomerAMGSetMaxIter(s.solver, 1);
  HYPRE_BoomerAMGSetTol(s.solver, 0);
  HYPRE_BoomerAMGSetPrintLevel(s.solver, 0);
  HYPRE_BoomerAMGSetup(s.solver, s.a, s.par_r, s.par_z);
  check_hypre("making the levels of BoomerAMG");
}

AmgByHypre::~AmgByHypre() = default;

void AmgByHypre::apply(const double* r, double* z) const {
  const auto rows = static_cast<HYPRE_Int>(hypre_ParVectorGlobalSize(state_->par_r));
  HYPRE_IJVectorSetValues(state_->r, rows, nullptr, r);
  HYPRE_ParVectorSetConstantValues(state_->par_z, 0);
  HYPRE_BoomerAMGSolve(state_->solver, state_->a, state_->par_r, state_->par_z);
  HYPRE_IJVectorGetValues(state_->z, rows, nullptr, z);
  HYPRE_ClearAllErrors();  // not converging in one cycle is no error
}

std::vector<AmgLevel> AmgByHypre::levels() const {
  const auto* data = reinterpret_cast<const hypre_ParAMGData*>(state_->solver);
  std::vector<AmgLevel> levels;
  for (HYPRE_Int level = 0; level < hypre_ParAMGDataNumLevels(data); ++level) {
    hypre_ParCSRMatrix* a = hypre_ParAMGDataAArray(data)[level];
    levels.push_back({hypre_ParCSRMatrixGlobalNumRows(a), hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(a))});
  }
  return levels;
}

}  // namespace femcg::solver
