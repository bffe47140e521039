#include "solver/problem/memory_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "operators/backend/memory.hpp"
#include "operators/backend/multi_vector.hpp"
#include "operators/stored/common/residence.hpp"
#include "operators/stored/common/stored_footprint.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

using operators::Device;
using operators::Needs;

std::int64_t bytes_of_element_matrices(const operators::BilinearForm& form) {
  const std::int64_t n = form.dofs_per_cell();
  return form.cells() * (n * (n + 1) / 2) * std::int64_t{sizeof(double)};
}

/// Upper bound on the unknowns that the threads of a GPU can hold in a persistent kernel (operators::PersistentCg).
constexpr std::int64_t most_persistent_unknowns = std::int64_t{1} << 20;

/// True if an operator with a persistent kernel may use it.
bool may_be_persistent(const MemoryUser& user, std::int64_t unknowns) {
  return user.device == Device::cuda && user.preconditioner->diagonal && takes_one_kernel(user.method) &&
         !user.takes_all(unknowns) && may_be_persistent(user.loop) && unknowns <= most_persistent_unknowns;
}

/// Bytes of CG's vectors on the operator's device and on the host: x, r, p, w, b and the preconditioner's in the
/// working precision; on a GPU also a second p, or for the single-reduction method s and, with M^-1, u (pipelined: n, z
/// and m). On the host the copied load and, in double precision, the solution, its residual and the contributions of
/// cells to it.
struct VectorBytes {
  std::int64_t device, host;
  std::int64_t slack = 0;  ///< on the device: second p, which cuSPARSE's loop lacks, or possibly s and u
};

/// Bytes of M^-1, and of cuBLAS's copy of it in the precision of the vectors.
template <std::floating_point T>
std::int64_t bytes_of_inverse(const MemoryUser& user, std::int64_t unknowns) {
  if (!user.preconditioner->inverts) return 0;
  const bool copied = user.row->name.starts_with("cusparse");
  return unknowns * (std::int64_t{sizeof(float)} + (copied ? std::int64_t{sizeof(T)} : 0));
}

/// Bytes of CG on several systems at once. Per column: x, r, p, w, on a GPU a second p, and z and the vectors of a
/// non-diagonal preconditioner; once more for half of the columns, while active ones are moved; and two single vectors.
/// On the host also, per column, values shared by patches of cells (possibly negligible); on a GPU the cells process
/// the vectors one after the other, through two copies of a group of columns. Block CG has no second p, and drops no
/// columns. On the host the right-hand sides and, in double precision, residuals.
template <std::floating_point T>
VectorBytes bytes_of_columns(const MemoryUser& user, std::int64_t unknowns, const operators::BilinearForm* form) {
  const std::int64_t held = user.preconditioner->vectors, a_vector = unknowns * std::int64_t{sizeof(T)},
                     inverse = bytes_of_inverse<T>(user, unknowns);
  const std::int64_t at_once = std::min<std::int64_t>(user.systems, operators::MultiVector<T>::most);
  const auto stride = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(at_once)));
  const bool block = user.batched_method(unknowns) == CgMethod::block;
  const std::int64_t of_column =
      (user.device == Device::cuda && !block ? 5 : 4) + (user.preconditioner->diagonal ? 0 : held);
  const std::int64_t moved = block ? 0 : of_column * (stride / 2), shared = user.row->needs == Needs::matrix ? 0
                                                                            : user.device == Device::cuda
                                                                                ? 2 * operators::columns_in_a_pass
                                                                                : stride;
  const std::int64_t of_cells = form != nullptr ? std::int64_t{form->cells()} * form->dofs_per_cell() : 0;
  return {(of_column * stride + moved + shared + held + 2) * a_vector + inverse,
          user.systems * unknowns * std::int64_t{sizeof(T) + sizeof(double)} + of_cells * std::int64_t{sizeof(double)},
          (moved + shared) * a_vector};
}

template <std::floating_point T>
VectorBytes bytes_of_vectors(const MemoryUser& user, std::int64_t unknowns, const operators::BilinearForm* form) {
  if (user.takes_all(unknowns)) return bytes_of_columns<T>(user, unknowns, form);
  const std::int64_t held = user.preconditioner->vectors, a_vector = unknowns * std::int64_t{sizeof(T)};
  const std::int64_t solved = user.preconditioner->inverts ? 1 : 0;  // u or m, unless M is I
  const bool single_reduction = user.method == CgMethod::single_reduction || user.loop == CgLoop::persistent;
  const bool pipelined = user.method == CgMethod::pipelined,
             perhaps = !single_reduction && may_be_persistent(user, unknowns);
  const std::int64_t least = (5 + held) * a_vector + bytes_of_inverse<T>(user, unknowns);
  const std::int64_t more = single_reduction || perhaps   ? (1 + solved) * a_vector
                            : pipelined                   ? (3 + solved) * a_vector
                            : user.device == Device::cuda ? a_vector
                                                          : 0;
  const std::int64_t of_cells = form != nullptr ? std::int64_t{form->cells()} * form->dofs_per_cell() : 0;
  return {least + more,
          unknowns * std::int64_t{sizeof(T) + 2 * sizeof(double)} + of_cells * std::int64_t{sizeof(double)},
          single_reduction || pipelined ? 0 : more};
}

void add(MemoryEstimate& need, std::string what, Device device, std::int64_t bytes, std::int64_t slack = 0) {
  if (bytes > 0) need.parts.push_back({std::move(what), device, bytes, slack});
}

/// Sentence with options that need less GPU memory.
std::string way_out(const MemoryUser& user, const operators::BilinearForm* form, bool is_streamed) {
  const bool may_stream = std::ranges::any_of(user.row->options, [](const operators::OptionDescription& option) {
    return option.name == operators::resident_option.name;
  });
  const bool has_matrix = user.row->name != "matrix-free" && form != nullptr;
  std::string ways;
  if (user.row->needs == Needs::matrix && !is_streamed)
    ways = may_stream ? "resident: streamed takes rows from the host's memory"
                      : "operator 'csr' takes rows from the host's memory (resident: streamed)";
  if (has_matrix) ways += fmt::format("{}operator 'matrix-free' stores no matrix", ways.empty() ? "" : ", ");
  return ways;
}

/// Bytes of the operator; on a GPU it may adapt to the free memory.
template <std::floating_point T>
operators::StorageEstimate bytes_of_operator(const MemoryUser& user, const operators::Extent<T>& of) try {
  return user.row->estimate(of, *user.options);
} catch (const operators::OutOfMemory& error) {
  const std::string ways = way_out(user, of.form, true);
  throw operators::OutOfMemory(
      fmt::format("operator '{}': {}{}{}", user.row->name, error.what(), ways.empty() ? "" : "; ", ways));
}

/// Ingredients of an operator: bytes on the host, and true if they remain after it is made.
struct Source {
  std::int64_t bytes;
  bool stays;
};

/// Adds the operator and the vectors.
template <std::floating_point T>
void add_operator(MemoryEstimate& need, const MemoryUser& user, operators::Extent<T> of, Source source) {
  const std::int64_t unknowns = of.form != nullptr ? of.form->unknowns : of.matrix->rows;
  const VectorBytes vectors = bytes_of_vectors<T>(user, unknowns, of.form);
  const std::int64_t levels =
      user.levels ? *user.levels
      : user.preconditioner->bytes_of_levels != nullptr
          ? user.preconditioner->bytes_of_levels(of.form, of.matrix != nullptr ? of.matrix->nonzeros() : 0, user.device,
                                                 user.row->name, user.systems_at_once(unknowns))
          : 0;
  if (user.device == Device::cuda)
    need.reserved_bytes = of.reserved_bytes =
        std::max(vectors.device + levels + user.also_on_device, user.least_reserved);
  const operators::StorageEstimate& bytes = need.of_operator = bytes_of_operator(user, of);
  const std::int64_t stored = bytes.stored();
  need.streamed_bytes = bytes.on_host;
  need.way_out = way_out(user, of.form, bytes.on_host > 0);
  if (!bytes.keeps_matrix) add(need, fmt::format("operator {}", user.row->name), user.device, stored, bytes.slack);
  add(need, "its rows that are streamed", Device::host, bytes.on_host, bytes.slack_on_host);
  add(need, "its conversion, for a moment", user.device, bytes.making);
  add(need, "its conversion, for a moment", Device::host, bytes.making_on_host);
  add(need, "vectors of CG", user.device, vectors.device, vectors.slack);
  add(need, fmt::format("levels of {}", user.preconditioner->name), user.device, levels);
  const std::int64_t persistent = may_be_persistent(user, unknowns) ? bytes.persistent : 0;
  need.loop_bytes = persistent;
  const std::int64_t perhaps = user.loop == CgLoop::persistent ? 0 : persistent;  // this GPU may have too few threads
  add(need, "its persistent kernel", user.device, persistent, perhaps);
  add(need, "load, solution and residual", Device::host, vectors.host);
  const std::int64_t counted = source.stays ? 0 : source.bytes;
  std::int64_t making = counted + bytes.making_on_host + bytes.on_host, solving = vectors.host + bytes.on_host;
  if (user.device == Device::host) {
    making += bytes.making + (bytes.keeps_matrix ? 0 : stored);
    solving += vectors.device + levels + (bytes.keeps_matrix && source.stays ? 0 : stored);
    need.slack_host_bytes = bytes.slack;
  } else {
    need.slack_host_bytes = bytes.slack_on_host;
    const std::int64_t loop = vectors.device + levels + persistent, sure_loop = loop - vectors.slack - perhaps;
    need.device_bytes = stored + std::max(bytes.making, loop);
    need.slack_device_bytes = need.device_bytes - (stored - bytes.slack + std::max(bytes.making, sure_loop));
  }
  need.host_bytes = std::max({need.host_bytes, making, solving});
}

}  // namespace

template <std::floating_point T>
MemoryEstimate need_of_assembly(const operators::BilinearForm& form, const operators::MatrixRows<T>* rows) {
  MemoryEstimate need;
  need.host_bytes = bytes_of_element_matrices(form);
  add(need, "element matrices", Device::host, need.host_bytes);
  if (rows == nullptr) return need;
  const std::int64_t matrix = bytes_of_rows(rows->offsets());
  add(need, fmt::format("matrix of {} nonzeros", grouped(rows->offsets().nonzeros())), Device::host, matrix);
  need.host_bytes += matrix + rows->assembling_bytes();
  return need;
}

template <std::floating_point T>
MemoryEstimate need_of_run(const MemoryUser& user, const operators::BilinearForm& form,
                           const operators::MatrixRows<T>* rows) {
  MemoryEstimate need;
  const Needs needs = user.row->needs_on(user.device);
  if (needs != Needs::form) need = need_of_assembly(form, rows);
  const operators::CsrMatrix<T>* matrix = rows != nullptr ? &rows->offsets() : nullptr;
  const std::int64_t held = matrix != nullptr                  ? bytes_of_rows(*matrix)
                            : needs == Needs::element_matrices ? bytes_of_element_matrices(form)
                                                               : 0;
  add_operator<T>(need, user, {user.device, &form, matrix}, {held, false});
  return need;
}

template <std::floating_point T>
MemoryEstimate need_of_operator(const MemoryUser& user, const operators::BilinearForm* form,
                                const operators::CsrMatrix<T>* matrix) {
  MemoryEstimate need;
  add_operator<T>(need, user, {user.device, form, matrix}, {0, true});
  return need;
}

void require_loop(const MemoryEstimate& need, const MemoryUser& user) {
  if (user.loop == CgLoop::fused && user.device == Device::cuda)
    throw InputError("solver.loop: merged is for CPUs, and this would run on a GPU; leave it out, or use device: cpu");
  if (user.loop == CgLoop::fused && !user.row->host_fuses_cg)
    throw InputError(fmt::format("operator '{}' makes no passes of CG inside its product; use solver.loop: launched",
                                 user.row->name));
  if (user.loop != CgLoop::persistent || need.loop_bytes > 0) return;
  if (user.device == Device::host)
    throw InputError("solver.loop: persistent is for GPUs, and this would run on the CPU; leave it out");
  throw InputError(
      fmt::format("operator '{}', with these options and so many unknowns, has no persistent kernel; use "
                  "solver.loop: launched",
                  user.row->name));
}

void require_memory(const MemoryEstimate& need, const std::string& who) {
  const auto require = [&](Device device, std::int64_t bytes, std::string_view whose) {
    const std::int64_t available = bytes > 0 ? operators::available_bytes(device) : 0;
    if (bytes <= available) return;
    const bool has_way = !need.way_out.empty() && (device == Device::cuda || need.streamed_bytes > 0);
    throw operators::OutOfMemory(fmt::format(
        "{} needs about {} of the {}'s memory, and {} are free{}{}", who, scaled(static_cast<double>(bytes), "B"),
        whose, scaled(static_cast<double>(available), "B"), has_way ? "; " : "", has_way ? need.way_out : ""));
  };
  require(Device::host, need.host_bytes - need.slack_host_bytes, "host");
  require(Device::cuda, need.device_bytes - need.slack_device_bytes, "GPU");
}

std::string to_text(const MemoryEstimate& need, const std::string& start) {
  const auto bytes = [](std::int64_t count) { return scaled(static_cast<double>(count), "B"); };
  std::string text;
  for (const MemoryPart& part : need.parts)
    text += fmt::format("{}{:<30} {:>8} {}{}\n", start, part.what, bytes(part.bytes),
                        part.device == Device::host ? "cpu" : "cuda",
                        part.slack > 0 ? fmt::format(", or down to {}", bytes(part.bytes - part.slack)) : "");
  text += fmt::format("{}{:<30} {:>8} cpu, {} are free\n", start, "the most at one time", bytes(need.host_bytes),
                      bytes(operators::available_bytes(Device::host)));
  if (need.device_bytes > 0)
    text += fmt::format("{}{:<30} {:>8} cuda, {} are free\n", start, "", bytes(need.device_bytes),
                        bytes(operators::available_bytes(Device::cuda)));
  return text;
}

template MemoryEstimate need_of_run(const MemoryUser&, const operators::BilinearForm&,
                                    const operators::MatrixRows<double>*);
template MemoryEstimate need_of_run(const MemoryUser&, const operators::BilinearForm&,
                                    const operators::MatrixRows<float>*);
template MemoryEstimate need_of_operator(const MemoryUser&, const operators::BilinearForm*,
                                         const operators::CsrMatrix<double>*);
template MemoryEstimate need_of_operator(const MemoryUser&, const operators::BilinearForm*,
                                         const operators::CsrMatrix<float>*);
template MemoryEstimate need_of_assembly(const operators::BilinearForm&, const operators::MatrixRows<double>*);
template MemoryEstimate need_of_assembly(const operators::BilinearForm&, const operators::MatrixRows<float>*);

}  // namespace femcg::solver
