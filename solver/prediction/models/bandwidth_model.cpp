// Source of the constants. On the GPU: least squares of the relative error over the records of cases/h200 with default
// options (one NVIDIA H200, copies of 4.23 TB/s): about 500 products with 0.01 to 100 million unknowns, half of which
// are predicted within 6% and nine in ten within 20%. Latencies, and the cost of the longest row, which dominates small
// systems, from the unmodified cases of cases/ on an H100, where half of the products are within 8 to 15%. On another
// GPU speeds are assumed proportional to its copy bandwidth. On the processor: least squares over `femcg compare` of
// six cases of cases/ with 600 to 200,000 unknowns, at all degrees and precisions, with two threads of an EPYC, in
// registers of 32 and of 64 bytes: half of the formats are within 6 to 15%, nine in ten within 25 to 45%. Matrix-free
// on quadrilaterals and hexahedra: cube_matrix_free.yaml and papers_square.yaml with a million unknowns, boxes and
// distorted, in registers of 32 bytes, within 35%; on triangles and tetrahedra: 60,000 and 400,000 unknowns, affine or
// with a varying diffusion, in both precisions, within 15%. Entries of K_e for pairs of dofs on the GPU: six products
// of cells of degrees 1 and 2 with 5 to 20 million unknowns on an H200 and an H100, within 15%. Simplices multiplied by
// warps: twelve products with 1.4 to 15.6 million unknowns on an H200, within 20%. Other processors may need other
// constants per nanosecond; femcg predict --train measures the resulting errors.
// nanosecond may be another; femcg predict --train measures what all this is off by.

#include "solver/prediction/models/bandwidth_model.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "mesh/element/quadrature.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Footprint;

namespace {

/// Contributions to the time of a product, as multiples of times that follow from the device's rates.
struct Share {
  std::string_view name = {};
  double bytes = 0;          ///< times the time to move all bytes
  double word_flops = 0;     ///< times the time of all operations on words in registers, half of it in single precision
  double flops = 0;          ///< times the time of all operations, whatever the precision: for addressing
  double rows = 0;           ///< per row: nanoseconds on the processor, picoseconds on the GPU
  double latency = 0;        ///< microseconds, on the GPU
  double without_reuse = 0;  ///< times all bytes without reuse of x and y at gpu_traffic, on the GPU
  double entries = 0;        ///< nanoseconds per entry on the processor, whatever the number of vectors
  double longest = 0;        ///< microseconds per entry of the longest row on the GPU, which few threads process
};

/// Constants of the processor; operations relative to Rates::flops, bytes to Rates::reading.
constexpr std::array host_shares{
    Share{.name = "csr", .bytes = 0.404, .rows = 0.408, .entries = 0.143},
    Share{.name = "ellpack", .bytes = 0.617, .entries = 0.24},
    Share{.name = "ellpack-r", .bytes = 0.335, .entries = 0.36},
    Share{.name = "sell", .bytes = 0.529, .entries = 0.136},
    Share{.name = "pjds", .bytes = 0.681, .entries = 0.11},
    Share{.name = "csr-grouped", .bytes = 1.144, .rows = 9.249, .entries = 0.189},
    Share{.name = "csr-aligned", .bytes = 0.388, .rows = 1.653, .entries = 0.147},
    Share{.name = "ellr-t", .bytes = 0.285, .entries = 0.265},
    Share{.name = "jad", .bytes = 0.994, .rows = 0.079, .entries = 0.196},
    Share{.name = "hyb", .bytes = 1.009, .entries = 0.162},
    Share{.name = "eigen", .bytes = 0.204, .entries = 0.345},
    Share{.name = "csr-bitmask", .bytes = 0.101, .entries = 1.054},
    Share{.name = "lma-atomic", .bytes = 0.51, .word_flops = 1.666},
    Share{.name = "lma-coloured", .bytes = 0.51, .word_flops = 1.666},
    Share{.name = "lma-gather", .bytes = 0.51, .word_flops = 1.666},
    Share{.name = "matrix-free", .bytes = 1, .word_flops = 0.5},
};
/// Nanoseconds of the processor per dof of each cell for gather and scatter-add.
constexpr double host_cell_dof = 0.867, host_cell_dof_of_tensor_cells = 0.65, host_cell_dof_of_simplices = 0.4;
/// matrix-free on simplices: with the factors of all points, or for degree 1; with the reference matrices of affine
/// cells; with the entries of K_e.
constexpr Share simplices_on_host{.bytes = 0.5, .word_flops = 1.45};
constexpr Share affine_simplices_on_host{.bytes = 0.5, .word_flops = 0.8};
constexpr Share pairs_of_simplices_on_host{.bytes = 2.6, .word_flops = 1.3};
/// With several vectors all formats share one loop (multi_vector_by_rows.hpp): nanoseconds per entry and vector.
constexpr double host_entry_of_column = 0.07;

/// Constants of the GPU; operations relative to gpu_flops, at the copy bandwidth of the fit.
constexpr double fitted_bandwidth = 4.23e12, gpu_flops = 1e13, gpu_traffic = 1e13;
constexpr std::array gpu_shares{
    Share{.name = "csr", .bytes = 0.897, .word_flops = 4.06, .rows = 2.19, .latency = 3.5, .longest = 0.015},
    Share{.name = "ellpack", .bytes = 1.121, .latency = 2, .longest = 0.165},
    Share{.name = "ellpack-r", .bytes = 1.08, .latency = 2, .longest = 0.15},
    Share{.name = "sell", .bytes = 0.939, .word_flops = 1.6, .latency = 2, .longest = 0.11},
    Share{.name = "pjds", .bytes = 0.919, .word_flops = 1.91, .latency = 2, .longest = 0.11},
    Share{.name = "csr-grouped", .bytes = 0.723, .flops = 4.34, .rows = 2.61, .latency = 2.5, .longest = 0.08},
    Share{.name = "csr-bitmask",
          .bytes = 1.063,
          .word_flops = 0.452,
          .flops = 0.152,
          .rows = 33.7,
          .latency = 3,
          .longest = 0.045},
    Share{.name = "csr-aligned", .bytes = 1.187, .rows = 23.2, .latency = 3, .longest = 0.03},
    Share{.name = "ellr-t", .bytes = 1.179, .latency = 3.5, .longest = 0.01},
    Share{.name = "jad", .bytes = 0.795, .word_flops = 5.11, .latency = 2, .longest = 0.205},
    Share{.name = "hyb", .bytes = 0.136, .word_flops = 22.4, .latency = 4, .longest = 0.09},
    Share{.name = "cusparse-csr", .bytes = 0.773, .word_flops = 7.7, .rows = 4.39, .latency = 6.5, .longest = 0.01},
    Share{.name = "cusparse-sell", .bytes = 0.975, .word_flops = 0.026, .latency = 2.5, .longest = 0.085},
};
/// Constants for several vectors at once, which use other kernels: of 129 products with 2 to 32 vectors half are within
/// 14%, nine in ten within 32%.
constexpr std::array gpu_shares_of_columns{
    Share{.name = "csr", .bytes = 1.348, .word_flops = 3.776, .latency = 5, .longest = 0.015},
    Share{.name = "csr-grouped", .bytes = 1.044, .word_flops = 2.704, .flops = 0.218, .latency = 5, .longest = 0.08},
    Share{.name = "csr-bitmask",
          .bytes = 0.876,
          .word_flops = 0.696,
          .flops = 0.103,
          .rows = 38.7,
          .latency = 5,
          .longest = 0.045},
};
constexpr double cells_latency = 6.5, colours_latency = 14;  // microseconds; a launch per colour
/// matrix-free launches a kernel for the unknowns of Robin terms, which waits for that of their facets.
constexpr double robin_latency = 4.5;  // microseconds

const Share* find(std::span<const Share> shares, std::string_view name) {
  const auto found = std::ranges::find(shares, name, &Share::name);
  return found != shares.end() ? &*found : nullptr;
}

/// Time of element matrices on the GPU relative to moving all bytes. With few dofs per cell, gathering dominates; the
/// kernels for 35, 64 and 125 dofs wait for shared memory (cases/h200).
double lma_on_gpu(int dofs) {
  if (dofs == 35) return 2.8;
  if (dofs == 64) return 1.75;
  if (dofs == 125) return 1.4;
  return 1.08 + 0.4 / dofs;
}

/// Stored part of the cells' geometry, inferred from the operations per cell; pairs: entries of K_e instead of it.
enum class StoredGeometry { boxes, vertices, affine, points, pairs };

StoredGeometry geometry_of(const Product& product, const Footprint& cost) {
  const mesh::CellShape shape = product.form->space->mesh().shape;
  const double operations = static_cast<double>(cost.flops) / 2 / product.form->cells();
  const double degree = product.form->space->degree(), n = product.form->dofs_per_cell();
  const int d = mesh::dimension(shape);
  const double of_points = static_cast<double>(mesh::cell_quadrature(shape, product.form->quadrature).size()) * d *
                           (d + 1) / 2 * product.word_bytes * product.form->cells();
  // Two operations per pair, unlike any other; cells of an incomplete batch count too.
  if (operations >= n * (n - 1) && operations < 1.2 * n * (n - 1)) return StoredGeometry::pairs;
  if (static_cast<double>(cost.stored_bytes) > of_points) return StoredGeometry::points;
  if (!mesh::is_tensor(shape)) return StoredGeometry::affine;
  if (operations <= (3.0 * d - 2) * (degree + 1) * n) return StoredGeometry::boxes;
  return operations > 4.0 * d * (degree + 1) * n + 2.0 * d * d * n ? StoredGeometry::vertices : StoredGeometry::affine;
}

const Share& share_of_simplices_on_host(const Product& product, const Footprint& cost) {
  const StoredGeometry geometry = geometry_of(product, cost);
  if (geometry == StoredGeometry::pairs) return pairs_of_simplices_on_host;
  return geometry == StoredGeometry::affine && product.form->space->degree() > 1 ? affine_simplices_on_host
                                                                                 : simplices_on_host;
}

/// Constants of matrix-free on the GPU.
Share matrix_free_on_gpu(const Product& product, const Footprint& cost) {
  const bool tensor = mesh::is_tensor(product.form->space->mesh().shape);
  const bool warps = product.word_bytes == 8 && product.form->dofs_per_cell() >= 10;  // by small matrices
  switch (geometry_of(product, cost)) {
    case StoredGeometry::points:
      return tensor  ? Share{.bytes = 0.75, .word_flops = 0.8}
             : warps ? Share{.bytes = 0.85, .word_flops = 0.3}
                     : Share{.bytes = 0.68, .word_flops = 0.57};
    case StoredGeometry::boxes:
      return {.bytes = 0.812, .word_flops = 1.053};
    case StoredGeometry::vertices:
      return product.form->dofs_per_cell() == 27 ? Share{.word_flops = 0.29, .without_reuse = 3.26}  // thread per cell
                                                 : Share{.word_flops = 0.414, .without_reuse = 4.66};
    case StoredGeometry::pairs:
      return {.bytes = 0.6, .without_reuse = 0.93};
    case StoredGeometry::affine:
      break;
  }
  return tensor  ? Share{.bytes = 1.2, .word_flops = 0.75}
         : warps ? Share{.bytes = 2.3, .word_flops = 0.35}
                 : Share{.bytes = 1.479, .word_flops = 0.631};
}

/// True if Robin terms are applied by launches of their own.
bool launches_robin_terms(const Product& product) {
  return product.device == Device::cuda && product.row->needs == operators::Needs::form && !product.form->robin.empty();
}

/// True if the element matrices of congruent cells are stored once.
bool stores_once(const Product& product, const Footprint& cost) {
  const double dofs = product.form->dofs_per_cell();
  return static_cast<double>(cost.stored_bytes) < product.form->cells() * dofs * (dofs + 1) / 2 * product.word_bytes;
}

bool multiplies_cells(const Product& product) { return product.row->needs != operators::Needs::matrix; }

/// Constants of any operator on the GPU.
Share gpu_share(const Product& product, const Footprint& cost) {
  if (product.row->needs == operators::Needs::element_matrices) {
    const double coloured = product.row->name == "lma-coloured" ? 1.12 : 1;  // a launch per colour
    Share share = stores_once(product, cost) ? Share{.word_flops = 0.881, .without_reuse = 1.86}
                                             : Share{.bytes = coloured * lma_on_gpu(product.form->dofs_per_cell())};
    share.latency = cells_latency + (product.row->name == "lma-coloured" ? colours_latency : 0);
    return share;
  }
  if (multiplies_cells(product)) {
    Share share = matrix_free_on_gpu(product, cost);
    share.latency = cells_latency;
    return share;
  }
  const Share* of_multi_vector =
      product.right_hand_sides > 1 ? find(gpu_shares_of_columns, product.row->name) : nullptr;
  return of_multi_vector != nullptr ? *of_multi_vector : *find(gpu_shares, product.row->name);
}

}  // namespace

double fetched_by_ellpack_r(std::span<const std::int64_t> row_offsets, int word_bytes) {
  constexpr std::int64_t line = 64;
  const std::int64_t rows = std::ssize(row_offsets) - 1;
  const auto fetched = [&](std::int64_t size) {
    const std::int64_t together = line / size;
    std::int64_t entries = 0;
    for (std::int64_t first = 0; first < rows; first += together) {
      std::int64_t longest = 0;
      for (std::int64_t row = first; row < std::min(rows, first + together); ++row)
        longest = std::max(longest, row_offsets[row + 1] - row_offsets[row]);
      entries += longest * together;
    }
    return static_cast<double>(entries * size);
  };
  return fetched(word_bytes) + fetched(4) + 4.0 * static_cast<double>(rows);
}

double BandwidthModel::host_seconds(const Product& product, const Footprint& cost) const {
  const bool cells = multiplies_cells(product);
  const bool tensor = cells && mesh::is_tensor(product.form->space->mesh().shape);
  const Share* share = find(host_shares, product.row->name);
  const bool form = cells && product.row->needs == operators::Needs::form;
  if (form && !tensor) share = &share_of_simplices_on_host(product, cost);
  // Padded rows are processed up to the length of the longest.
  const bool pads = product.row->name.starts_with("ell");
  const bool by_columns = product.row->gains_from_multi_vectors(product.device);
  const double columns = by_columns ? product.right_hand_sides : 1;
  const double vectors = 2.0 * columns * product.word_bytes * static_cast<double>(product.unknowns());
  const double bytes = pads ? static_cast<double>(cost.stored_bytes) + vectors : static_cast<double>(cost.moved_bytes);
  const double flops = static_cast<double>(cost.flops);
  const bool one_loop = !cells && product.right_hand_sides > 1;
  const double nanoseconds = share->rows * static_cast<double>(product.unknowns()) +
                             share->entries * static_cast<double>(cost.nonzeros) +
                             (one_loop ? host_entry_of_column / 2 * flops : 0);
  const bool alone = !cells && product.unknowns() <= operators::rows_per_block;  // a single thread starts no others
  double seconds = together_on_host(alone ? 1 : rates_.threads) + share->bytes * bytes / rates_.reading(bytes) +
                   share->word_flops * product.word_bytes / 8 * flops / rates_.flops +
                   1e-9 * nanoseconds * 2 / rates_.threads;
  if (cells) {
    const double dofs = columns * static_cast<double>(product.form->cells()) * product.form->dofs_per_cell();
    const double of_dof = !form ? host_cell_dof : tensor ? host_cell_dof_of_tensor_cells : host_cell_dof_of_simplices;
    seconds += 1e-9 * of_dof * dofs * 2 / rates_.threads;
  }
  return seconds;
}

double BandwidthModel::gpu_seconds(const Product& product, const Footprint& cost) const {
  const double faster = rates_.copy_bandwidth / fitted_bandwidth;
  double bytes = static_cast<double>(cost.moved_bytes);
  const Share share = gpu_share(product, cost);
  if (product.row->name == "ellpack-r")
    bytes += fetched_by_ellpack_r(product.row_offsets, product.word_bytes) -
             static_cast<double>(cost.nonzeros * (product.word_bytes + 4));
  const double alone = share.longest * static_cast<double>(product.longest_row) * (product.word_bytes == 8 ? 1 : 0.75);
  const double together = share.bytes * bytes / rates_.copy_bandwidth +
                          (share.word_flops * product.word_bytes / 8 + share.flops) * static_cast<double>(cost.flops) /
                              (gpu_flops * faster) +
                          share.without_reuse * static_cast<double>(cost.effective_bytes) / (gpu_traffic * faster) +
                          1e-12 * share.rows * static_cast<double>(product.unknowns()) / faster;
  return 1e-6 * share.latency + std::max(together, 1e-6 * alone);
}

std::optional<double> BandwidthModel::seconds(const Product& product) const {
  const bool on_host = product.device == Device::host;
  if (rates_.copy_bandwidth <= 0 || product.device != rates_.device) return std::nullopt;
  const bool known = multiplies_cells(product) ||
                     find(on_host ? std::span<const Share>(host_shares) : gpu_shares, product.row->name) != nullptr;
  if (!known) return std::nullopt;
  Footprint cost = product.estimate->product;
  if (product.narrow) cost.moved_bytes -= product.estimate->narrow_saves;
  const std::int64_t a_vector = product.unknowns() * product.word_bytes;
  cost.moved_bytes += std::max<std::int64_t>(0, static_cast<std::int64_t>(product.input_bytes) - a_vector);
  int times = 1;
  if (product.right_hand_sides > 1 && product.row->gains_from_multi_vectors(product.device))
    cost = cost.of_multi_vector(product.right_hand_sides, a_vector);
  else
    times = product.right_hand_sides;
  const double robin = launches_robin_terms(product) ? 1e-6 * robin_latency : 0;
  return times * (robin + correction_of(product, rates_).product *
                              (on_host ? host_seconds(product, cost) : gpu_seconds(product, cost)));
}

double BandwidthModel::start(const Product& product) const {
  if (product.device == Device::host) return together_on_host(rates_.threads);
  return 1e-6 * gpu_share(product, product.estimate->product).latency;
}

CorrectionKey correction_key(const Product& product) {
  CorrectionKey key{std::string(product.row->name), product.form->space->mesh().shape, product.form->space->degree(),
                    product.word_bytes};
  const Footprint& cost = product.estimate->product;
  constexpr std::array names{"boxes", "vertices", "affine", "points", "pairs"};
  if (product.row->needs == operators::Needs::element_matrices)
    key.geometry = stores_once(product, cost) ? "once" : "each";
  if (product.row->needs == operators::Needs::form)
    key.geometry = names[static_cast<std::size_t>(geometry_of(product, cost))];
  return key;
}

CorrectionFactors correction_of(const Product& product, const Rates& rates) {
  if (rates.calibration.empty() || product.form == nullptr || !product.options->empty() || product.right_hand_sides > 1)
    return {};
  return rates.calibration.at(correction_key(product), static_cast<double>(product.unknowns()));
}

}  // namespace femcg::solver
