#include "solver/fields/recovery.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "operators/catalogue.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/messages/error.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

namespace {

/// Far below any discretisation error, also in a region where the field is small compared with others.
constexpr double tolerance = 1e-12;
constexpr const char* stored_as = "csr";
const operators::Options no_options;

/// The mesh with nodes on interfaces duplicated for every adjacent region, without boundary groups. Empty if no regions
/// meet.
mesh::Mesh cut_between_regions(const mesh::Mesh& mesh) {
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> first_region = mesh::filled(static_cast<std::size_t>(mesh.node_count()), none);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const std::int32_t node : mesh.nodes(cell)) mesh::lower(first_region[node], mesh.cell_regions[cell]);
  // Entries of cell_nodes in another region than the first one of their node.
  const std::vector<std::int64_t> others =
      mesh::collect<std::int64_t>(mesh.cell_count(), [&](std::int64_t cell, std::vector<std::int64_t>& found) {
        const auto nodes = mesh.nodes(static_cast<std::int32_t>(cell));
        for (std::size_t a = 0; a < nodes.size(); ++a)
          if (first_region[nodes[a]] != mesh.cell_regions[cell])
            found.push_back(cell * std::ssize(nodes) + static_cast<std::int64_t>(a));
      });
  if (others.empty()) return {};
  mesh::Mesh cut;
  cut.shape = mesh.shape;
  cut.order = mesh.order;
  cut.coordinates = mesh.coordinates;
  cut.cell_nodes = mesh.cell_nodes;
  cut.box = mesh.box;
  cut.cell_regions = mesh.cell_regions;
  cut.list_nodes();
  cut.region_names = mesh.region_names;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> copies;  // of a node, by (node, region)
  for (const std::int64_t entry : others) {
    std::int32_t& node = cut.cell_nodes[entry];
    const auto [copy, is_new] =
        copies.try_emplace({node, mesh.cell_regions[entry / mesh.nodes_per_cell()]}, cut.node_count());
    if (is_new) {
      if (cut.node_count() == none) throw InputError("the mesh has too many nodes for fields recovered by region");
      for (int i = 0; i < mesh.dimension(); ++i) cut.coordinates.push_back(mesh.point(node)[i]);
    }
    node = copy->second;
  }
  return cut;
}

/// M_e = sum_q w_q |J| phi phi', packed like K_e.
operators::ElementMatrices mass_matrices(const operators::BilinearForm& form) {
  operators::ElementMatrices matrices;
  matrices.dofs = form.dofs_per_cell();
  matrices.values = operators::Vector<double>(form.cells() * matrices.packed_size());
  operators::for_each_cell(form, [&](operators::CellEvaluator& evaluator, std::int32_t cell) {
    const Eigen::MatrixXd& phi = evaluator.values();
    const Eigen::Map<const Eigen::VectorXd> measures(evaluator.measures().data(), evaluator.points());
    const Eigen::MatrixXd mass = phi.transpose() * measures.asDiagonal() * phi;
    double* packed = matrices.values.data() + cell * matrices.packed_size();
    for (int i = 0; i < matrices.dofs; ++i)
      for (int j = 0; j <= i; ++j) *packed++ = mass(i, j);
  });
  return matrices;
}

/// Sets the moments to 0 if one is not finite or all are negligible.
void clear_useless(mesh::Array<double>& moments) {
  double most = 0;
  bool finite = true;
  for (const double moment : moments) {
    finite = finite && std::isfinite(moment);
    most = std::max(most, std::abs(moment));
  }
  if (!finite || most < std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon())
    std::ranges::fill(moments, 0.0);
}

}  // namespace

Recovery::Recovery(const operators::BilinearForm& form) : cut_mesh_(cut_between_regions(form.space->mesh())) {
  if (cut_mesh_.cell_count() > 0) cut_space_ = std::make_unique<mesh::FunctionSpace>(cut_mesh_, form.space->degree());
  form_.space = cut_space_ ? cut_space_.get() : form.space;
  form_.quadrature = form.quadrature;
  form_.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
    std::ranges::fill(values, 1.0);
  };
  form_.diffusion.constant = [](std::int32_t) { return 1.0; };
  form_.unknowns = form_.space->dof_count();
  form_.unknown_of_dof = mesh::unset<std::int32_t>(form_.unknowns);
  std::iota(form_.unknown_of_dof.begin(), form_.unknown_of_dof.end(), 0);
}

MemoryEstimate Recovery::need(int fields) const {
  const MemoryUser user{operators::find_operator(stored_as),
                        &no_options,
                        operators::Device::host,
                        find_preconditioner("jacobi"),
                        CgMethod::batched,
                        CgLoop::automatic,
                        fields};
  const operators::MatrixRows<double> rows(form_);
  return need_of_run<double>(user, form_, &rows);
}

void Recovery::make_operator() {
  operators::Ingredients<double> from;
  from.form = &form_;
  from.matrix =
      std::make_shared<operators::CsrMatrix<double>>(operators::assemble<double>(form_, mass_matrices(form_)));
  mass_ = operators::find_operator(stored_as)->make<double>(from, no_options);
  preconditioner_ = make_preconditioner<double>("jacobi", *mass_);
}

/// Moments, integral of f phi_i, for every dof.
mesh::Array<double> Recovery::moments_of(const Values& field) const {
  return operators::sum_over_cells(
      form_, [&](operators::CellEvaluator& evaluator, std::int32_t cell, std::span<double> sum) {
        Eigen::VectorXd values(evaluator.points());
        field(cell, {values.data(), static_cast<std::size_t>(values.size())});
        values.array() *= Eigen::Map<const Eigen::ArrayXd>(evaluator.measures().data(), values.size());
        Eigen::Map<Eigen::VectorXd>(sum.data(), evaluator.dofs()).noalias() = evaluator.values().transpose() * values;
      });
}

std::vector<std::vector<double>> Recovery::project(std::span<const Values> fields) {
  if (!mass_) make_operator();
  std::vector<int> exponents;
  std::vector<operators::Vector<double>> moments;
  for (const Values& field : fields) {
    mesh::Array<double> of_field = moments_of(field);
    clear_useless(of_field);
    const ScaledLoad scaled = scaled_load(of_field);  // avoids underflow and overflow of squares
    exponents.push_back(scaled.exponent);
    moments.push_back(scaled.rounded<double>(operators::Device::host));
  }
  SystemsCgOptions<double> options;
  options.tolerance = tolerance;
  options.preconditioner = preconditioner_.get();
  std::vector<std::vector<double>> solutions;
  const std::vector<CgResult> results = batched_conjugate_gradients<double>(*mass_, moments, solutions, options);
  for (const CgResult& result : results)
    if (result.reason != StopReason::converged && result.reason != StopReason::stagnated)
      throw MachineError(
          fmt::format("a field could not be recovered: CG with the mass matrix ended as {}", name(result.reason)));
  for (std::size_t i = 0; i < solutions.size(); ++i) scale(solutions[i], -exponents[i]);
  return solutions;
}

}  // namespace femcg::solver
