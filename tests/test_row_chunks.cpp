// A stored matrix in chunks of rows: which rows, how many bytes, what lies where. All of it is host work, although only
// a GPU multiplies with it; here each chunk's numbers are multiplied as they lie there.

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "operators/csr/tiled_rows.hpp"
#include "operators/csr_aligned/csr_aligned.hpp"
#include "operators/ellpack/ellpack.hpp"
#include "operators/ellr_t/ellr_t.hpp"
#include "operators/hyb/hyb.hpp"
#include "operators/jad/jad.hpp"
#include "operators/sell/sell_rows.hpp"
#include "operators/sparse/row_chunks.hpp"
#include "solver/messages/error.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/records/record.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/stored_formats.hpp"

namespace {

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;

constexpr ChunkBudget endless{.bytes = std::int64_t{1} << 50, .least_streamed = chunk_buffers};

/// Whole numbers, so that sums are exact in any order: rows of 0 to 40 entries near the diagonal and one far away,
/// every seventh row empty, and a long tail of empty rows.
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

/// y of the rows of a format that looks by rows.
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
/// As streamed_rows.cuh reads them.
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

/// Every chunk is filled in memory of garbage, copied to where a product would read it, and multiplied there.
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

template <class T, class Format>
void check_format(const Options& given) {
  for (const std::int32_t tail : {0, 20000})
    for (const std::int32_t width : {300, 200000}) {  // 200000: beyond 16 bits where there are as many columns
      CAPTURE(tail);
      CAPTURE(width);
      const auto matrix = whole_numbers<typename Format::Value>(width > 300 ? 70001 : 10007, tail, width);
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

TEST_CASE_TEMPLATE("chunks of rows hold the matrix: csr and sell, columns of 16 and 32 bits, rounded values", T, double,
                   float) {
  for (const char* index : {"auto", "32"}) {
    CAPTURE(std::string(index));
    check_format<T, TiledRows<T>>({{"index", index}});
    check_format<T, TiledRows<T, float>>({{"index", index}});
    for (const char* sigma : {"auto", "1", "256", "all"})
      check_format<T, SellRows<T>>({{"index", index}, {"sigma", sigma}});
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
  CHECK(of(1 << 20, 2) == std::tuple(8000, 2200, 1200, 8));  // two are streamed all the same
  CHECK(of(2400, 0) == std::tuple(0, 10200, 1200, 0));
  CHECK_THROWS_WITH_AS(of(2399, 0), doctest::Contains("rows streamed from the host need 0.0024 MB of the GPU"),
                       OutOfMemory);
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
  for (const char* name : {"csr", "sell", "ellpack", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned"})
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
  for (const char* name : {"csr", "sell", "ellpack-r", "ellr-t", "jad", "hyb", "csr-aligned"}) {
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
  CHECK(machine.least_seconds(100, 50) == 0);  // of an unknown link
  machine.link_bandwidth = 20;
  CHECK(machine.least_seconds(100, 0) == doctest::Approx(0.1));
  CHECK(machine.least_seconds(100, 50) == doctest::Approx(2.5));
  CHECK(machine.least_seconds(100, 1) == doctest::Approx(0.1));
}
