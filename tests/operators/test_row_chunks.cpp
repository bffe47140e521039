// A stored matrix in chunks of rows: rows, sizes and layout. All of this is done on the host, although only a GPU
// multiplies with it; without a GPU each chunk is multiplied from its layout.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "operators/backend/cuda_graph.hpp"
#include "operators/stored/common/row_chunks.hpp"
#include "operators/stored/csr/tiled_rows.hpp"
#include "operators/stored/csr_aligned/csr_aligned.hpp"
#include "operators/stored/csr_grouped/grouped_chunk.hpp"
#include "operators/stored/ellpack/ellpack.hpp"
#include "operators/stored/ellr_t/ellr_t.hpp"
#include "operators/stored/hyb/hyb.hpp"
#include "operators/stored/jad/jad.hpp"
#include "operators/stored/sell/sell_rows.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/records/record.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"
#include "tests/stored_formats.hpp"

namespace {

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;

constexpr ChunkBudget endless{.bytes = std::int64_t{1} << 50, .least_streamed = chunk_buffers};

/// Integers, so that sums are exact in any order: rows of 0 to 40 entries near the diagonal and one far away, every
/// seventh row empty, and many empty rows at the end.
template <class T>
tests::SharedMatrix<T> whole_numbers(std::int32_t rows, std::int32_t tail, std::int32_t width) {
  std::mt19937 random(17);
  tests::Rows<T> all(static_cast<std::size_t>(rows + tail));
  for (std::int32_t i = 0; i < rows; ++i) {
    if (i % 7 == 3) continue;
    const auto count = static_cast<std::int32_t>(random() % 40);
    std::map<std::int32_t, T> row;
    for (std::int32_t k = 0; k < count; ++k)
      row[(i + static_cast<std::int32_t>(random() % width)) % (rows + tail)] = T(random() % 9) - 4;
    row[i] = 5;
    all[static_cast<std::size_t>(i)].assign(row.begin(), row.end());
  }
  return tests::compress(all);
}

template <class T>
Vector<T> small_numbers(std::int64_t size) {
  Vector<T> x(size);
  for (std::int64_t i = 0; i < size; ++i) x[i] = static_cast<T>(i * i % 7 - 3);
  return x;
}

/// y = A x for a format with access by rows.
template <class ByRows, class T>
void multiply_by_rows(const ByRows& a, const T* x, T* y) {
  for (std::int32_t position = 0; position < a.rows; ++position) {
    const auto row = a.find(position);
    T sum = 0;
    for (std::int32_t k = 0; k < row.count; ++k) sum += static_cast<T>(a.value(row, k)) * x[a.column(row, k)];
    y[row.number] = sum;
  }
}
template <class Format, class T>
void multiply(const Format& format, const T* x, T* y, std::int32_t) {
  multiply_by_rows(format.by_rows(), x, y);
}
template <class T>
void multiply(const SellRows<T>& format, const T* x, T* y, std::int32_t columns) {
  if (!format.is_narrow) return multiply_by_rows(sell_by_rows(format.a, format.a.columns.data(), nullptr), x, y);
  for (std::int64_t slice = 0; slice < format.a.chunks(); ++slice)
    CHECK(std::min(columns, format.bases[slice] + 65536) <= columns);
  multiply_by_rows(sell_by_rows(format.a, format.narrow_columns.data(), format.bases.data()), x, y);
}
/// y = A x, reading tiles as streamed_rows.cuh does.
template <class T, class Value>
void multiply(const TiledRows<T, Value>& a, const T* x, T* y, std::int32_t columns) {
  for (std::int64_t t = 0; t < a.tile_count; ++t) {
    const streamed::Tile tile = a.tiles[t], next = a.tiles[t + 1];
    if (a.is_narrow)
      CHECK(std::min(columns, tile.base + 65536) <= columns);
    else
      CHECK(tile.base == 0);
    const std::int64_t from = streamed::run_begin<T>(tile.first_entry);
    for (std::int32_t row = tile.first_row; row < next.first_row; ++row) {
      const bool is_long = next.first_entry - tile.first_entry > streamed::tile<T>;
      const std::int64_t begin = row == tile.first_row ? tile.first_entry : from + a.ends[row - 1];
      const std::int64_t end = is_long ? next.first_entry : from + a.ends[row];
      T sum = 0;
      for (std::int64_t k = begin; k < end; ++k)
        sum += static_cast<T>(a.values[k]) * x[tile.base + (a.is_narrow ? a.narrow_columns[k] : a.columns[k])];
      y[row] = sum;
    }
  }
  for (std::int64_t k = a.nonzeros; k < a.nonzeros + streamed::run_padding; ++k) CHECK(a.values[k] == 0);
}

/// y = A x as described in grouped_matrix.hpp.
template <class T, class Value>
void multiply(const GroupedChunk<Value>& format, const T* x, T* y, std::int32_t) {
  format.a.with_pointers([&](const auto& a) {
    for (std::int64_t number = 0; number < a.slice_count(); ++number) {
      const GroupedSlice& slice = a.slices[number];
      const int lists = std::popcount(slice.first_lanes);
      int list = -1;
      for (int lane = 0; lane < rows_per_slice; ++lane) {
        list += static_cast<int>(slice.first_lanes >> lane & 1);
        const std::int64_t position = number * rows_per_slice + lane;
        if (position >= a.rows) continue;
        T sum = 0;
        std::int64_t run = -1;
        for (int k = 0; k < slice.slots; ++k) {
          const std::uint32_t mask = a.masks[slice.first_mask + k / slots_per_mask * lists + list];
          run += mask >> k % slots_per_mask & 1;
          const std::int64_t column =
              k + slice.base + static_cast<std::int32_t>(a.starts[slice.first_start + run * lists + list]);
          sum += static_cast<T>(a.values[(slice.first_slot + k) * rows_per_slice + lane]) * x[column];
        }
        y[a.row_at(position)] = sum;
      }
    }
  });
}

/// Fills every chunk in uninitialised memory, copies it to where a product reads it, and multiplies.
template <class T, class Format>
void check_chunks(const CsrMatrix<typename Format::Value>& matrix, const Options& given, const ChunkBudget& budget) {
  RowChunks<Format> chunks(matrix, given, budget);
  const StorageEstimate before = estimate_of(chunks);
  chunks.look_at_entries();
  const StorageEstimate after = estimate_of(chunks);
  CHECK(after.stored() <= budget.bytes);
  CHECK(after.on_host <= before.on_host);
  CHECK(static_cast<std::int64_t>(chunks.streamed()) >=
        std::min<std::int64_t>(budget.least_streamed, std::ssize(matrix.row_offsets.span()) > 1));
  const Vector<T> x = small_numbers<T>(matrix.rows);
  Vector<T> y = tests::poisoned<T>(matrix.rows);
  std::int32_t next = 0;
  std::int64_t on_gpu = 0, on_host = 0;
  for (std::size_t i = 0; i < chunks.count(); ++i) {
    const RowRange range = chunks.range(i);
    REQUIRE(range.first == next);
    REQUIRE((range.last == matrix.rows || range.last % chunk_row_multiple == 0));
    REQUIRE(range.bytes == bytes_of_layout(chunks.format(i)));
    next = range.last;
    (range.on_gpu ? on_gpu : on_host) += range.bytes;
    if (!range.on_gpu) CHECK(range.bytes <= chunks.plan().buffer_bytes);
    Vector<char> pinned(range.bytes), buffer(range.bytes);
    std::memset(pinned.data(), 0x7f, static_cast<std::size_t>(range.bytes));
    chunks.fill(i, pinned.data());
    std::memcpy(buffer.data(), pinned.data(), static_cast<std::size_t>(range.bytes));
    std::memset(pinned.data(), 0x7f, static_cast<std::size_t>(range.bytes));
    chunks.place(i, buffer.data(), Device::host);
    multiply(chunks.format(i), x.data(), y.data() + range.first, matrix.rows);
  }
  CHECK(next == matrix.rows);
  CHECK(on_gpu == chunks.plan().gpu_bytes);
  CHECK(on_host == chunks.plan().host_bytes);
  std::int32_t wrong = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    T sum = 0;
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      sum += static_cast<T>(matrix.values[k]) * x[matrix.columns[k]];
    wrong += y[row] == sum ? 0 : 1;
  }
  CHECK(wrong == 0);
  const Footprint footprint = footprint_of<T>(chunks, matrix.rows);
  CHECK(footprint.nonzeros == matrix.nonzeros());
  CHECK(footprint.link_bytes == on_host);
  CHECK(footprint.host_bytes == on_host);
  CHECK(footprint.stored_bytes == after.stored() + after.on_host);
}

/// A matrix with short and long, near and far rows: column 200000 exceeds 16 bits. Made once.
template <class T>
const tests::SharedMatrix<T>& large_matrix(std::int32_t tail, std::int32_t width) {
  static std::map<std::pair<std::int32_t, std::int32_t>, tests::SharedMatrix<T>> made;
  tests::SharedMatrix<T>& matrix = made[{tail, width}];
  if (matrix == nullptr) matrix = whole_numbers<T>(width > 300 ? 70001 : 10007, tail, width);
  return matrix;
}

template <class T, class Format>
void check_format(const Options& given) {
  for (const std::int32_t tail : {0, 20000})
    for (const std::int32_t width : {300, 200000}) {
      CAPTURE(tail);
      CAPTURE(width);
      const auto& matrix = large_matrix<typename Format::Value>(tail, width);
      check_chunks<T, Format>(*matrix, given, endless);
      const std::int64_t all = estimate_of(RowChunks<Format>(*matrix, given, {endless.bytes, 0})).stored();
      check_chunks<T, Format>(*matrix, given, {all / 2, 0});
      check_chunks<T, Format>(*matrix, given, {all / 4, chunk_buffers});
    }
}

}  // namespace

TEST_CASE_TEMPLATE("chunks of rows hold the matrix: formats that store one", T, double, float) {
  check_format<T, Ellpack<T>>({});
  check_format<T, EllpackR<T>>({});
  check_format<T, AlignedRows<T>>({});
  check_format<T, JaggedDiagonals<T>>({});
  for (const char* threads : {"auto", "1", "8"}) check_format<T, EllrT<T>>({{"T", threads}});
  for (const char* width : {"auto", "0", "100"}) check_format<T, Hyb<T>>({{"width", width}});
}

TEST_CASE_TEMPLATE(
    "chunks of rows hold the matrix: csr, sell and csr-grouped, columns of 16 and 32 bits, rounded values", T, double,
    float) {
  for (const char* index : {"auto", "32"}) {
    CAPTURE(std::string(index));
    check_format<T, TiledRows<T>>({{"index", index}});
    check_format<T, TiledRows<T, float>>({{"index", index}});
    for (const char* sigma : {"auto", "1", "256", "all"})
      check_format<T, SellRows<T>>({{"index", index}, {"sigma", sigma}});
    check_format<T, GroupedChunk<T>>({{"index", index}});
    for (const char* slice : {"4", "128"}) check_format<T, SellRows<T>>({{"index", index}, {"C", slice}});
  }
}

TEST_CASE("columns have 16 bits in the chunks where they reach, and must in all where that is insisted on") {
  const auto near = whole_numbers<double>(10007, 0, 300), far = whole_numbers<double>(150000, 0, 150000);
  const auto of = [](const CsrMatrix<double>& matrix, const char* index, auto format) {
    RowChunks<decltype(format)> chunks(matrix, {{"index", index}}, endless);
    chunks.look_at_entries();
    return chosen_of(chunks).at("index");
  };
  const CsrMatrix<double> none;
  const auto check = [&](const auto& make) {
    CHECK(of(*near, "16", make()) == "16");
    CHECK(of(*near, "auto", make()) == "16");
    CHECK(of(*near, "32", make()) == "32");
    CHECK(of(*far, "auto", make()) == "32");
    CHECK_THROWS_WITH_AS(of(*far, "16", make()), doctest::Contains("16-bit columns do not fit"), std::invalid_argument);
  };
  CsrMatrix<double> empty;
  empty.row_offsets = Vector<std::int64_t>(1);
  empty.row_offsets[0] = 0;
  check([&] { return TiledRows<double>(empty, Device::cuda, {}); });
  check([&] { return SellRows<double>(empty, Device::cuda, {}); });
  check([&] { return GroupedChunk<double>(empty, Device::cuda, {}); });
}

TEST_CASE("cuts are at multiples of 256 rows and near the target, and a chunk has one multiple at least") {
  const auto bytes_before = [](std::int64_t row) { return 100 * row; };
  const std::vector<RowRange> ranges = cut_rows(10000, 128000, bytes_before);
  REQUIRE(ranges.size() == 8);
  for (std::size_t i = 0; i < 7; ++i) CHECK(ranges[i].last - ranges[i].first == 1280);
  CHECK(ranges.back().last == 10000);
  CHECK(cut_rows(1000, 1, bytes_before).size() == 4);
  CHECK(cut_rows(0, 1, bytes_before).empty());
}

TEST_CASE("as many chunks stay as fit beside two buffers, none but all where all fit") {
  const auto of = [](std::int64_t bytes, std::int64_t least_streamed) {
    std::vector<RowRange> chunks;
    for (std::int32_t i = 0; i < 10; ++i) chunks.push_back({i, i + 1, i == 9 ? 1200 : 1000});
    const ChunkPlan plan = place_chunks(chunks, {bytes, least_streamed});
    std::int64_t staying = 0;
    for (const RowRange& chunk : chunks) staying += chunk.on_gpu ? 1 : 0;
    return std::tuple(plan.gpu_bytes, plan.host_bytes, plan.buffer_bytes, staying);
  };
  CHECK(of(10200, 0) == std::tuple(10200, 0, 0, 10));
  CHECK(of(10199, 0) == std::tuple(7000, 3200, 1200, 7));
  CHECK(of(1 << 20, 2) == std::tuple(8000, 2200, 1200, 8));  // two chunks are streamed all the same
  CHECK(of(2400, 0) == std::tuple(0, 10200, 1200, 0));
  CHECK_THROWS_WITH_AS(of(2399, 0), doctest::Contains("rows streamed from the host need 0.0024 MB of the GPU"),
                       OutOfMemory);
  std::vector<RowRange> nothing{{0, 256, 0}, {256, 300, 0}};
  CHECK(place_chunks(nothing, {.bytes = 1 << 20, .least_streamed = 2}).buffer_bytes == 0);
  CHECK(std::ranges::all_of(nothing, &RowRange::on_gpu));
  std::vector<RowRange> empty_after{{0, 256, 3000}, {256, 512, 0}, {512, 600, 0}};
  CHECK(place_chunks(empty_after, {.bytes = 1 << 20, .least_streamed = 2}).buffer_bytes > 0);
  std::vector<RowRange> chunks{{0, 1, 1000}};
  CHECK_THROWS_WITH_AS(place_chunks(chunks, {.bytes = 10, .least_streamed = 0, .is_asked_for = true}),
                       doctest::Contains("MB are left of option 'gpu_memory'"), std::invalid_argument);
}

TEST_CASE("options: bytes as people write them, what does not go together, nothing of it on the processor") {
  CHECK(parse_bytes("2e9") == 2000000000);
  CHECK(parse_bytes("123456789012") == 123456789012);
  CHECK_FALSE(parse_bytes("0").has_value());
  CHECK_FALSE(parse_bytes("2GB").has_value());
  CHECK_FALSE(parse_bytes("-1").has_value());
  CHECK_FALSE(parse_bytes("nan").has_value());
  CHECK_FALSE(parse_bytes("1e300").has_value());
  CHECK(chosen_residence("csr", Device::cuda, {}).where == Residence::Where::automatic);
  CHECK(chosen_residence("csr", Device::cuda, {{"gpu_memory", "1e6"}}).limit == 1000000);
  CHECK_THROWS_WITH_AS(chosen_residence("csr", Device::cuda, {{"resident", "all"}, {"gpu_memory", "1e6"}}),
                       doctest::Contains("'gpu_memory' of operator 'csr' is for resident: auto or streamed"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(chosen_residence("jad", Device::host, {{"resident", "streamed"}}),
                       doctest::Contains("option 'resident' of operator 'jad' is for the GPU"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(chosen_residence("jad", Device::host, {{"gpu_memory", "1e6"}}),
                       doctest::Contains("option 'gpu_memory' of operator 'jad' is for the GPU"),
                       std::invalid_argument);
}

TEST_CASE("every stored format that can be cut has the options, and refuses them on the processor") {
  const auto matrix = whole_numbers<double>(100, 0, 50);
  for (const char* name : {"csr", "sell", "ellpack", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned", "csr-grouped"})
    for (const auto& [option, value] : Options{{"resident", "streamed"}, {"gpu_memory", "1e6"}}) {
      CAPTURE(std::string(name));
      const tests::Format format{name, {{option, value}}};
      CHECK_NOTHROW(check_options(*find_operator(name), format.options));
      CHECK_THROWS_WITH_AS(format(matrix), doctest::Contains("is for the GPU; on the CPU all is in the host's memory"),
                           std::invalid_argument);
      CHECK_THROWS_AS(find_operator(name)->estimate<double>({Device::host, nullptr, matrix.get()}, format.options),
                      std::invalid_argument);
    }
  CHECK_THROWS_WITH_AS(check_options(*find_operator("pjds"), {{"resident", "streamed"}}),
                       doctest::Contains("operator 'pjds' has no option 'resident'"), std::invalid_argument);
}

TEST_CASE("csr has rows streamed from the host with each row's own columns only") {
  const auto matrix = whole_numbers<double>(1000, 0, 50);
  const auto estimate = [&](Options options) {
    return find_operator("csr")->estimate<double>({Device::cuda, nullptr, matrix.get()}, options);
  };
  CHECK_THROWS_WITH_AS(estimate({{"resident", "streamed"}, {"rule", "2012"}}),
                       doctest::Contains("only with rule: 2026 and each row's own columns"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(estimate({{"resident", "streamed"}, {"columns", "shared"}}),
                       doctest::Contains("only with rule: 2026 and each row's own columns"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(estimate({{"gpu_memory", "1e9"}, {"coop", "2"}}),
                       doctest::Contains("'gpu_memory' only with rule: 2026"), std::invalid_argument);
  CHECK(estimate({{"rule", "2012"}}).on_host == 0);
}

TEST_CASE("what fits stays whole, what does not takes the limit and the host: matrix, vectors, buffers") {
  const auto small = tests::make_form(mesh::CellShape::quadrilateral, 2, {150, 150, 1});
  const MatrixRows<double> rows(small.form);
  const std::int64_t matrix = 12 * rows.offsets().nonzeros();
  const auto need = [&](const char* name, const Options& options, std::int64_t systems = 1) {
    solver::MemoryUser user{find_operator(name), &options, Device::cuda, solver::find_preconditioner("jacobi")};
    user.systems = systems;
    if (systems > 1) user.method = solver::CgMethod::batched;
    return solver::need_of_operator(user, &small.form, &rows.offsets());
  };
  for (const char* name : {"csr", "sell", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned", "csr-grouped"}) {
    CAPTURE(std::string(name));
    const solver::MemoryEstimate whole = need(name, {});
    CHECK(whole.streamed_bytes == 0);
    CHECK(need(name, {{"gpu_memory", "1e12"}}).device_bytes == whole.device_bytes);
    CHECK(need(name, {{"gpu_memory", "1e12"}}).streamed_bytes == 0);
    const std::int64_t limit = whole.reserved_bytes + matrix / 2;
    const solver::MemoryEstimate half = need(name, {{"gpu_memory", std::to_string(limit)}});
    CHECK(half.device_bytes <= limit);
    CHECK(half.device_bytes > 0.8 * static_cast<double>(limit));
    CHECK(half.streamed_bytes > matrix / 4);
    CHECK(half.host_bytes >= whole.host_bytes + half.streamed_bytes);
    CHECK(half.loop_bytes == 0);
    // More vectors leave less room.
    CHECK(need(name, {{"gpu_memory", std::to_string(limit)}, {"resident", "streamed"}}).streamed_bytes ==
          half.streamed_bytes);
    const solver::MemoryEstimate several = need(name, {{"gpu_memory", "1e9"}, {"resident", "streamed"}}, 8);
    CHECK(several.streamed_bytes > 0);
    CHECK(several.reserved_bytes > 4 * whole.reserved_bytes);
    CHECK_THROWS_WITH_AS(need(name, {{"gpu_memory", std::to_string(whole.reserved_bytes + 1000)}}),
                         doctest::Contains("0.001 MB are left of option 'gpu_memory'"), std::invalid_argument);
  }
  const solver::MemoryEstimate csr = need("csr", {{"resident", "streamed"}});
  CHECK(solver::to_text(csr, "").find("its rows that are streamed") != std::string::npos);
}

TEST_CASE("what has too little of the GPU is told of streamed rows and of the operator without a matrix") {
  const auto small = tests::make_form(mesh::CellShape::quadrilateral, 2, {10, 10, 1});
  const MatrixRows<double> rows(small.form);
  const auto sentence = [&](const char* name, const Options& options, const BilinearForm* form) {
    solver::MemoryUser user{find_operator(name), &options, Device::cuda, solver::find_preconditioner("jacobi")};
    solver::MemoryEstimate need = solver::need_of_operator(user, form, &rows.offsets());
    need.device_bytes = std::int64_t{1} << 60;
    need.slack_device_bytes = 0;
    try {
      solver::require_memory(need, "it");
    } catch (const OutOfMemory& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Options all{{"resident", "all"}};
  CHECK(sentence("csr", all, &small.form)
            .ends_with(
                "; resident: streamed takes rows from the host's memory, operator 'matrix-free' stores no matrix"));
  CHECK(sentence("csr", all, nullptr).ends_with("; resident: streamed takes rows from the host's memory"));
  CHECK(sentence("pjds", {}, nullptr)
            .ends_with("; operator 'csr' takes rows from the host's memory (resident: streamed)"));
  CHECK(sentence("lma-atomic", {}, &small.form).ends_with("; operator 'matrix-free' stores no matrix"));
  CHECK(
      sentence("csr", {{"resident", "streamed"}}, &small.form).ends_with("; operator 'matrix-free' stores no matrix"));
  CHECK(sentence("matrix-free", {}, &small.form).ends_with(" are free"));
}

TEST_CASE("the least time of a product with streamed rows is that of the link or of the GPU's memory") {
  solver::Machine machine;
  CHECK(machine.least_seconds(100, 0) == 0);
  machine.copy_bandwidth = 1000;
  CHECK(machine.least_seconds(100, 0) == doctest::Approx(0.1));
  CHECK(machine.least_seconds(100, 50) == 0);  // the link's rate is unknown
  machine.link_bandwidth = 20;
  CHECK(machine.least_seconds(100, 0) == doctest::Approx(0.1));
  CHECK(machine.least_seconds(100, 50) == doctest::Approx(2.5));
  CHECK(machine.least_seconds(100, 1) == doctest::Approx(0.1));
}

namespace {

/// Formats that a GPU can hold in chunks, with the variants of their options.
std::vector<tests::Format> formats_in_chunks() {
  std::vector<tests::Format> all;
  for (const char* name : {"csr", "sell", "ellpack", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned", "csr-grouped"})
    all.push_back({name, {}});
  for (const char* name : {"csr", "sell", "csr-grouped"}) {
    all.push_back({name, {{"index", "32"}}});
    all.push_back({name, {{"values", "single"}}});
  }
  all.push_back({"sell", {{"sigma", "all"}, {"C", "8"}}});
  all.push_back({"ellr-t", {{"T", "8"}, {"block_size", "96"}}});
  all.push_back({"hyb", {{"width", "3"}}});
  return all;
}

/// A number of bytes as an option's text.
std::string text_of(std::int64_t bytes) { return std::to_string(bytes); }

/// Total bytes of a format's chunks, on the host and the device.
template <class T>
std::int64_t bytes_of_chunks(const tests::Format& format, const CsrMatrix<T>& matrix) {
  Options options = format.options;
  options["resident"] = "streamed";
  const StorageEstimate bytes = find_operator(format.name)->estimate<T>({Device::cuda, nullptr, &matrix}, options);
  return bytes.arrays[0].bytes + bytes.on_host;
}

/// A x in exact arithmetic.
template <class T>
Vector<T> exact_product(const CsrMatrix<T>& matrix, const Vector<T>& x) {
  Vector<T> y(matrix.rows);
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    y[row] = 0;
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      y[row] += matrix.values[k] * x[matrix.columns[k]];
  }
  return y;
}

template <class T>
std::int64_t differences(const Vector<T>& found, const Vector<T>& expected) {
  const Vector<T> here = copied(found, Device::host);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) count += here[i] == expected[i] ? 0 : 1;
  return count;
}

/// Runs products in direct sequence, so that buffers are overwritten as early as allowed; then several in CUDA graphs
/// that are run repeatedly.
template <class T>
void check_products_in_a_row(const Operator<T>& a, const CsrMatrix<T>& matrix) {
  constexpr int products = 12;
  std::vector<Vector<T>> x, y, expected;
  for (int i = 0; i < products; ++i) {
    Vector<T> numbers = small_numbers<T>(matrix.rows);
    for (T& number : numbers.span()) number = i % 3 == 0 ? number : number * T(i % 2 == 0 ? 1 : -1) + T(i % 4 - 1);
    expected.push_back(exact_product(matrix, numbers));
    x.push_back(copied(numbers, Device::cuda));
    y.push_back(copied(tests::poisoned<T>(matrix.rows), Device::cuda));
  }
  for (std::size_t i = 0; i < x.size(); ++i) a.apply(x[i], y[i]);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(differences(y[i], expected[i]) == 0);

  Scalar energy(Device::cuda);
  a.apply(x[0], y[0], &energy);  // kernels must be loaded before capture
  const CudaGraph captured(Device::cuda, [&] {
    for (std::size_t i = 0; i < 4; ++i) a.apply(x[i], y[i], &energy);
  });
  for (int times = 0; times < 3; ++times) {
    for (std::size_t i = 0; i < 4; ++i) copy(tests::poisoned<T>(matrix.rows), y[i]);
    captured.run();
    captured.run();
    for (std::size_t i = 0; i < 4; ++i) CHECK(differences(y[i], expected[i]) == 0);
    double sum = 0;
    const Vector<T> last = copied(x[3], Device::host);
    for (std::int64_t i = 0; i < last.size(); ++i)
      sum += static_cast<double>(last[i]) * static_cast<double>(expected[3][i]);
    CHECK(energy.value() == sum);
  }
}

template <class T>
void check_columns(const Operator<T>& a, const CsrMatrix<T>& matrix) {
  const Vector<T> first = small_numbers<T>(matrix.rows);
  Vector<T> second(matrix.rows);
  std::reverse_copy(first.span().begin(), first.span().end(), second.data());
  const Vector<T> expected[] = {exact_product(matrix, first), exact_product(matrix, second)};
  for (const int count : tests::column_counts) {
    CAPTURE(count);
    const auto written = tests::apply_to_columns(a, first, second, count, true);
    for (int c = 0; c < count; ++c) {
      const Vector<T>& x = c % 2 == 0 ? first : second;
      double sum = 0;
      for (std::int64_t i = 0; i < x.size(); ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(expected[c % 2][i]);
      CHECK(differences(written[static_cast<std::size_t>(c)].y, expected[c % 2]) == 0);
      CHECK(written[static_cast<std::size_t>(c)].energy == sum);
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("a GPU with room for half of a matrix, and for hardly any, has all of its products" *
                       tests::needs_gpu(),
                   T, double, float) {
  for (const auto& matrix : {whole_numbers<T>(70001, 20000, 300), whole_numbers<T>(70001, 20000, 200000)})
    for (const tests::Format& format : formats_in_chunks()) {
      if (std::is_same_v<T, float> && format.has("values", "single")) continue;
      CAPTURE(format.text());
      const std::int64_t all = bytes_of_chunks(format, *matrix);
      for (const std::int64_t limit : {all / 2, all / 8}) {
        CAPTURE(limit);
        tests::Format limited = format;
        limited.options["gpu_memory"] = text_of(limit);
        const StorageEstimate estimate =
            find_operator(format.name)->estimate<T>({Device::cuda, nullptr, matrix.get()}, limited.options);
        const auto a = limited(matrix, Device::cuda);
        const Footprint footprint = a->footprint();
        CHECK(a->chosen().at("resident") == "streamed");
        CHECK(std::stoi(a->chosen().at("chunks")) >= 8);
        CHECK(footprint.nonzeros == matrix->nonzeros());
        CHECK(footprint.link_bytes == footprint.host_bytes);
        CHECK(footprint.stored_bytes - footprint.host_bytes <= limit);
        CHECK(footprint.host_bytes <= estimate.on_host);
        CHECK(footprint.host_bytes >= (all - limit) / 4);
        if (estimate.slack_on_host == 0 && !format.options.contains("index") && !format.options.contains("values")) {
          CHECK(footprint.host_bytes == estimate.on_host);
          CHECK(footprint.stored_bytes - footprint.host_bytes == estimate.stored());
        }
        check_products_in_a_row(*a, *matrix);
        check_columns(*a, *matrix);
        const Vector<T> d = tests::diagonal(*a);
        CHECK(std::ranges::count_if(d.span(), [](T entry) { return entry == 5; }) == 70001 - 70001 / 7);
      }
    }
}

TEST_CASE("a GPU has the matrix as a whole where it fits beside what the run needs, else in chunks" *
          tests::needs_gpu()) {
  const auto matrix = whole_numbers<double>(30000, 0, 300);
  for (const char* name : {"csr", "sell", "jad"}) {
    CAPTURE(std::string(name));
    const auto chunks = [&](Options options, std::int64_t reserved) {
      Ingredients<double> from;
      from.device = Device::cuda;
      from.matrix = matrix;
      from.reserved_bytes = reserved;
      const auto chosen = find_operator(name)->make<double>(from, options)->chosen();
      const auto found = chosen.find("resident");
      return found == chosen.end() ? std::string("whole") : found->second;
    };
    CHECK(chunks({}, 0) == "whole");
    CHECK(chunks({{"gpu_memory", "1e8"}}, 0) == "whole");
    CHECK(chunks({{"gpu_memory", "1e8"}}, 98000000) == "streamed");
    CHECK(chunks({{"resident", "streamed"}}, 0) == "streamed");
    // Room for the matrix, but not for converting it.
    const std::int64_t stored = bytes_of_chunks<double>({name, {}}, *matrix);
    CHECK(chunks({{"gpu_memory", text_of(stored + (1 << 20))}}, 0) == "all");
    CHECK_THROWS_WITH_AS(chunks({{"gpu_memory", "1000"}}, 0), doctest::Contains("are left of option 'gpu_memory'"),
                         std::invalid_argument);
  }
}

TEST_CASE_TEMPLATE("CG with streamed rows takes the steps that it takes with the whole matrix: one load, and eight" *
                       tests::needs_gpu(),
                   T, double, float) {
  const auto small = tests::make_form(mesh::CellShape::quadrilateral, 2, {120, 110, 1});
  const auto matrix = std::make_shared<CsrMatrix<T>>(assemble<T>(small.form, assemble_element_matrices(small.form)));
  std::vector<Vector<T>> loads;
  for (int c = 0; c < 8; ++c) {
    Vector<T> load = small_numbers<T>(matrix->rows);
    for (std::int64_t i = 0; i < load.size(); ++i) load[i] += static_cast<T>(i % (c + 2));
    loads.push_back(copied(load, Device::cuda));
  }
  for (const char* name : {"csr", "sell", "ellr-t", "csr-grouped"}) {
    CAPTURE(std::string(name));
    const std::int64_t all = bytes_of_chunks<T>({name, {}}, *matrix);
    const auto whole = tests::Format{name, {}}(tests::SharedMatrix<T>(matrix), Device::cuda);
    const auto streamed =
        tests::Format{name, {{"gpu_memory", text_of(all / 2)}}}(tests::SharedMatrix<T>(matrix), Device::cuda);
    solver::CgOptions<T> options;
    options.tolerance = std::is_same_v<T, double> ? 1e-9 : 2e-2;  // far above the rounding errors
    options.loop = solver::CgLoop::launched;
    std::vector<double> x, y;
    const solver::CgResult a = solver::conjugate_gradients(*whole, loads[0], x, options);
    const solver::CgResult b = solver::conjugate_gradients(*streamed, loads[0], y, options);
    CHECK(a.reason == solver::StopReason::converged);
    CHECK(b.reason == solver::StopReason::converged);
    CHECK(static_cast<double>(b.iterations) ==
          doctest::Approx(static_cast<double>(a.iterations)).epsilon(std::is_same_v<T, double> ? 0.03 : 0.2));
    solver::SystemsCgOptions<T> of_all;
    of_all.tolerance = options.tolerance;
    std::vector<std::vector<double>> xs, ys;
    const auto as = solver::batched_conjugate_gradients<T>(*whole, loads, xs, of_all);
    const auto bs = solver::batched_conjugate_gradients<T>(*streamed, loads, ys, of_all);
    for (std::size_t c = 0; c < loads.size(); ++c) {
      CAPTURE(c);
      CHECK(bs[c].reason == solver::StopReason::converged);
      CHECK(static_cast<double>(bs[c].iterations) ==
            doctest::Approx(static_cast<double>(as[c].iterations)).epsilon(std::is_same_v<T, double> ? 0.03 : 0.2));
    }
  }
}

TEST_CASE("a run streams what does not fit, and says so" * tests::needs_gpu()) {
  const tests::Result run = tests::shell(
      "$femcg run $cases/minimal.yaml --device cuda --set mesh.box.cells=[300,300] --set degree=2 --set "
      "equation.source=1 --set 'solver.operator={name: csr, gpu_memory: 40e6}' && cat results/minimal/result.json >&2");
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK(tests::contains(run.out, " come from the host each time, "));
  const auto result = nlohmann::json::parse(run.err);
  const auto& op = result["operator"];
  CHECK(op["chosen"]["resident"] == "streamed");
  CHECK(op["link_bytes"].get<double>() > 20e6);
  CHECK(op["stored_bytes"].get<double>() - op["host_bytes"].get<double>() < 40e6);
  CHECK(result["memory"]["estimated_device_bytes"].get<double>() <= 40e6);
  CHECK(result["machine"]["link_bandwidth"].get<double>() > 1e9);
  CHECK(result["apply"]["bandwidth_fraction"].get<double>() > 0);
  CHECK(result["apply"]["bandwidth_fraction"].get<double>() < 1.1);
  CHECK(result["solve"]["reason"] == "converged");
  const tests::Result too_little = tests::shell(
      "$femcg run $cases/minimal.yaml --device cuda --set mesh.box.cells=[300,300] --set degree=2 "
      "--set equation.source=1 --set 'solver.operator={name: csr, gpu_memory: 5e6}'");
  CHECK(too_little.status == 2);
  CHECK(tests::lines(too_little.err) == 1);
  CHECK(tests::contains(too_little.err, "are left of option 'gpu_memory'"));
  const tests::Result resident = tests::shell(
      "$femcg run $cases/minimal.yaml --device cuda --set mesh.box.cells=[300,300] --set degree=2 --set "
      "equation.source=1 --set solver.loop=resident --set 'solver.operator={name: csr, resident: streamed}'");
  CHECK(resident.status == 2);
  CHECK(tests::contains(resident.err, "has no persistent kernel; use solver.loop: launched"));
}

TEST_CASE("a comparison times streamed rows beside the whole matrix, against the link" * tests::needs_gpu()) {
  const tests::Result compare = tests::shell(
      "$femcg compare $cases/minimal.yaml --device cuda --set mesh.box.cells=[300,300] --set degree=2 --set "
      "equation.source=1 --set 'compare.operators=[csr, {name: csr, gpu_memory: 230e6}, {name: sell, resident: "
      "streamed}]' "
      "--iterations 20 --repetitions 3 --right-hand-sides 1,8 && cat results/minimal/compare.json >&2");
  INFO(compare.err);
  REQUIRE(compare.status == 0);
  const auto records = nlohmann::json::parse(compare.err);
  REQUIRE(records.size() == 6);
  for (const auto& record : records) {
    CHECK(record["comparison"]["status"] == "timed");
    const bool streamed = record["operator"]["options"].size() > 0;
    CHECK(record["operator"].contains("link_bytes") == streamed);
    CHECK(record["machine"].contains("link_bandwidth") == streamed);
    if (streamed) CHECK(record["apply"]["bandwidth_fraction"].get<double>() < 1.1);
  }
}
