#include "solver/prediction/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/catalogue.hpp"
#include "operators/cellwise/cell_loops/fused_cg.hpp"
#include "operators/persistent/row_layout.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "operators/stored/common/padding.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/units.hpp"
#include "solver/preconditioners/multigrid.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/models/input_bytes.hpp"
#include "solver/records/tuning_record.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::CsrMatrix;
using operators::Device;
using operators::MatrixRows;
using operators::Needs;
using operators::OperatorDescription;

namespace {

// Seconds of one thread for making an operator's ingredients, measured on processors with 2 threads and with 16 next to
// a GPU; the threads divide all of this work.
constexpr double a_cell = 0.8e-6;            // per element matrix, of any size
constexpr double a_multiply_add = 1 / 11e9;  // per multiply-add for its entries
constexpr double a_contribution = 8e-9;      // per entry of an element matrix added to the matrix
constexpr double a_listed_dof = 45e-9;       // per cell and dof, while the matrix's rows are counted
constexpr double a_byte_stored = 2e-9;       // per byte of a format, first page faults included
constexpr double a_patched_cell = 0.3e-6;    // per cell in blocks of cells, and per cell and dof there
constexpr double a_patched_dof = 50e-9;

// The same for a GPU, measured on an H200 with 16 threads; "for all": whatever their number.
constexpr double start_of_assembly = 1.5e-3, a_contribution_on_gpu = 2.3e-9;  // for all, with the copy to the host
constexpr double start_of_rows = 0.5e-3, a_byte_to_gpu = 1 / 10e9;            // of a format; for all
constexpr double start_of_patches = 3e-3, a_cell_for_gpu = 0.5e-6, a_dof_for_gpu = 90e-9;
constexpr double a_stored_cell = 0.15e-6,
                 a_stored_product = 0.35e-9;  // of element matrices, with n^2 products; for all

double cell_dofs(const BilinearForm& form) { return static_cast<double>(form.cells()) * form.dofs_per_cell(); }

double seconds_of_element_matrices(const BilinearForm& form, int threads) {
  const mesh::Mesh& mesh = form.space->mesh();
  const double n = form.dofs_per_cell(), points = mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  const double multiply_adds = points * n * (n + 1) / 2 * mesh.dimension();
  return form.cells() * (a_cell + multiply_adds * a_multiply_add) / threads;
}

double seconds_of_assembly(const Needs needs, const BilinearForm& form, Device device, int threads) {
  if (needs == Needs::form) return 0;
  if (needs == Needs::matrix && device == Device::cuda && operators::can_assemble_on_gpu(form))
    return start_of_assembly + cell_dofs(form) * form.dofs_per_cell() * a_contribution_on_gpu;
  double seconds = seconds_of_element_matrices(form, threads);
  if (needs == Needs::matrix)
    seconds += cell_dofs(form) * (a_listed_dof + form.dofs_per_cell() * a_contribution) / threads;
  return seconds;
}

double seconds_of_conversion(const OperatorDescription& row, const PredictionInput& of,
                             const operators::StorageEstimate& estimate, int threads) {
  const auto stored = static_cast<double>(estimate.product.stored_bytes);
  if (row.needs == Needs::matrix) {
    if (of.device == Device::cuda) return start_of_rows + stored * a_byte_to_gpu;
    return estimate.keeps_matrix ? 0 : stored * a_byte_stored / threads;
  }
  const double cells = of.form->cells(), dofs = cell_dofs(*of.form);
  if (of.device == Device::host)
    return (stored * a_byte_stored + cells * a_patched_cell + dofs * a_patched_dof) / threads;
  const double element_matrices = row.needs == Needs::element_matrices
                                      ? cells * a_stored_cell + dofs * of.form->dofs_per_cell() * a_stored_product
                                      : 0;
  return start_of_patches + (cells * a_cell_for_gpu + dofs * a_dof_for_gpu) / threads + element_matrices;
}

/// True if the vector kernels are a library's, one launch after the other.
bool is_library(const OperatorDescription& row) { return row.name.starts_with("cusparse") || row.name == "eigen"; }

/// Size-independent seconds of the vector kernels of an iteration. Block CG's small matrices are processed on the host.
double start_of_passes(const PredictionInput& of, CgMethod together, const Rates& rates) {
  constexpr double on_gpu_launches = 8e-6, block_on_gpu = 65e-6;
  if (of.device == Device::host) return 3 * together_on_host(rates.threads);
  return together == CgMethod::block ? block_on_gpu : on_gpu_launches;
}

/// True if the vector kernels are fused with the product.
bool merges(const PredictionInput& of, const MemoryUser& user, std::int64_t unknowns, int word_bytes) {
  return of.device == Device::host && user.row->host_fuses_cg && user.preconditioner->diagonal &&
         !has_one_sum(user.method) &&
         (of.loop == CgLoop::fused || (of.loop == CgLoop::automatic && operators::fusing_pays(unknowns, word_bytes)));
}

/// Size-dependent seconds of one iteration without its product, for all systems solved at once. Words per unknown as in
/// operators::VectorKernels: three kernels, and M^-1. Block CG has more.
double seconds_of_passes(const PredictionInput& of, const MemoryUser& user, CgMethod together, std::int64_t unknowns,
                         int word_bytes, const Rates& rates) {
  const double at_once = takes_several(together) ? static_cast<double>(of.systems) : 1;
  const double words = is_library(*user.row)                    ? 16
                       : together == CgMethod::block            ? 20
                       : takes_several(together)                ? 11
                       : merges(of, user, unknowns, word_bytes) ? 5
                       : of.device == Device::host              ? 10
                                                                : 9.5;
  const double bytes = at_once * words * word_bytes * static_cast<double>(unknowns);
  // Caches hold about five of the vectors.
  return bytes / rates.reading(5 * bytes / words);
}

/// Seconds of one iteration in a persistent kernel, with constants from H100s. Entries of a matrix in rows are in
/// shared memory as far as they fit, and otherwise come from the L2 cache. Patches of cells exchange contributions.
double seconds_of_persistent_iteration(const MemoryUser& user, const operators::Footprint& cost, double product,
                                       int word_bytes) {
  constexpr double of_rows = 3.6e-6, near_entries = 27e6, near_rate = 1 / 4.3e12, far_rate = 1 / 2.1e12;  // bytes
  constexpr double of_patches = 1e-6, of_product = 1.6;
  if (user.row->needs != Needs::matrix) return of_patches + of_product * product;
  const double bytes = static_cast<double>(cost.nonzeros) * (word_bytes + 2);
  return of_rows + std::min(bytes, near_entries) * near_rate + std::max(0.0, bytes - near_entries) * far_rate;
}

/// True if the windows of x of a persistent kernel's blocks fit into shared memory, on H100s and H200s: they do not if
/// neighbouring rows are far apart, as in files with arbitrary row order. For formats that sort their rows, the
/// kernel's rows follow the mesh too.
template <std::floating_point T>
bool persistent_windows_fit(const PredictionInput& of, const CsrMatrix<T>& offsets, const CsrMatrix<T>* matrix) {
  constexpr std::int64_t multiprocessors = 132, room_bytes = 223 << 10;
  if (offsets.rows == 0 ||
      offsets.rows > multiprocessors * operators::persistent_threads * operators::persistent_rows_per_group)
    return false;
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(offsets.rows));
  for (std::int32_t i = 0; i < offsets.rows; ++i)
    lengths[i] = static_cast<std::int32_t>(offsets.row_offsets[i + 1] - offsets.row_offsets[i]);
  operators::WindowCount windows(operators::lay_out_rows(lengths, {}, multiprocessors), offsets.rows);
  if (of.form != nullptr) {
    for (std::int32_t cell = 0; cell < of.form->cells(); ++cell)
      of.form->for_unknowns(cell, [&](std::int32_t i) {
        of.form->for_unknowns(cell, [&](std::int32_t column) { windows.add(i, column); });
      });
  } else {
    for (std::int32_t i = 0; i < offsets.rows; ++i)
      for (std::int64_t k = offsets.row_offsets[i]; k < offsets.row_offsets[i + 1]; ++k)
        windows.add(i, matrix->columns[k]);
  }
  return operators::persistent_window_fits(windows.widest(), sizeof(T), room_bytes);
}

/// Iterations of all systems, solved one after the other or at once. In block CG the s-th eigenvalue replaces the least
/// one (O'Leary 1980), which is about s^(2/d) times as large (Weyl); CG depends on its square root. With few systems
/// the effect is smaller, with distant sources larger; the exponent is that of 3D, the cautious one.
double iterations_of_all(const PredictionInput& of, CgMethod together) {
  const auto systems = static_cast<double>(of.systems);
  if (together == CgMethod::block) return of.iterations / std::cbrt(systems);
  return takes_several(together) ? of.iterations : of.iterations * systems;
}

/// Seconds of multigrid's cycles, for all systems if it takes them at once: products and smoother kernels (7 words) of
/// the finest level, and the same on levels of lower degree, which have fewer unknowns.
double seconds_of_cycle(const PredictionInput& of, CgMethod together, double level_product, const Rates& rates) {
  constexpr int products = 6;
  const double at_once = takes_several(together) ? static_cast<double>(of.systems) : 1;
  const double bytes = at_once * 7 * sizeof(float) * static_cast<double>(of.form->unknowns);
  double levels = 0;
  for (double degree = of.form->space->degree(); degree >= 1; --degree)
    levels += std::pow(degree / of.form->space->degree(), of.form->space->mesh().dimension());
  return levels * products * (level_product + bytes / rates.reading(bytes));
}

/// Adds the cycles of multigrid to the predictions. Its levels are matrices in single precision, with 4-byte columns,
/// or matrix-free.
void add_cycles(const PredictionInput& of, int word_bytes, const Rates& rates, std::vector<Prediction>& all) {
  const auto matrix_free = std::ranges::find_if(
      all, [](const Prediction& each) { return each.op.name == "matrix-free" && each.possible(); });
  for (Prediction& each : all) {
    if (!each.possible()) continue;
    const MemoryUser user{operators::find_operator(each.op.name),
                          &each.op.options,
                          of.device,
                          of.preconditioner,
                          of.method,
                          of.loop,
                          of.systems};
    const bool of_matrix = fine_operator(of.device, user.systems_at_once(of.form->unknowns)) == "csr";
    const double product = of_matrix || matrix_free == all.end() ? each.product : matrix_free->product;
    const double in_single = of_matrix ? 8.0 / (word_bytes + 4) : static_cast<double>(sizeof(float)) / word_bytes;
    each.preconditioner = seconds_of_cycle(of, user.batched_method(of.form->unknowns), in_single * product, rates);
  }
}

std::string why_no_memory(const PredictionInput& of, const MemoryEstimate& need) {
  const auto lacks = [&](Device device, std::int64_t bytes) { return bytes > 0 && bytes > of.available(device); };
  for (const auto& [device, bytes] : {std::pair{Device::host, need.host_bytes - need.slack_host_bytes},
                                      std::pair{Device::cuda, need.device_bytes - need.slack_device_bytes}})
    if (lacks(device, bytes))
      return fmt::format("it needs about {}, and {} are free", scaled(static_cast<double>(bytes), "B"),
                         scaled(static_cast<double>(of.available(device)), "B"));
  return "";
}

}  // namespace

std::vector<OperatorChoice> all_operators_of(Device device) {
  std::vector<OperatorChoice> all;
  for (const OperatorDescription& row : operators::catalogue())
    if (!row.added && (device == Device::host ? row.host() : row.cuda)) all.push_back({std::string(row.name), {}, {}});
  return all;
}

std::string with_options(const OperatorChoice& op) {
  return op.options.empty() ? op.name : fmt::format("{}, {}", op.name, listed(op.options));
}

template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const MatrixRows<T>* rows, const CsrMatrix<T>* matrix, const Model& model,
                                const Rates& rates) {
  const CsrMatrix<T>* offsets = rows != nullptr ? &rows->offsets() : matrix;
  const std::int64_t longest = offsets != nullptr ? operators::longest_row(*offsets) : 0;
  std::optional<Locality> of_rows, of_cells;
  std::optional<bool> windows_fit;
  std::map<std::int64_t, std::int64_t> levels;  // bytes by systems at once; equal for all but matrix-free
  std::vector<Prediction> all;
  for (const OperatorChoice& op : operators) {
    const OperatorDescription& row = *operators::find_operator(op.name);
    if (row.needs == Needs::matrix ? offsets == nullptr : of.form == nullptr) continue;
    Prediction& made = all.emplace_back();
    made.op = op;
    made.needs = row.needs_on(of.device);
    MemoryUser user{&row, &op.options, of.device, of.preconditioner, of.method, of.loop, of.systems};
    if (of.form != nullptr && row.name != "matrix-free" && of.preconditioner->bytes_of_levels != nullptr) {
      const std::int64_t at_once = user.systems_at_once(of.form->unknowns);
      if (!levels.contains(at_once))
        levels[at_once] = of.preconditioner->bytes_of_levels(of.form, 0, of.device, row.name, at_once);
      user.levels = levels[at_once];
    }
    MemoryEstimate need;
    try {
      check_options(row, op.options);
      need = of.form != nullptr ? need_of_run<T>(user, *of.form, row.needs == Needs::matrix ? rows : nullptr)
                                : need_of_operator<T>(user, nullptr, matrix);
      require_loop(need, user);
    } catch (const std::exception& error) {
      if (!is_refusal(error)) throw;
      made.not_possible = error.what();
      continue;
    }
    const operators::StorageEstimate& estimate = need.of_operator;
    if (estimate.in_chunks) {
      made.not_possible = "its rows would come from the host with each product";
      continue;
    }
    made.stored_bytes = estimate.product.stored_bytes;
    made.not_possible = why_no_memory(of, need);
    if (!made.possible()) continue;
    const auto passing = static_cast<double>(estimate.product.moved_bytes);
    std::optional<Locality>& known = row.needs == Needs::matrix ? of_rows : of_cells;
    if (!known)
      known = of.form != nullptr ? locality(*of.form, sizeof(T), passing, cache_bytes(of.device))
                                 : locality(matrix->row_offsets.span(), matrix->columns.span(), sizeof(T), passing,
                                            cache_bytes(of.device));
    Product product{.row = &row,
                    .options = &op.options,
                    .device = of.device,
                    .word_bytes = sizeof(T),
                    .estimate = &estimate,
                    .form = of.form,
                    .input_bytes = known->input_bytes,
                    .narrow = known->narrow};
    if (row.needs == Needs::matrix) {
      product.row_offsets = offsets->row_offsets.span();
      product.longest_row = longest;
    }
    if (row.needs == Needs::matrix && matrix != nullptr) product.columns = matrix->columns.span();
    if (user.takes_all(product.unknowns())) product.right_hand_sides = static_cast<int>(of.systems);
    const auto seconds = model.seconds(product);
    if (!seconds) {
      made.not_possible = "the model knows nothing of it";
      continue;
    }
    const CorrectionFactors correction = correction_of(product, rates);
    made.product = *seconds;
    const CgMethod together = user.batched_method(product.unknowns());
    made.product_start = model.start(product);
    made.passes_start = start_of_passes(of, together, rates);
    made.iteration =
        *seconds + made.passes_start + seconds_of_passes(of, user, together, product.unknowns(), sizeof(T), rates);
    const bool by_rows = row.needs == Needs::matrix;
    if (need.loop_bytes > 0 && by_rows && of.loop != CgLoop::persistent && !windows_fit)
      windows_fit = persistent_windows_fit(of, *offsets, matrix);
    const bool takes_loop =
        of.loop == CgLoop::persistent || !by_rows ||
        (windows_fit.value_or(false) && operators::persistent_is_faster(estimate.product.nonzeros, sizeof(T)));
    if (need.loop_bytes > 0 && takes_loop) {
      const double persistent = seconds_of_persistent_iteration(user, estimate.product, *seconds, sizeof(T));
      made.persistent = persistent < made.iteration || of.loop == CgLoop::persistent;
      if (made.persistent) made.iteration = persistent;
    }
    made.iteration = correction.iteration * made.iteration;
    made.loops = iterations_of_all(of, together);
    if (of.form != nullptr)
      made.assembly = correction.assembly * seconds_of_assembly(made.needs, *of.form, of.device, rates.threads);
    made.conversion = correction.conversion * seconds_of_conversion(row, of, estimate, rates.threads);
  }
  if (of.form != nullptr && of.preconditioner->name == "multigrid") add_cycles(of, sizeof(T), rates, all);
  return all;
}

template <std::floating_point T>
std::vector<Prediction> predict(const PredictionInput& of, const std::vector<OperatorChoice>& operators,
                                const Model& model, const Rates& rates, std::optional<MatrixRows<T>>& rows) {
  const auto needs_rows = [](const OperatorChoice& op) {
    return operators::find_operator(op.name)->needs == Needs::matrix;
  };
  if (!rows && std::ranges::any_of(operators, needs_rows)) rows.emplace(*of.form, of.device);
  return predict<T>(of, operators, rows ? &*rows : nullptr, nullptr, model, rates);
}

std::string to_text(const std::vector<Prediction>& predictions, const std::string& start) {
  std::vector<const Prediction*> sorted;
  for (const Prediction& each : predictions) sorted.push_back(&each);
  std::ranges::stable_sort(sorted, [](const Prediction* a, const Prediction* b) {
    return std::pair(!a->possible(), a->seconds()) < std::pair(!b->possible(), b->seconds());
  });
  std::string text =
      fmt::format("{}{:<16} {:>9} {:>9} {:>9} {:>9}\n", start, "operator", "product", "iteration", "set-up", "in all");
  for (const Prediction* each : sorted)
    text += each->possible()
                ? fmt::format("{}{:<16} {:>9} {:>9} {:>9} {:>9}\n", start, each->op.name, duration(each->product),
                              duration(each->iteration), duration(each->set_up()), duration(each->seconds()))
                : fmt::format("{}{:<16} cannot be had: {}\n", start, each->op.name, each->not_possible);
  return text;
}

template std::vector<Prediction> predict(const PredictionInput&, const std::vector<OperatorChoice>&,
                                         const MatrixRows<double>*, const CsrMatrix<double>*, const Model&,
                                         const Rates&);
template std::vector<Prediction> predict(const PredictionInput&, const std::vector<OperatorChoice>&,
                                         const MatrixRows<float>*, const CsrMatrix<float>*, const Model&, const Rates&);
template std::vector<Prediction> predict(const PredictionInput&, const std::vector<OperatorChoice>&, const Model&,
                                         const Rates&, std::optional<MatrixRows<double>>&);
template std::vector<Prediction> predict(const PredictionInput&, const std::vector<OperatorChoice>&, const Model&,
                                         const Rates&, std::optional<MatrixRows<float>>&);

}  // namespace femcg::solver
