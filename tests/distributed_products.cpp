// Program that test_distributed starts on several processes: compares every operator of the device, on every cell shape
// and for matrices divided by rows, in every mode and both precisions, with the whole matrix, which each process
// multiplies by itself in long double.
//
//     mpirun -n 3 distributed_products
//     FEMCG_TEST_DEVICE=cuda mpirun -n 2 distributed_products     (all on one GPU)
//
// Each process prints its failures, and ends with status 1 if there are any.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "mesh/parts/partition.hpp"
#include "operators/catalogue.hpp"
#include "operators/distributed/distributed_form_product.hpp"
#include "operators/distributed/distributed_operator.hpp"
#include "operators/distributed/maps/complete_rows.hpp"
#include "operators/distributed/maps/matrix_subdomain.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "operators/distributed/maps/subdomain_sizes.hpp"
#include "operators/ordering.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using mesh::CellShape;

namespace {

int failures = 0;
Device device = Device::host;

void require(bool holds, const Communicator& communicator, const std::string& what) {
  if (holds) return;
  ++failures;
  fmt::print("process {} of {}: {}\n", communicator.rank(), communicator.size(), what);
}

/// y = A x for a matrix and an x.
struct Product {
  explicit Product(CsrMatrix<double> of) : matrix(std::move(of)) {
    const CsrMatrix<double>& a = matrix;
    diagonal.assign(a.rows, 0);
    for (std::int32_t i = 0; i < a.rows; ++i) x.push_back(static_cast<float>(std::sin(1.0 + 3 * i)));
    for (std::int32_t i = 0; i < a.rows; ++i) {
      long double sum = 0, size = 0;
      for (std::int64_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
        sum += static_cast<long double>(a.values[k]) * x[a.columns[k]];
        size += std::abs(a.values[k] * x[a.columns[k]]);
        if (a.columns[k] == i) diagonal[i] = a.values[k];
      }
      y.push_back(static_cast<double>(sum));
      largest = std::max(largest, static_cast<double>(size));
      energy += static_cast<double>(sum) * x[i];
      energy_size += static_cast<double>(size) * std::abs(x[i]);
    }
  }
  std::int32_t unknowns() const { return static_cast<std::int32_t>(x.size()); }

  CsrMatrix<double> matrix;
  std::vector<double> x, y, diagonal;
  double energy = 0, energy_size = 0, largest = 0;
};

/// A form, and the product of its matrix.
struct Whole : Product {
  explicit Whole(SmallForm form)
      : Product(assemble<double>(form.form, assemble_element_matrices(form.form))), small(std::move(form)) {}
  SmallForm small;
};

/// This process's subdomain of a form, on its part of the mesh, made as in a run.
struct Local {
  Local(const Communicator& communicator, const BilinearForm& whole, mesh::MeshPart of) : part(std::move(of)) {
    find_cuts(communicator, part);
    space = std::make_unique<mesh::FunctionSpace>(part.mesh, whole.space->degree());
    shared = SharedDofs(communicator, *space, part);
    form.space = space.get();
    form.quadrature = whole.quadrature;
    form.diffusion.evaluate = [&whole, this](std::int32_t cell, std::span<const double> points,
                                             std::span<double> values) {
      whole.diffusion.evaluate(part.cell_numbers[cell], points, values);
    };
    form.unknown_of_dof.assign(space->dof_count(), -1);
    std::vector<std::int32_t> in_whole;
    for (std::int32_t cell = 0; cell < form.cells(); ++cell)
      for (int a = 0; a < form.dofs_per_cell(); ++a) {
        std::int32_t& unknown = form.unknown_of_dof[space->dofs(cell)[a]];
        const std::int32_t of_whole = whole.unknown(part.cell_numbers[cell], a);
        if (of_whole < 0 || unknown >= 0) continue;
        unknown = form.unknowns++;
        in_whole.push_back(of_whole);
      }
    for (const RobinFacet& facet : whole.robin)
      if (const auto at = std::ranges::lower_bound(part.cell_numbers, facet.cell);
          at != part.cell_numbers.end() && *at == facet.cell)
        form.robin.push_back({static_cast<std::int32_t>(at - part.cell_numbers.begin()), facet.facet, facet.transfer});
    subdomain = subdomain_of(form, shared);
    for (const std::int32_t unknown : subdomain.map.unknowns) unknowns.push_back(in_whole[unknown]);
  }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;

  mesh::MeshPart part;
  std::unique_ptr<mesh::FunctionSpace> space;
  SharedDofs shared;
  BilinearForm form;
  FormSubdomain subdomain;
  std::vector<std::int32_t> unknowns;  ///< of the map, numbered as in the whole
};

/// This process's rows of a matrix.
struct LocalRows {
  LocalRows(const Communicator& communicator, const CsrMatrix<double>& matrix)
      : subdomain(subdomain_of(communicator, divide_rows(communicator, matrix))),
        unknowns(subdomain.map.numbers.begin(), subdomain.map.numbers.end()) {}
  MatrixSubdomain subdomain;
  std::vector<std::int32_t> unknowns;
};

template <class T>
std::unique_ptr<Operator<T>> make(const OperatorDescription& row, const CsrMatrix<double>& part) {
  if (part.rows == 0) return nullptr;
  Ingredients<T> from;
  from.device = device;
  if constexpr (std::is_same_v<T, double>)
    from.matrix = std::shared_ptr<const CsrMatrix<T>>(std::shared_ptr<const void>(), &part);
  else
    from.matrix = std::make_shared<const CsrMatrix<T>>(to_single(part));
  return row.make<T>(from, {});
}

/// Matrix that an operator of a part is made from, if it needs one.
template <class T>
std::unique_ptr<const CsrMatrix<T>> matrix_of(const FormPart& part) {
  if (part.empty()) return nullptr;
  return std::make_unique<const CsrMatrix<T>>(assemble<T>(part.form, assemble_element_matrices(part.form)));
}
template <class T>
std::unique_ptr<const CsrMatrix<T>> matrix_of(const CsrMatrix<double>& part) {
  if (part.rows == 0) return nullptr;
  auto matrix = std::make_unique<CsrMatrix<T>>();
  matrix->rows = part.rows;
  matrix->row_offsets = copied(part.row_offsets, Device::host);
  matrix->columns = copied(part.columns, Device::host);
  matrix->values = Vector<T>(part.values.size());
  std::copy_n(part.values.data(), part.values.size(), matrix->values.data());
  return matrix;
}
/// Matrices of both parts.
template <class T>
auto matrices_of(const auto& subdomain) {
  return std::pair(matrix_of<T>(subdomain.interior), matrix_of<T>(subdomain.interface));
}

template <class T>
std::unique_ptr<Operator<T>> make(const OperatorDescription& row, const FormPart& part) {
  if (part.empty()) return nullptr;
  const ElementMatrices element_matrices = assemble_element_matrices(part.form);
  Ingredients<T> from;
  from.device = device;
  from.form = &part.form;
  from.element_matrices = &element_matrices;
  from.matrix = std::make_shared<CsrMatrix<T>>(assemble<T>(part.form, element_matrices));
  return row.make<T>(from, {});
}

/// True if all copies of each unknown are bitwise equal on all processes.
template <class T>
bool copies_agree(const Communicator& communicator, const auto& local, const Vector<T>& y, std::int32_t unknowns) {
  const IndexMap& map = local.subdomain.map;
  std::vector<T> of_owners(unknowns, T(0));
  const auto numbers = communicator.gathered(std::vector(local.unknowns.begin(), local.unknowns.begin() + map.owned));
  const auto values = communicator.gathered(std::vector<T>(y.data(), y.data() + map.owned));
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    for (std::size_t i = 0; i < numbers[rank].size(); ++i) of_owners[numbers[rank][i]] = values[rank][i];
  bool agree = true;
  for (std::int32_t i = 0; i < map.size(); ++i)
    agree = agree && std::memcmp(&y[i], &of_owners[local.unknowns[i]], sizeof(T)) == 0;
  return agree;
}

/// Checks that the owned rows, summed over the contributions of all processes, equal those of the whole matrix.
template <class T>
void check_rows(const Communicator& communicator, const CsrMatrix<double>& whole, const auto& local,
                const CsrMatrix<T>* interior, const CsrMatrix<T>* interface, const std::string& of) {
  const CompleteRows<T> rows = complete_rows<T>(communicator, local.subdomain, interior, interface);
  const auto all_unknowns = communicator.gathered(local.unknowns);
  const auto all_numbers = communicator.gathered(local.subdomain.map.numbers);
  std::vector<std::int32_t> unknowns(whole.rows);  // by number in the whole system
  for (std::size_t rank = 0; rank < all_numbers.size(); ++rank)
    for (std::size_t i = 0; i < all_numbers[rank].size(); ++i) unknowns[all_numbers[rank][i]] = all_unknowns[rank][i];
  bool right = rows.matrix.rows == local.subdomain.map.owned;
  for (std::int32_t i = 0; right && i < rows.matrix.rows; ++i) {
    std::map<std::int32_t, double> entries;
    for (std::int64_t k = rows.matrix.row_offsets[i]; k < rows.matrix.row_offsets[i + 1]; ++k) {
      const std::int32_t column = rows.matrix.columns[k];
      const std::int64_t number =
          column < rows.matrix.rows ? local.subdomain.map.numbers[column] : rows.ghosts[column - rows.matrix.rows];
      entries[unknowns[number]] += rows.matrix.values[k];
    }
    const std::int32_t row = local.unknowns[i];
    double size = 0;
    for (std::int64_t k = whole.row_offsets[row]; k < whole.row_offsets[row + 1]; ++k)
      size = std::max(size, std::abs(whole.values[k]));
    for (std::int64_t k = whole.row_offsets[row]; k < whole.row_offsets[row + 1]; ++k)
      entries[whole.columns[k]] -= whole.values[k];
    for (const auto& [column, difference] : entries)
      right = right && std::abs(difference) <= 100 * std::numeric_limits<T>::epsilon() * size;
  }
  require(right, communicator, of + ": complete rows are wrong");
}

/// Checks a product; returns y, which must be bitwise the same in all modes.
template <class T>
std::vector<T> check_product(const Communicator& communicator, const OperatorDescription& row, const Product& whole,
                             const auto& local, ExchangeMode mode, const std::string& of) {
  const auto& subdomain = local.subdomain;
  const IndexMap& map = subdomain.map;
  const DistributedOperator<T> a(communicator, subdomain, device, make<T>(row, subdomain.interior),
                                 make<T>(row, subdomain.interface), mode);
  const std::string what = fmt::format("{} {} {} {}", of, row.name, sizeof(T) == 4 ? "single" : "double", name(mode));
  // Sums of at most a few hundred terms: K_e, the matrix and its parts each round once per term.
  const double bound = 500 * std::numeric_limits<T>::epsilon();
  Vector<T> x(map.size());
  for (std::int32_t i = 0; i < map.size(); ++i) x[i] = static_cast<T>(whole.x[local.unknowns[i]]);
  const Vector<T> x_there = to_ordering(a, x);
  Vector<T> y_there(map.size(), device), d_there(map.size(), device);
  Scalar energy(device);
  a.apply(x_there, y_there, &energy);
  a.apply(x_there, y_there, &energy);  // again, with the buffers used by the first
  a.diagonal(d_there);
  const Vector<T> y = copied(from_ordering(a, y_there), Device::host),
                  d = copied(from_ordering(a, d_there), Device::host);
  const Vector<std::int32_t> ordering = copied(a.ordering(), Device::host);
  const auto unknown_at = [&](std::int32_t place) { return ordering.size() > 0 ? ordering[place] : place; };
  bool right = true, right_diagonal = true;
  for (std::int32_t i = 0; i < map.size(); ++i) {
    const std::int32_t unknown = local.unknowns[i];
    right = right && std::abs(y[i] - whole.y[unknown]) <= bound * whole.largest;
    right_diagonal =
        right_diagonal && std::abs(d[i] - whole.diagonal[unknown]) <= bound * std::abs(whole.diagonal[unknown]);
  }
  require(right, communicator, what + ": y is wrong");
  require(right_diagonal, communicator, what + ": the diagonal is wrong");
  require(std::abs(energy.value() - whole.energy) <= bound * whole.energy_size, communicator,
          what + fmt::format(": x'Ax is {}, not {}", energy.value(), whole.energy));
  require(copies_agree(communicator, local, y, whole.unknowns()), communicator, what + ": copies differ");
  constexpr int count = 3;
  MultiVector<T> many(map.size(), count), products(map.size(), count);
  for (std::int32_t i = 0; i < map.size(); ++i)
    for (int c = 0; c < many.stride(); ++c)
      many.data()[i * many.stride() + c] = static_cast<T>(c < count ? (c + 1) * x[unknown_at(i)] : 0);
  MultiVector<T> many_there(map.size(), count, device), products_there(map.size(), count, device);
  copy(many.entries(), many_there.entries());
  a.apply(many_there, products_there);
  copy(products_there.entries(), products.entries());
  right = true;
  for (std::int32_t i = 0; i < map.size(); ++i)
    for (int c = 0; c < count; ++c)
      right = right && std::abs(products.data()[i * many.stride() + c] -
                                (c + 1) * whole.y[local.unknowns[unknown_at(i)]]) <= bound * (c + 1) * whole.largest;
  require(right, communicator, what + ": columns are wrong");
  return {y.data(), y.data() + y.size()};
}

template <class T>
void check_operator(const Communicator& communicator, const OperatorDescription& row, const Product& whole,
                    const auto& local, const std::string& of) {
  std::vector<std::vector<T>> found;
  for (const ExchangeMode mode : {ExchangeMode::vector, ExchangeMode::overlap, ExchangeMode::task}) {
    if (mode == ExchangeMode::task && device == Device::cuda) continue;
    found.push_back(check_product<T>(communicator, row, whole, local, mode, of));
  }
  // Atomic sums have no order, except with a single thread.
  if (row.name == "lma-atomic" || row.name.starts_with("cusparse")) return;
  const std::size_t bytes = found[0].size() * sizeof(T);
  for (std::size_t mode = 1; mode < found.size(); ++mode)
    require(bytes == 0 || std::memcmp(found[0].data(), found[mode].data(), bytes) == 0, communicator,
            fmt::format("{} {}: modes differ", of, row.name));
}

/// |b - A x| / |b| of the whole system, from the owned entries of x.
double relative_residual(const Communicator& communicator, const Product& whole, const auto& local,
                         const std::vector<double>& x) {
  const std::int32_t owned = local.subdomain.map.owned;
  const auto numbers = communicator.gathered(std::vector(local.unknowns.begin(), local.unknowns.begin() + owned));
  const auto values = communicator.gathered(std::vector(x.begin(), x.begin() + owned));
  std::vector<double> all(static_cast<std::size_t>(whole.unknowns()));
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    for (std::size_t i = 0; i < numbers[rank].size(); ++i) all[numbers[rank][i]] = values[rank][i];
  long double rr = 0, bb = 0;
  for (std::int32_t i = 0; i < whole.unknowns(); ++i) {
    long double r = whole.y[i];
    for (std::int64_t k = whole.matrix.row_offsets[i]; k < whole.matrix.row_offsets[i + 1]; ++k)
      r -= static_cast<long double>(whole.matrix.values[k]) * all[whole.matrix.columns[k]];
    rr += r * r;
    bb += static_cast<long double>(whole.y[i]) * whole.y[i];
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

/// Input with the form of this process's subdomain, if the system has one.
solver::PreconditionerInput<double> preconditioner_input(const Communicator& communicator, const auto& local) {
  solver::PreconditionerInput<double> input;
  if constexpr (requires { local.form; }) {
    input.form = &local.form;
    input.of = {&communicator, &local.part, &local.subdomain};
  }
  return input;
}

/// Checks that CG reaches the solution of the whole, with every recurrence, and that copies agree in the end.
void check_cg(const Communicator& communicator, const Product& whole, const auto& local, const std::string& of) {
  const auto& subdomain = local.subdomain;
  const IndexMap& map = subdomain.map;
  const OperatorDescription& row = *find_operator("csr");
  DistributedOperator<double> a(communicator, subdomain, device, make<double>(row, subdomain.interior),
                                make<double>(row, subdomain.interface), ExchangeMode::automatic);
  const auto [interior, interface] = matrices_of<double>(subdomain);
  check_rows<double>(communicator, whole.matrix, local, interior.get(), interface.get(), of);
  a.keep_rows(interior.get(), interface.get(), PersistentFor::possible);
  const bool resident = persistent_cg<double>(a, PersistentFor::possible) != nullptr;
  const bool all_have_rows = communicator.sum(map.owned > 0 ? 0.0 : 1.0) == 0;
  require(resident == (a.gpus_run_alone() && all_have_rows), communicator, of + ": the persistent kernel");
  struct Way {
    solver::CgMethod method;
    solver::CgLoop loop;
  };
  for (const auto& [method, loop] : {Way{solver::CgMethod::classic, solver::CgLoop::launched},
                                     Way{solver::CgMethod::single_reduction, solver::CgLoop::launched},
                                     Way{solver::CgMethod::single_reduction, solver::CgLoop::persistent},
                                     Way{solver::CgMethod::pipelined, solver::CgLoop::launched}})
    for (const std::string preconditioner_name : {"none", "jacobi", "chebyshev", "multigrid"}) {
      if (loop == solver::CgLoop::persistent && !resident) continue;
      const solver::PreconditionerInput<double> input = preconditioner_input(communicator, local);
      if (preconditioner_name == "multigrid" && input.form == nullptr) continue;
      const auto preconditioner = solver::make_preconditioner<double>(preconditioner_name, a, {}, input);
      if (solver::has_one_sum(method) && !preconditioner->is_fused()) continue;
      Vector<double> b_here(map.size());
      for (std::int32_t i = 0; i < map.size(); ++i) b_here[i] = whole.y[local.unknowns[i]];
      const Vector<double> b = copied(b_here, device);
      solver::CgOptions<double> options;
      options.tolerance = 1e-12;
      options.method = method;
      options.loop = loop;
      options.preconditioner = preconditioner.get();
      options.captured = a.gpus_run_alone() && !preconditioner->waits();
      if (!options.captured) options.check_every = method == solver::CgMethod::pipelined ? 3 : 1;
      std::vector<double> x;
      const std::int64_t sums_before = a.vector_kernels().sums();
      const solver::CgResult result = solver::conjugate_gradients<double>(a, b, x, options);
      const std::string what =
          fmt::format("{} CG {} {} {}", of, solver::name(method), solver::name(loop), preconditioner_name);
      // A GPU has run one iteration before the first, and one more when the host examines the last; each start has one.
      const std::int64_t sums = a.vector_kernels().sums() - sums_before, each = preconditioner->is_fused() ? 2 : 3;
      const std::int64_t least = method == solver::CgMethod::classic ? each * result.iterations : result.iterations;
      require(options.captured || (sums >= least && sums <= least + least / 50 + 10), communicator,
              what + fmt::format(": {} sums in {} iterations", sums, result.iterations));
      require(result.reason == solver::StopReason::converged, communicator,
              what + fmt::format(" does not converge: {} after {} iterations, {:.1e} and {:.1e}",
                                 solver::name(result.reason), result.iterations, result.relative_residual,
                                 result.true_relative_residual));
      const double residual = relative_residual(communicator, whole, local, x);
      require(residual < 2 * options.tolerance, communicator,
              what + fmt::format(": the residual of the whole is {:.1e}", residual));
      Vector<double> copy(map.size());
      std::copy(x.begin(), x.end(), copy.data());
      require(copies_agree(communicator, local, copy, whole.unknowns()), communicator, what + ": copies differ");
    }
}

/// Checks several systems at once: the first has the solution of the whole, and the residuals of all are small.
void check_systems(const Communicator& communicator, const Product& whole, const auto& local, const std::string& of) {
  const auto& subdomain = local.subdomain;
  const IndexMap& map = subdomain.map;
  const OperatorDescription& row = *find_operator("csr");
  const DistributedOperator<double> a(communicator, subdomain, device, make<double>(row, subdomain.interior),
                                      make<double>(row, subdomain.interface), ExchangeMode::overlap);
  std::vector<Vector<double>> b;
  for (int c = 0; c < 3; ++c) {
    Vector<double> here(map.size());
    for (std::int32_t i = 0; i < map.size(); ++i)
      here[i] = whole.y[local.unknowns[i]] * std::cos(c * local.unknowns[i]);
    b.push_back(copied(here, device));
  }
  for (const std::string preconditioner_name : {"jacobi", "chebyshev", "multigrid"}) {
    const solver::PreconditionerInput<double> input = preconditioner_input(communicator, local);
    if (preconditioner_name == "multigrid" && input.form == nullptr) continue;
    const auto preconditioner = solver::make_preconditioner<double>(preconditioner_name, a, {}, input);
    solver::SystemsCgOptions<double> options;
    options.tolerance = 1e-12;
    options.preconditioner = preconditioner.get();
    options.captured = a.gpus_run_alone() && !preconditioner->waits();
    if (!options.captured) options.check_every = 1;
    for (const bool block : {false, true}) {
      if (block && preconditioner_name == "multigrid") continue;  // not a constant M
      std::vector<std::vector<double>> x;
      const auto results = block ? solver::block_conjugate_gradients<double>(a, b, x, options)
                                 : solver::batched_conjugate_gradients<double>(a, b, x, options);
      const std::string what = fmt::format("{} {} CG {}", of, block ? "block" : "batched", preconditioner_name);
      for (const solver::CgResult& result : results)
        require(result.reason == solver::StopReason::converged && result.true_relative_residual <= 1e-12, communicator,
                what + fmt::format(" does not converge: {} after {} iterations, {:.1e} and {:.1e}",
                                   solver::name(result.reason), result.iterations, result.relative_residual,
                                   result.true_relative_residual));
      bool right = true;
      for (std::int32_t i = 0; i < map.size(); ++i)
        right = right && std::abs(x[0][i] - whole.x[local.unknowns[i]]) < 1e-8;
      require(right, communicator, what + ": x is wrong");
      for (const std::vector<double>& each : x) {
        Vector<double> copy(map.size());
        std::copy(each.begin(), each.end(), copy.data());
        require(copies_agree(communicator, local, copy, whole.unknowns()), communicator, what + ": copies differ");
      }
    }
  }
}

/// Checks that the scaling model uses the actual interface.
void check_surface(const Communicator& communicator, const Whole& whole, std::span<const std::int32_t> process_of,
                   const FormSubdomain& subdomain, const std::string& of) {
  const SubdomainSize surface = subdomain_sizes(whole.small.form, process_of, communicator.size())[communicator.rank()];
  std::int64_t sent = 0;
  for (const IndexMap::Neighbour& neighbour : subdomain.map.neighbours) sent += std::ssize(neighbour.shared);
  require(surface.cells == subdomain.cells() && surface.interface_cells == std::ssize(subdomain.interface.cells) &&
              surface.unknowns == subdomain.map.size() && surface.sent == sent &&
              surface.neighbours == std::ssize(subdomain.map.neighbours),
          communicator, of + ": the surface is wrong");
}

void check_form_product(const Communicator& communicator, const Whole& whole, const Local& local,
                        const std::string& of) {
  std::vector<double> x;
  for (const std::int32_t unknown : local.unknowns) x.push_back(whole.x[unknown]);
  const std::vector<double> nothing(x.size(), 0.0);
  std::vector<std::optional<FormProductOnGpu::Unknowns>> kept{std::nullopt};
  if (device == Device::cuda)
    kept.insert(kept.end(), {FormProductOnGpu::Unknowns::sent, FormProductOnGpu::Unknowns::kept});
  for (const auto& keeps : kept) {
    DistributedFormProduct product(communicator, local.form, local.subdomain.map, keeps);
    require((product.device() == Device::cuda) == (keeps && local.form.cells() > 0), communicator,
            of + ": a GPU has no room for a form");
    for (int repetition = 0; repetition < 2; ++repetition) {
      const std::vector<double> r = product.residual(x, nothing);
      bool right = true;
      for (std::size_t i = 0; i < r.size(); ++i)
        right = right && std::abs(r[i] + whole.y[local.unknowns[i]]) <= 1e-13 * whole.largest;
      require(right, communicator, of + ": the product of the form is wrong");
    }
  }
}

/// Checks that every unknown has one owner and one global number, and that neighbours agree on shared unknowns.
void check_map(const Communicator& communicator, const Product& whole, const auto& local, const std::string& of) {
  const IndexMap& map = local.subdomain.map;
  std::vector<int> owners(whole.unknowns(), 0), used(whole.unknowns(), 0);
  std::vector<std::int64_t> numbers(whole.unknowns(), -1);
  const auto all_unknowns = communicator.gathered(local.unknowns);
  const auto all_numbers = communicator.gathered(map.numbers);
  const auto all_owned = communicator.gathered(std::vector{map.owned});
  bool one_number = true;
  for (std::size_t rank = 0; rank < all_unknowns.size(); ++rank)
    for (std::size_t i = 0; i < all_unknowns[rank].size(); ++i) {
      const std::int32_t unknown = all_unknowns[rank][i];
      one_number = one_number && (numbers[unknown] < 0 || numbers[unknown] == all_numbers[rank][i]);
      numbers[unknown] = all_numbers[rank][i];
      if (std::cmp_greater_equal(i, all_owned[rank].front())) continue;
      ++owners[unknown];
      ++used.at(static_cast<std::size_t>(all_numbers[rank][i]));
    }
  const auto once = [](const std::vector<int>& counts) {
    return std::ranges::all_of(counts, [](int count) { return count == 1; });
  };
  require(once(owners), communicator, of + ": owners are wrong");
  require(one_number && once(used), communicator, of + ": numbers are wrong");
  std::vector<std::int32_t> shared_counts(communicator.size(), 0);
  for (const IndexMap::Neighbour& neighbour : map.neighbours)
    shared_counts[neighbour.rank] = static_cast<std::int32_t>(neighbour.shared.size());
  const auto all = communicator.gathered(shared_counts);
  bool agree = true;
  for (int rank = 0; rank < communicator.size(); ++rank)
    agree = agree && all[rank][communicator.rank()] == shared_counts[rank];
  require(agree, communicator, of + ": neighbours disagree");
}

void check_everything_of(const Communicator& communicator, const Whole& whole, std::span<const std::int32_t> process_of,
                         mesh::MeshPart part, const std::string& of, bool all_operators) {
  const Local local(communicator, whole.small.form, std::move(part));
  check_surface(communicator, whole, process_of, local.subdomain, of);
  check_map(communicator, whole, local, of);
  check_form_product(communicator, whole, local, of);
  check_cg(communicator, whole, local, of);
  check_systems(communicator, whole, local, of);
  for (const OperatorDescription& row : catalogue()) {
    if (!(device == Device::cuda ? row.cuda : row.host()) ||
        (!all_operators && row.name != "csr" && row.name != "pjds" && row.name != "matrix-free"))
      continue;
    check_operator<double>(communicator, row, whole, local, of);
    if (all_operators) check_operator<float>(communicator, row, whole, local, of);
  }
}

void check_everything_of(const Communicator& communicator, const Whole& whole, std::span<const std::int32_t> process_of,
                         const std::string& of, bool all_operators) {
  check_everything_of(communicator, whole, process_of,
                      mesh::DividedMesh(*whole.small.mesh, process_of).part(communicator.rank()), of, all_operators);
}

/// Checks that parts refined by their processes agree with the refined whole, in the same order of cells.
void check_refined(const Communicator& communicator, const SmallForm& coarse, const std::string& of) {
  const std::vector<std::int32_t> process_of = mesh::partition_along_curve(*coarse.mesh, communicator.size());
  mesh::MeshPart part = mesh::DividedMesh(*coarse.mesh, process_of).part(communicator.rank());
  SmallForm fine;
  fine.mesh = std::make_unique<mesh::Mesh>(mesh::refine(mesh::refine(*coarse.mesh)));
  for (int level = 0; level < 2; ++level) part = refined(communicator, part);
  fine.space = std::make_unique<mesh::FunctionSpace>(*fine.mesh, 2);
  fine.form.space = fine.space.get();
  fine.form.quadrature = coarse.form.quadrature;
  fine.form.diffusion.evaluate = [](std::int32_t cell, std::span<const double>, std::span<double> values) {
    std::ranges::fill(values, 1.0 + cell % 5);
  };
  fine.form.unknown_of_dof.assign(fine.space->dof_count(), 0);
  fine.form.unknown_of_dof.front() = -1;
  for (std::int32_t& unknown : fine.form.unknown_of_dof)
    if (unknown >= 0) unknown = fine.form.unknowns++;
  std::vector<std::int32_t> of_fine;
  for (const std::int32_t process : process_of)
    of_fine.insert(of_fine.end(), 1 << 2 * coarse.mesh->dimension(), process);
  check_everything_of(communicator, Whole(std::move(fine)), of_fine, std::move(part), of, false);
}

/// Checks operators made from a matrix that is divided by rows.
void check_matrix(const Communicator& communicator, CsrMatrix<double> matrix, const std::string& of, bool definite) {
  const Product whole(std::move(matrix));
  const LocalRows local(communicator, whole.matrix);
  check_map(communicator, whole, local, of);
  if (definite) {
    check_cg(communicator, whole, local, of);
    check_systems(communicator, whole, local, of);
  }
  for (const OperatorDescription& row : catalogue()) {
    if (row.needs != Needs::matrix || !(device == Device::cuda ? row.cuda : row.host())) continue;
    check_operator<double>(communicator, row, whole, local, of);
    check_operator<float>(communicator, row, whole, local, of);
  }
}

/// Square matrix with the given entries, without zeros.
CsrMatrix<double> matrix_of(std::int32_t n, const std::function<double(std::int32_t, std::int32_t)>& entry) {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j)
      if (const double value = entry(i, j); value != 0) {
        columns.push_back(j);
        values.push_back(value);
      }
    offsets.push_back(std::ssize(columns));
  }
  CsrMatrix<double> matrix;
  matrix.rows = n;
  const auto copy_to = [](const auto& from, auto& to) {
    to = std::remove_reference_t<decltype(to)>(std::ssize(from));
    std::ranges::copy(from, to.data());
  };
  copy_to(offsets, matrix.row_offsets);
  copy_to(columns, matrix.columns);
  copy_to(values, matrix.values);
  return matrix;
}

void check_matrices(const Communicator& communicator) {
  // Columns that one process needs from another without the reverse, rows without entries, and rows without a diagonal.
  const auto scattered = [](std::int32_t i, std::int32_t j) {
    const unsigned mixed = static_cast<unsigned>(i) * 2654435761U ^ static_cast<unsigned>(j) * 40503U * 977U;
    return i % 11 == 5 || mixed % 13 != 0 ? 0.0 : 1.0 + mixed % 97;
  };
  check_matrix(communicator, matrix_of(90, scattered), "scattered matrix", false);
  const auto laplacian = [](std::int32_t i, std::int32_t j) {  // of a grid with 8 columns
    if (i == j) return 4.0;
    const bool next = std::abs(i - j) == 1 && i / 8 == j / 8, above = std::abs(i - j) == 8;
    return next || above ? -1.0 : 0.0;
  };
  check_matrix(communicator, matrix_of(88, laplacian), "Laplacian of a grid", true);
  check_matrix(communicator, matrix_of(2, laplacian), "two rows", true);
  const auto upper = [](std::int32_t i, std::int32_t j) { return i < 10 && j >= i ? 1.0 + i : 0.0; };
  check_matrix(communicator, matrix_of(70, upper), "upper rows", false);
  check_matrix(communicator, matrix_of(30, [](std::int32_t, std::int32_t) { return 0.0; }), "no entries", false);
}

/// A form on two disconnected pieces of a square, each with one constrained dof.
SmallForm two_pieces() {
  const SmallForm box = make_form(CellShape::quadrilateral, 1, {7, 3, 1});
  std::vector<std::int32_t> cells;
  for (std::int32_t cell = 0; cell < box.mesh->cell_count(); ++cell)
    if (cell % 7 != 3) cells.push_back(cell);
  SmallForm small;
  small.mesh = std::make_unique<mesh::Mesh>(mesh::mesh_of_cells(*box.mesh, cells));
  small.space = std::make_unique<mesh::FunctionSpace>(*small.mesh, 2);
  small.form.space = small.space.get();
  small.form.quadrature = 3;
  small.form.diffusion = box.form.diffusion;
  small.form.unknown_of_dof.assign(small.space->dof_count(), 0);
  for (const std::int32_t cell : {0, small.mesh->cell_count() - 1})
    small.form.unknown_of_dof[small.space->dofs(cell)[0]] = -1;
  for (std::int32_t& unknown : small.form.unknown_of_dof)
    if (unknown >= 0) unknown = small.form.unknowns++;
  return small;
}

}  // namespace

int main() {
  const Communicator communicator;
  if (const char* named = std::getenv("FEMCG_TEST_DEVICE"); named != nullptr && std::string_view(named) == "cuda") {
    device = Device::cuda;
    if (!cuda_device_in_use()) return 77;
  }
  const auto along_curve = [&](const Whole& whole) {
    return mesh::partition_along_curve(*whole.small.mesh, communicator.size());
  };
  for (const CellShape shape : mesh::all_cell_shapes) {
    const int n = mesh::dimension(shape) == 2 ? 6 : 3;
    for (const int degree : {1, 3}) {
      const Whole whole(make_form(shape, degree, {n, n - 1, n}));
      check_everything_of(communicator, whole, along_curve(whole),
                          fmt::format("{} of degree {}", mesh::name(shape), degree), true);
    }
  }
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const bool curved : {false, true})
      check_refined(communicator, make_form(shape, 2, {2, 2, 1}, {.curved = curved}),
                    fmt::format("refined {}{}", curved ? "curved " : "", mesh::name(shape)));
  {  // fewer cells than processes, and one cell each, so that all are interface cells
    const Whole two(make_form(CellShape::quadrilateral, 2, {2, 1, 1}));
    check_everything_of(communicator, two, along_curve(two), "two cells", false);
  }
  {  // a process without cells in between, and the last one without
    const Whole whole(make_form(CellShape::quadrilateral, 2, {5, 4, 1}));
    std::vector<std::int32_t> process_of(whole.small.form.cells(), 0);
    for (std::size_t cell = 10; cell < process_of.size(); ++cell) process_of[cell] = communicator.size() > 2 ? 2 : 0;
    check_everything_of(communicator, whole, process_of, "empty processes", false);
  }
  {
    const Whole apart(two_pieces());
    check_everything_of(communicator, apart, along_curve(apart), "two pieces", false);
  }
  {  // cells dealt out cyclically: every process touches every other, most unknowns have many copies
    const Whole whole(make_form(CellShape::triangle, 2, {4, 4, 1}));
    std::vector<std::int32_t> process_of(whole.small.form.cells());
    for (std::size_t cell = 0; cell < process_of.size(); ++cell)
      process_of[cell] = static_cast<std::int32_t>(cell) % communicator.size();
    check_everything_of(communicator, whole, process_of, "dealt cells", false);
  }
  check_matrices(communicator);
  communicator.sum(0.0);
  return failures > 0 ? 1 : 0;
}
