// What lma will take, reckoned without looking at a cell.

#include "operators/bilinear_form.hpp"
#include "operators/lma/lma.hpp"
#include "operators/lma/lma_cuda.hpp"
#include "operators/options.hpp"

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
OperatorBytes bytes_on_host(const Extent<T>& of, Races races) {
  OperatorBytes bytes = bytes_of_element_matrices(of);
  if (races == Races::gather) bytes.unsure = most_bytes_of_gather<T>(*of.form);
  bytes.stored += bytes.unsure;
  return bytes;
}

/// Of the mesh, from which matrices are assembled, and of the diffusion, at most.
std::int64_t bytes_of_geometry(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t numbers_a_cell =
      form.constant_diffusion ? 1 : mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  return static_cast<std::int64_t>(mesh.coordinates.size() * sizeof(double) +
                                   mesh.cell_nodes.size() * sizeof(std::int32_t)) +
         mesh.cell_count() * numbers_a_cell * std::int64_t{sizeof(double)};
}

template <std::floating_point T>
OperatorBytes bytes_on_gpu(const Extent<T>& of, Races races, std::string_view dedup) {
  constexpr std::int64_t group = CellPatches::group, word = sizeof(T), number = sizeof(std::int32_t), run_bytes = 16;
  const BilinearForm& form = *of.form;
  const std::int64_t n = form.dofs_per_cell(), packed_bytes = n * (n + 1) / 2 * word;
  const std::int64_t slots = (form.cells() + group - 1) / group * group;
  const bool in_runs = lma_cell_threads(form.dofs_per_cell()) == CellThreads::one;
  const std::int64_t matrices =
      slots * (in_runs ? (packed_bytes + run_bytes - 1) / run_bytes * run_bytes : packed_bytes);
  // A place a dof, of which the layout wants pairs; a colour; and its share of what there is of a patch.
  const std::int64_t lists = slots * ((n + 1) / 2 * 2 * std::int64_t{sizeof(std::uint16_t)} + 1 + 2);
  // Unknowns of patches are listed once, on the rim twice, and once more as the rim, with an offset and two numbers.
  const std::int64_t unknowns = form.unknowns * number, of_rim = 3 * unknowns + 2 * unknowns;
  const std::int64_t contributions = races == Races::gather ? 2 * form.unknowns * word : 0;
  const bool perhaps_once = dedup != "off";
  OperatorBytes bytes;
  bytes.stored = matrices + lists + unknowns + of_rim + contributions + (perhaps_once ? slots * number : 0);
  bytes.unsure = of_rim + contributions + (perhaps_once ? matrices : 0);
  // The lists of the sum that gives the diagonal; the cell of each matrix.
  bytes.making = bytes_of_geometry(form) + lists + unknowns + of_rim + slots * number;
  bytes.making_on_host = bytes.making;
  return bytes;
}

template <std::floating_point T>
OperatorBytes bytes_of_lma(const Extent<T>& of, Races races, std::string_view name, const Options& given) {
  const std::string_view dedup = value_of(lma_options()[0], name, given);
  return of.device == Device::host ? bytes_on_host(of, races) : bytes_on_gpu(of, races, dedup);
}

}  // namespace

template <std::floating_point T>
OperatorBytes bytes_of_lma_atomic(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, Races::atomic, "lma-atomic", given);
}
template <std::floating_point T>
OperatorBytes bytes_of_lma_coloured(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, Races::coloured, "lma-coloured", given);
}
template <std::floating_point T>
OperatorBytes bytes_of_lma_gather(const Extent<T>& of, const Options& given) {
  return bytes_of_lma(of, Races::gather, "lma-gather", given);
}

template OperatorBytes bytes_of_lma_atomic(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_atomic(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_lma_coloured(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_coloured(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_lma_gather(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_lma_gather(const Extent<float>&, const Options&);

}  // namespace femcg::operators
