// Set-up of streamed compressed rows for the GPU (streamed_rows.cuh); cooperative ones are in csr_cooperative.cu.

#include "operators/stored/csr/streamed_multi_vector.cuh"
#include "operators/stored/csr/streamed_rows.cuh"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "operators/persistent/persistent_rows.cuh"
#include "operators/stored/assembled/shared_columns.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/chunked_operator.cuh"
#include "operators/stored/common/conversion.cuh"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/common/stored_footprint.hpp"
#include "operators/stored/csr/csr.hpp"
#include "operators/stored/csr/csr_launch.hpp"
#include "operators/stored/csr/tiled_rows.hpp"

namespace femcg::operators {

namespace {

using namespace streamed;

/// Mean bank-conflict degree of the row sums over a sample of tiles, where each thread of a warp reads its first
/// product.
template <class T, bool gaps>
double bank_conflicts(std::span<const Tile> tiles, const Vector<std::uint16_t>& ends) {
  constexpr int banks = 128 / sizeof(T), looked_at = 64;  // banks: threads served in one access
  const std::size_t step = std::max<std::size_t>((tiles.size() - 1) / looked_at, 1);
  std::int64_t most = 0, groups = 0;
  for (std::size_t t = 0; t + 1 < tiles.size(); t += step) {
    const int rows = tiles[t + 1].first_row - tiles[t].first_row, group = threads_per_row(rows);
    for (int thread = 0; thread < std::min(rows * group, stream_threads); thread += banks, ++groups) {
      std::array<std::int64_t, banks> in_bank{};
      for (int lane = thread; lane < std::min(thread + banks, rows * group); ++lane) {
        const int row = lane / group;
        const unsigned begin = row > 0 ? ends[tiles[t].first_row + row - 1] : 0;
        ++in_bank[place<T, gaps>(begin + static_cast<unsigned>(lane % group)) % banks];
      }
      most += *std::max_element(in_bank.begin(), in_bank.end());
    }
  }
  return static_cast<double>(most) / static_cast<double>(std::max<std::int64_t>(groups, 1));
}

/// True if gaps between products are worth their instructions. In double precision, whose products are wider, these are
/// hidden.
template <class T>
bool gaps_pay(std::span<const Tile> tiles, const Vector<std::uint16_t>& ends) {
  constexpr double cost = 1.5;
  return sizeof(T) == 8 || cost * bank_conflicts<T, true>(tiles, ends) < bank_conflicts<T, false>(tiles, ends);
}

/// A copy on the GPU, with zeros at the end, so that whole runs can be read.
template <class Value>
Vector<Value> padded(const Vector<Value>& from) {
  Vector<Value> to(from.size() + run_padding, Device::cuda);
  cuda_clear(to.data() + from.size(), run_padding * static_cast<std::int64_t>(sizeof(Value)));
  copy_bytes(from.data(), Device::host, to.data(), Device::cuda, from.bytes());
  return to;
}

/// The matrix by rows, for the persistent kernel.
template <class T, class Number, class Column>
struct CsrByRows {
  using Value = Number;
  std::int32_t rows;
  Rows<Value> entries;
  const Column* columns;
  std::int64_t tiles;
  const Tile* of_tile;

  struct Row {
    std::int64_t begin;
    std::int32_t count, base, number;
  };
  __device__ Row find(std::int32_t row) const {
    std::int64_t low = 0, high = tiles;  // the last tile that begins at or before the row
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (of_tile[middle].first_row <= row ? low : high) = middle;
    }
    const Tile tile = of_tile[low], next = of_tile[low + 1];
    const std::int64_t from = run_begin<T>(tile.first_entry);
    const std::int64_t begin = row == tile.first_row ? tile.first_entry : from + entries.ends[row - 1];
    const std::int64_t end = row + 1 == next.first_row ? next.first_entry : from + entries.ends[row];
    return {begin, static_cast<std::int32_t>(end - begin), tile.base, row};
  }
  __device__ std::int32_t column(const Row& row, std::int32_t k) const { return row.base + columns[row.begin + k]; }
  __device__ Value value(const Row& row, std::int32_t k) const { return entries.values[row.begin + k]; }
};

template <class T, class Value, class Column>
auto kernel_of_tiles(bool gaps, bool with_energy) {
  if (gaps)
    return with_energy ? streamed_kernel<T, Value, Column, true, true> : streamed_kernel<T, Value, Column, true, false>;
  return with_energy ? streamed_kernel<T, Value, Column, false, true> : streamed_kernel<T, Value, Column, false, false>;
}
/// Blocks that the GPU holds concurrently of any of these kernels.
template <class T, class Value>
std::int64_t most_blocks_of_tiles() {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const bool gaps : {false, true})
    most = std::min({most, cuda::resident_blocks(kernel_of_tiles<T, Value, std::uint16_t>(gaps, true), stream_threads),
                     cuda::resident_blocks(kernel_of_tiles<T, Value, std::int32_t>(gaps, true), stream_threads)});
  return most;
}

/// Y = A X; parts_of(resident) provides memory for the energies of a grid of at most `resident` blocks.
template <class T, class Value, class Column, class PartsOf>
void multiply_tiles_by_columns(const Rows<Value>& rows, const Column* columns, std::int64_t tiles, const Tile* of_tile,
                               const MultiVector<T>& x, MultiVector<T>& y, double* energies, const PartsOf& parts_of) {
  with_stride(x.stride(), [&]<int stride>() {
    constexpr auto kernel = streamed_columns_kernel<T, stride, Value, Column>;
    static const std::int64_t resident = cuda::resident_blocks(kernel, stream_threads);
    cuda::launch(kernel, std::min(tiles, resident), stream_threads, 0, rows, columns, tiles, of_tile, x.data(),
                 y.data(), energies, parts_of(resident));
  });
}

/// T: of the vectors, Value: of the matrix.
template <std::floating_point T, std::floating_point Value>
class StreamedCsr final : public Operator<T>, public WithPersistentCg<T> {
 public:
  StreamedCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch)
      : StreamedCsr(matrix, std::move(diagonal), launch, cut_into_tiles<T>(matrix)) {}

  Footprint footprint() const override {
    const std::int64_t bytes = ends_.bytes() + tiles_.bytes() + nonzeros_ * std::int64_t{sizeof(Value)} +
                               nonzeros_ * (narrow_columns_.size() > 0 ? 2 : 4);
    return with_vectors_of<T, Value>(stored_footprint<Value>(this->size(), nonzeros_, nonzeros_, bytes, bytes),
                                     this->size());
  }
  std::map<std::string, std::string> chosen() const override {
    return {{"index", narrow_columns_.size() > 0 ? "16" : "32"}};
  }
  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override {
    return narrow_columns_.size() > 0 ? persistent_with(narrow_columns_.data(), systems)
                                      : persistent_with(columns_.data(), systems);
  }

 private:
  StreamedCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const CsrLaunch& launch, std::vector<Tile> tiles)
      : Operator<T>(matrix.rows, Device::cuda),
        nonzeros_(matrix.nonzeros()),
        values_(padded(matrix.values)),
        diagonal_(std::move(diagonal)),
        blocks_(std::min(static_cast<std::int64_t>(tiles.size()) - 1, most_blocks_of_tiles<T, Value>())),
        parts_(blocks_) {
    const Vector<std::uint16_t> ends = ends_of_rows<T>(matrix, tiles);
    gaps_ = gaps_pay<T>(tiles, ends);
    ends_ = copied(ends, Device::cuda);
    columns_ = padded(matrix.columns);
    if (launch.narrow) narrow(tiles, launch.wide);
    tiles_ = Vector<Tile>(static_cast<std::int64_t>(tiles.size()), Device::cuda);
    copy_bytes(tiles.data(), Device::host, tiles_.data(), Device::cuda, tiles_.bytes());
  }

  /// Sets the tiles' bases and 16-bit columns if they fit; throws std::invalid_argument if they do not and not `wide`.
  void narrow(std::vector<Tile>& tiles, bool wide) {
    Vector<std::int64_t> offsets(static_cast<std::int64_t>(tiles.size()));
    for (std::size_t t = 0; t < tiles.size(); ++t) offsets[static_cast<std::int64_t>(t)] = tiles[t].first_entry;
    NarrowColumns narrow = cuda::narrow_columns(columns_, copied(offsets, Device::cuda), this->size());
    if (narrow.bases.size() == 0) {
      if (!wide) throw columns_do_not_fit();
      return;
    }
    const Vector<std::int32_t> bases = copied(narrow.bases, Device::host);
    for (std::size_t t = 0; t + 1 < tiles.size(); ++t) tiles[t].base = bases[static_cast<std::int64_t>(t)];
    narrow_columns_ = std::move(narrow.columns);
    columns_ = {};
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (narrow_columns_.size() > 0)
      launch_with(narrow_columns_.data(), x, y, energy);
    else
      launch_with(columns_.data(), x, y, energy);
  }
  Rows<Value> rows() const { return {values_.data(), ends_.data()}; }
  template <class Column>
  std::unique_ptr<PersistentCg<T>> persistent_with(const Column* columns, PersistentFor systems) const {
    return cuda::make_persistent_cg<T>(
        CsrByRows<T, Value, Column>{this->size(), rows(), columns, tiles_.size() - 1, tiles_.data()}, nonzeros_,
        systems, [] { return Vector<std::int32_t>(); });
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    narrow_columns_.size() > 0 ? multiply_with(narrow_columns_.data(), x, y, energies)
                               : multiply_with(columns_.data(), x, y, energies);
  }
  template <class Column>
  void multiply_with(const Column* columns, const MultiVector<T>& x, MultiVector<T>& y, double* energies) const {
    multiply_tiles_by_columns(rows(), columns, tiles_.size() - 1, tiles_.data(), x, y, energies,
                              [&](std::int64_t resident) {
                                if (x.stride() != columns_stride_) {
                                  column_parts_ = cuda::ColumnPartsStorage(resident, x.stride());
                                  columns_stride_ = x.stride();
                                }
                                return column_parts_.parts();
                              });
  }
  template <class Column>
  void launch_with(const Column* columns, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    cuda::launch(kernel_of_tiles<T, Value, Column>(gaps_, energy != nullptr), blocks_, stream_threads, 0, rows(),
                 columns, tiles_.size() - 1, tiles_.data(), x.data(), y.data(),
                 energy != nullptr ? energy->data() : nullptr, parts_.parts());
  }
  std::int64_t nonzeros_;
  bool gaps_ = false;  ///< padding between products
  Vector<std::uint16_t> ends_;
  Vector<Value> values_;
  Vector<T> diagonal_;  ///< on the host
  std::int64_t blocks_;
  Vector<Tile> tiles_;
  Vector<std::uint16_t> narrow_columns_;
  Vector<std::int32_t> columns_;
  mutable cuda::PartsStorage<1> parts_;
  mutable int columns_stride_ = 0;  ///< of the last product with a multi-vector
  mutable cuda::ColumnPartsStorage column_parts_;
};

/// Launches of chunks (chunked_operator.cuh).
template <std::floating_point T, std::floating_point Value>
class LaunchesOfTiles {
 public:
  using Format = TiledRows<T, Value>;

  explicit LaunchesOfTiles(const Format& any)
      : gaps_(gaps_pay<T>(any.tiles.span(), any.ends)), most_blocks_(most_blocks_of_tiles<T, Value>()) {}

  void multiply(const Format& chunk, const Vector<T>& x, Vector<T>& y) const {
    with_columns(chunk, [&]<class Column>(const Column* columns) {
      cuda::launch(kernel_of_tiles<T, Value, Column>(gaps_, false), std::min(chunk.tile_count, most_blocks_),
                   stream_threads, 0, rows(chunk), columns, chunk.tile_count, chunk.tiles.data(), x.data(), y.data(),
                   static_cast<double*>(nullptr), cuda::Parts<1>{});
    });
  }
  void multiply_multi_vector(const Format& chunk, const MultiVector<T>& x, MultiVector<T>& y) const {
    with_columns(chunk, [&](const auto* columns) {
      multiply_tiles_by_columns(rows(chunk), columns, chunk.tile_count, chunk.tiles.data(), x, y, nullptr,
                                [](std::int64_t) { return cuda::ColumnParts{}; });
    });
  }

 private:
  static Rows<Value> rows(const Format& chunk) { return {chunk.values.data(), chunk.ends.data()}; }
  template <class Launch>
  static void with_columns(const Format& chunk, const Launch& launch) {
    chunk.is_narrow ? launch(chunk.narrow_columns.data()) : launch(chunk.columns.data());
  }

  bool gaps_;
  std::int64_t most_blocks_;
};

/// True if shared columns make up for the cost of groups of rows. On an H200 they do for hexahedra of degree 4 (a
/// product in the CG loop takes 2/3 of the time), in double precision also of degree 3 (7/8), but not for tetrahedra of
/// degree 4, with rows of 67 nonzeros, nor in two dimensions.
template <class Value>
bool sharing_pays(const CsrMatrix<Value>& matrix) {
  constexpr std::int64_t least_length = 100;
  constexpr double least_sharing = sizeof(Value) == 8 ? 2 : 4;
  return matrix.nonzeros() >= least_length * matrix.rows &&
         column_sharing(matrix.row_offsets.span(), matrix.columns.span()) >= least_sharing;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  const CsrMatrix<T>& matrix = *from.matrix;
  const CsrLaunch launch = chosen_csr_launch(matrix.rows, matrix.nonzeros(), given);
  const auto budget = chosen_csr_budget<T>({Device::cuda, from.form, &matrix, from.reserved_bytes}, given);
  const auto make = [&]<class Value>(const CsrMatrix<Value>& stored) -> std::unique_ptr<Operator<T>> {
    if (budget)
      return std::make_unique<cuda::ChunkedOnGpu<T, TiledRows<T, Value>, LaunchesOfTiles<T, Value>>>(
          stored, diagonal_of(matrix), given, *budget);
    if (launch.product == CsrProduct::cooperative) return make_cooperative_csr(stored, diagonal_of(matrix), launch);
    if (launch.product == CsrProduct::shared_columns ||
        (launch.product == CsrProduct::automatic && sharing_pays(stored)))
      return make_shared_columns_csr(stored, diagonal_of(matrix));
    return std::make_unique<StreamedCsr<T, Value>>(stored, diagonal_of(matrix), launch);
  };
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given)) return make(to_single(matrix));
  return make(matrix);
}

}  // namespace

Makers csr_on_gpu() { return {make<double>, make<float>}; }

}  // namespace femcg::operators
