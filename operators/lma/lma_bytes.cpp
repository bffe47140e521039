// What lma will take, estimated without looking at a cell.

#include "operators/cell_loops/patch_bytes.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/lma/lma.hpp"
#include "operators/lma/lma_cuda.hpp"
#include "operators/lma/lma_inputs.hpp"

namespace femcg::operators {

namespace {

/// For a gather each block has a number of T, and where to find it, for every unknown that it shares; such an unknown
/// has an offset to begin its list at. At most: all unknowns are shared, by the blocks that meet at an edge.
template <std::floating_point T>
std::int64_t most_bytes_of_gather(const BilinearForm& form) {
  constexpr std::int64_t position = sizeof(std::int64_t), word = sizeof(T);
  const std::int64_t blocks = form.space->mesh().dimension() == 2 ? 2 : 4;
  return form.unknowns * (position + blocks * (position + word));
}

template <std::floating_point T>
OperatorBytes bytes_on_host(const Extent<T>& of, ConflictResolution resolution) {
  OperatorBytes bytes = bytes_of_element_matrices(of);
  if (resolution == ConflictResolution::gather) bytes.slack = most_bytes_of_gather<T>(*of.form);
  bytes.stored += bytes.slack;
  return bytes;
}

template <std::floating_point T>
OperatorBytes bytes_on_gpu(const Extent<T>& of, ConflictResolution resolution, Dedup dedup) {
  constexpr std::int64_t number = sizeof(std::int32_t), run_bytes = 16;
  const BilinearForm& form = *of.form;
  const std::int64_t n = form.dofs_per_cell(), packed_bytes = n * (n + 1) / 2 * static_cast<std::int64_t>(sizeof(T));
  const bool in_runs = lma_cell_threads(form.dofs_per_cell()) == CellThreads::one;
  const PatchBytes patches =
      bytes_of_patches(form, in_runs ? PlaceLayout::interleaved : PlaceLayout::cell_major, resolution, sizeof(T));
  const std::int64_t matrices = in_runs ? patches.slots * ((packed_bytes + run_bytes - 1) / run_bytes * run_bytes)
                                        : patches.slots * packed_bytes + run_bytes;
  const bool perhaps_once = dedup != Dedup::off;
  OperatorBytes bytes;
  bytes.stored = matrices + patches.lists + patches.interface + (perhaps_once ? patches.slots * number : 0);
  bytes.slack = patches.interface + (perhaps_once ? matrices : 0);
  // The lists of the sum that gives the diagonal; the cell of each matrix.
  bytes.making = patches.geometry + patches.lists + patches.interface + patches.slots * number;
  bytes.making_on_host = bytes.making;
  if (resolution == ConflictResolution::gather) bytes.resident = patches.resident;
  return bytes;
}

template <std::floating_point T>
OperatorBytes bytes_of_lma(const Extent<T>& of, ConflictResolution resolution, std::string_view name,
                           const Options& given) {
  const LmaChoice choice = chosen_lma(*of.form, of.device, name, given);
  return of.device == Device::host ? bytes_on_host(of, resolution) : bytes_on_gpu(of, resolution, choice.dedup);
}

}  // namespace

template <std::floating_point T>
OperatorBytes bytes_of_lma_atomic(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, ConflictResolution::atomic, "lma-atomic", given);
}
template <std::floating_point T>
OperatorBytes bytes_of_lma_coloured(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, ConflictResolution::coloured, "lma-coloured", given);
}
template <std::floating_point T>
OperatorBytes bytes_of_lma_gather(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, ConflictResolution::gather, "lma-gather", given);
}

template OperatorBytes bytes_of_lma_atomic(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_atomic(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_lma_coloured(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_coloured(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_lma_gather(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_gather(const Extent<float>&, const Options&);

}  // namespace femcg::operators
