// Sizes and traffic of the stored formats by hand, and the options that they refuse, on the host.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <stdexcept>

#include "operators/stored/sell/sell_matrix.hpp"
#include "tests/stored_formats.hpp"

namespace {

using namespace femcg::operators;
using namespace femcg::tests;

/// One row of 20 entries, followed by three rows of 5, repeated.
SharedMatrix<double> every_fourth_long(std::int32_t count) {
  Rows<double> rows(count);
  for (std::int32_t i = 0; i < count; ++i)
    for (std::int32_t j = 0; j < (i % 4 == 0 ? 20 : 5); ++j) rows[i].emplace_back(j, 1.0);
  return compress(rows);
}

}  // namespace

TEST_CASE_TEMPLATE("footprints by hand", T, double, float) {
  constexpr std::int64_t word = sizeof(T);
  // Rows of 1, 2, 3, 2 entries.
  const auto matrix = compress<T>({{{0, 2}}, {{1, 2}, {2, 1}}, {{1, 1}, {2, 2}, {3, 1}}, {{2, 1}, {3, 2}}});
  const auto footprint = [&](const Format& format) { return format(matrix)->footprint(); };

  const Footprint csr = footprint({"csr", {}});
  CHECK(csr.stored_bytes == 8 * (word + 4) + 5 * 8);
  CHECK(csr.moved_bytes == csr.stored_bytes + 2 * 4 * word);
  CHECK(csr.effective_bytes == 8 * (2 * word + 4) + 4 * (word + 4));
  CHECK(csr.padding_ratio == 1);

  // Four rows are padded to a group of eight.
  const Footprint ellpack = footprint({"ellpack", {}});
  CHECK(ellpack.stored_bytes == 3 * 8 * (word + 4));
  CHECK(ellpack.moved_bytes == ellpack.stored_bytes + 2 * 4 * word);
  CHECK(ellpack.padding_ratio == 3);
  const Footprint ellpack_r = footprint({"ellpack-r", {}});
  CHECK(ellpack_r.stored_bytes == 3 * 8 * (word + 4) + 8 * 4);
  CHECK(ellpack_r.moved_bytes == 8 * (word + 4) + 8 * 4 + 2 * 4 * word);

  const Footprint sell = footprint({"sell", {{"C", "4"}, {"sigma", "1"}}});
  CHECK(sell.stored_bytes == 12 * (word + 4) + 2 * 8);
  CHECK(sell.padding_ratio == 1.5);
  const Footprint sorted = footprint({"sell", {{"C", "4"}, {"sigma", "all"}}});
  CHECK(sorted.stored_bytes == sell.stored_bytes + 4 * 4);
}

TEST_CASE_TEMPLATE("footprints by hand: jad, csr-aligned, ellr-t, hyb", T, double, float) {
  constexpr std::int64_t word = sizeof(T), entry = word + 4;
  // Rows of 1, 2, 3, 2 entries.
  const auto matrix = compress<T>({{{0, 2}}, {{1, 2}, {2, 1}}, {{1, 1}, {2, 2}, {3, 1}}, {{2, 1}, {3, 2}}});
  const auto footprint = [&](const Format& format) { return format(matrix)->footprint(); };

  // Three diagonals; a length and a place per row.
  const Footprint jad = footprint({"jad", {}});
  CHECK(jad.stored_bytes == 8 * entry + 3 * 8 + 4 * 8);
  CHECK(jad.moved_bytes == jad.stored_bytes + 2 * 4 * word);
  CHECK(jad.padding_ratio == 1);

  // A start and a length per row.
  const Footprint aligned = footprint({"csr-aligned", {}});
  CHECK(aligned.stored_bytes == 4 * 16 * entry + 4 * 8);
  CHECK(aligned.moved_bytes == 8 * entry + 4 * 8 + 2 * 4 * word);
  CHECK(aligned.padding_ratio == 8);

  // Four rows are padded to 32; the longest takes two steps, all together five.
  const Footprint ellr_t = footprint({"ellr-t", {{"T", "2"}}});
  CHECK(ellr_t.stored_bytes == 2 * 32 * 2 * entry + 32 * 4);
  CHECK(ellr_t.moved_bytes == 5 * 2 * entry + 32 * 4 + 2 * 4 * word);
  CHECK(ellr_t.padding_ratio == 16);

  // 32 rows of two, and one further entry with its row and its end; one slice; lengths, which the host does not read.
  const Footprint hyb = footprint({"hyb", {{"width", "2"}}});
  CHECK(hyb.stored_bytes == (32 * 2 + 1) * entry + 2 * 4 + 4 + 2 * 8 + 32 * 4);
  CHECK(hyb.moved_bytes == hyb.stored_bytes - 32 * 4 + 2 * 4 * word);
  CHECK(hyb.padding_ratio == 65.0 / 8);
}

TEST_CASE("ellr-t keeps rows of different lengths out of one another's pieces of memory") {
  // Rows of two alternating lengths.
  const auto make = [](int one, int other, const Options& options) {
    Rows<double> rows(256);
    for (std::int32_t i = 0; i < 256; ++i)
      for (std::int32_t j = 0; j < (i % 2 == 0 ? one : other); ++j) rows[i].emplace_back(j, 1.0);
    return Format{"ellr-t", options}(compress(rows));
  };
  const auto moved = [&](int one, int other, const Options& options) {
    return make(one, other, options)->footprint().moved_bytes;
  };
  // Segments have 64 bytes: with 8 threads per row each row has its own segments of values, and two rows share those of
  // columns; with 4 threads two rows share those of values too, and the short row's half is read for the long one.
  CHECK(moved(4, 64, {}) == moved(4, 64, {{"T", "8"}}));
  CHECK(moved(4, 64, {}) > moved(4, 64, {{"T", "4"}}));
  CHECK(moved(4, 64, {}) < moved(4, 64, {{"T", "16"}}));
  CHECK(moved(24, 48, {}) == moved(24, 48, {{"T", "8"}}));
  CHECK(moved(16, 32, {}) == moved(16, 32, {{"T", "1"}}));
  // Two rows take 768 bytes; 8 threads save 128 for 16 and 32 entries, 64 for 24 and 32: the threshold is a tenth.
  CHECK(make(16, 32, {})->chosen().at("T") == "8");
  CHECK(make(24, 32, {})->chosen().at("T") == "1");
}

TEST_CASE("sorting takes the padding away") {
  // Every fourth row is long: sorted by length within 64 rows, a chunk of 4 has rows of equal length.
  const auto matrix = every_fourth_long(256);
  const auto padding = [&](const char* sigma) {
    return Format{"sell", {{"C", "4"}, {"sigma", sigma}}}(matrix)->footprint().padding_ratio;
  };
  CHECK(padding("1") == doctest::Approx(80.0 / 35.0));
  CHECK(padding("64") == 1);
  CHECK(padding("all") == 1);
}

TEST_CASE("rows are sorted of themselves where padding would take more than their places") {
  const auto sigma = [](const auto& matrix) { return Format{"sell", {}}(matrix)->chosen().at("sigma"); };
  CHECK(sigma(every_fourth_long(256)) == "512");
  // Eight chunks of eight rows have one row that is longer by 1 or 2 entries: 56 or 112 entries of padding, of 12 bytes
  // each; the places of 256 rows would take 1024 bytes.
  for (const int longer : {0, 1, 2}) {
    Rows<double> rows(256);
    for (std::int32_t i = 0; i < 256; ++i)
      for (std::int32_t j = 0; j < (i < 64 && i % 8 == 0 ? 5 + longer : 5); ++j) rows[i].emplace_back(j, 1.0);
    CAPTURE(longer);
    CHECK(sigma(compress(rows)) == (longer < 2 ? "1" : "512"));
  }
}

TEST_CASE("chunks of one window follow one another by their first rows, each 256 rows of them by length") {
  // 128 rows of each window of 512 are long: four chunks of 32, which begin at rows 0, 128, 256 and 384 of the window.
  const SellMatrix<double> lists = lists_of_sell(*every_fourth_long(1024), 32, 512);
  std::int64_t at = 0;
  for (const std::int32_t begin : {0, 256, 512, 768}) {
    for (std::int32_t row = begin; row < begin + 256; row += 4) CHECK(lists.row_at(at++) == row);
    for (std::int32_t row = begin; row < begin + 256; ++row)
      if (row % 4 != 0) CHECK(lists.row_at(at++) == row);
  }
}

TEST_CASE("ELLPACK refuses a matrix that is nearly all padding, and names sell") {
  const auto matrix = arrow<double>(20000);
  for (const char* name : {"ellpack", "ellpack-r"}) {
    const Format format{name, {}};
    CHECK_THROWS_WITH_AS(format(matrix),
                         "ELLPACK would pad every row to 20000 entries, 4.5 GiB in all and 6666.9 times the nonzeros; "
                         "operator 'sell' pads a few rows at a time",
                         std::invalid_argument);
  }
}

TEST_CASE("options of sell: a wrong value is refused in one sentence") {
  const auto matrix = arrow<double>(10);
  const auto make = [&](const Options& options) { return Format{"sell", options}(matrix); };
  for (const char* wrong : {"0", "3", "24", "256", "-8", "8.0", "eight", "", " 8"})
    CHECK_THROWS_WITH_AS(
        make({{"C", wrong}}),
        fmt::format("option 'C' of operator 'sell' must be auto, 4, 8, 16, 32, 64 or 128, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "-1", "any", "1e3", ""})
    CHECK_THROWS_WITH_AS(
        make({{"sigma", wrong}}),
        fmt::format("option 'sigma' of operator 'sell' must be auto, 1, a multiple of C, or all, not '{}'", wrong)
            .c_str(),
        std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({{"C", "32"}, {"sigma", "48"}}),
                       "option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = 32, not 48",
                       std::invalid_argument);
  for (const OptionDescription& option : find_operator("sell")->options) {
    CAPTURE(option.name);
    CHECK(option.accepts(option.default_value));
  }
}

TEST_CASE("options of hyb and ellr-t: a wrong value is refused in one sentence") {
  const auto matrix = arrow<double>(10);
  for (const char* wrong : {"-1", "all", "2.5", ""})
    CHECK_THROWS_WITH_AS(
        (Format{"hyb", {{"width", wrong}}}(matrix)),
        fmt::format("option 'width' of operator 'hyb' must be auto, or a number of entries, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "3", "64", "-8", ""})
    CHECK_THROWS_WITH_AS(
        (Format{"ellr-t", {{"T", wrong}}}(matrix)),
        fmt::format("option 'T' of operator 'ellr-t' must be auto, 1, 2, 4, 8, 16 or 32, not '{}'", wrong).c_str(),
        std::invalid_argument);
  for (const char* wrong : {"0", "100", "2048", "auto"})
    CHECK_THROWS_AS((Format{"ellr-t", {{"block_size", wrong}}}(matrix)), std::invalid_argument);
  CHECK_THROWS_WITH_AS((Format{"ellr-t", {{"block_size", "128"}}}(matrix)),
                       "option 'block_size' of operator 'ellr-t' is for the GPU; on the CPU it has T only",
                       std::invalid_argument);
  for (const char* name : {"hyb", "ellr-t"})
    for (const OptionDescription& option : find_operator(name)->options) {
      CAPTURE(option.name);
      CHECK(option.accepts(option.default_value));
    }
}
