// Layout of csr-grouped for matrices that can be checked by hand; the code of a GPU's lane runs on the processor
// (tests/host_threads).

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/csr_grouped/dense_blocks.cuh"
#include "operators/stored/csr_grouped/grouped_matrix.hpp"
#include "tests/stored_formats.hpp"

using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

template <class T>
bool equal(const Vector<T>& found, const std::vector<T>& expected) {
  return std::ranges::equal(found.span(), expected);
}

tests::Row<double> row_of(const std::vector<std::int32_t>& columns) {
  tests::Row<double> row;
  for (const std::int32_t column : columns) row.emplace_back(column, 1 + column);
  return row;
}

//     1 2 . . 5 .     rows 0, 2 and 5 share the list 0 1 4, which has the runs 0 1 and 4
//     . 2 3 4 . .     a list of one run
//     1 2 . . 5 .
//     . . . . . .     behind its end the list has its row, again and again
//     . . . . . 6     and this one the 5, likewise
//     1 2 . . 5 .
const auto small = tests::compress<double>(
    {row_of({0, 1, 4}), row_of({1, 2, 3}), row_of({0, 1, 4}), {}, row_of({5}), row_of({0, 1, 4})});

/// Lists and values of a matrix.
GroupedMatrix<double> grouped(const CsrMatrix<double>& matrix, const char* index) {
  GroupedMatrix<double> a = lists_of_groups(matrix, index);
  allocate_on(a, Device::host);
  const Entries<double> source = entries_of(matrix);
  a.move_values(source, [&](std::int64_t threads, const auto& map, auto& values) {
    move_values_on_host(threads, map, source, values);
  });
  return a;
}

}  // namespace

TEST_CASE("rows of a group lie side by side, longest first, and their columns are stored once, by runs") {
  for (const char* index : {"16", "32"}) {
    CAPTURE(index);
    const GroupedMatrix<double> a = lists_of_groups(*small, index);
    CHECK(a.lists == 4);
    CHECK(a.entries == 3 * 32);
    CHECK(a.nonzeros == 13);
    CHECK(equal<std::uint16_t>(a.places, {0, 2, 5, 1, 4, 3}));
    REQUIRE(a.slices.size() == 1);
    const GroupedSlice& slice = a.slices[0];
    CHECK(slice.slots == 3);
    CHECK(slice.first_slot == 0);
    CHECK(slice.first_start == 0);
    CHECK(slice.first_mask == 0);
    CHECK(slice.first_lanes == 0b111001);  // three rows of the first list, one of each other
    CHECK(equal<std::uint32_t>(a.masks, {0b101, 0b001, 0b111, 0b111}));
    // Columns minus slots: 0 and 2; 1; 5, 4 and 3; 3, 2 and 1. Start r of all lists precedes start r + 1.
    const std::vector<std::int32_t> shifts{0, 1, 5, 3, 2, 0, 4, 2, 0, 0, 3, 1};
    CHECK(slice.base == 0);
    if (a.narrow)
      CHECK(std::ranges::equal(a.narrow_starts.span(), shifts));
    else
      CHECK(std::ranges::equal(a.starts.span(), shifts));
    CHECK(a.narrow == (*index == '1'));
  }
}

TEST_CASE("values lie slot by slot, the padding is zero") {
  const GroupedMatrix<double> a = grouped(*small, "auto");
  const std::array<std::array<double, 6>, 3> expected{{{1, 1, 1, 2, 6, 0}, {2, 2, 2, 3, 0, 0}, {5, 5, 5, 4, 0, 0}}};
  for (int k = 0; k < 3; ++k)
    for (int lane = 0; lane < 32; ++lane) CHECK(a.values[32 * k + lane] == (lane < 6 ? expected[k][lane] : 0));
}

TEST_CASE("lists longer than 32 have several masks; a list may go on in the next slice") {
  // 40 rows with the columns 0 to 69 except 35, and one row with column 7 only.
  std::vector<std::int32_t> columns(70);
  for (int j = 0; j < 70; ++j) columns[j] = j;
  columns.erase(columns.begin() + 35);
  tests::Rows<double> rows(70);
  for (int i = 0; i < 40; ++i) rows[i] = row_of(columns);
  rows[40] = row_of({7});
  const GroupedMatrix<double> a = lists_of_groups(*tests::compress(rows), "auto");
  REQUIRE(a.slices.size() == 3);
  // Groups have at most 32 rows, so that 40 rows form two groups of 20: lanes 0 and 20, then 0 of the next slice, with
  // row 40 and the empty rows, which share a list.
  CHECK(a.slices[0].first_lanes == (1U | 1U << 20));
  CHECK(a.slices[1].first_lanes == (1U | 1U << 8 | 1U << 9));
  CHECK(a.slices[2].slots == 0);
  CHECK(a.slices[1].first_mask == 2 * 3);
  CHECK(a.masks[0] == 1);
  CHECK(a.masks[2] == 1U << 3);  // column 36 at slot 35
  CHECK(a.masks[4] == 0);
  CHECK(a.slices[1].first_start == 2 * 2);
  CHECK(a.slices[1].first_slot == 69);
  CHECK(a.slices[2].first_slot == 2 * 69);
  CHECK(a.entries == 2 * 69 * 32);
}

TEST_CASE("slices of a window follow one another by their first rows, those of eight by length") {
  // Every fourth row has 20 columns, the others 5; all rows of equal length share their columns.
  tests::Rows<double> rows(1024);
  for (std::int32_t i = 0; i < 1024; ++i)
    for (std::int32_t j = 0; j < (i % 4 == 0 ? 20 : 5); ++j) rows[i].emplace_back(j, 1.0);
  const GroupedMatrix<double> a = lists_of_groups(*tests::compress(rows), "auto");
  // 256 long rows fill eight slices, which begin at rows 0, 128, ...; the slices of the others begin at 1, 43, 86, ...
  std::vector<int> long_slices;
  for (int s = 0; s < 32; ++s)
    if (a.slices[s].slots == 20) long_slices.push_back(s);
  CHECK(long_slices == std::vector<int>{0, 1, 8, 9, 16, 17, 24, 25});
  CHECK(a.places[0] == 0);
  CHECK(a.places[32] == 128);
  CHECK(a.places[64] == 1);
}

TEST_CASE("16-bit starts reach 65535 from the least, and not one more") {
  for (const std::int32_t furthest : {65536, 65537}) {
    CAPTURE(furthest);
    tests::Rows<double> rows(70001);
    rows[0] = row_of({0, furthest});  // shifts 0 and furthest - 1
    const auto matrix = tests::compress(rows);
    CHECK(lists_of_groups(*matrix, "auto").narrow == (furthest == 65536));
    if (furthest == 65536)
      CHECK(lists_of_groups(*matrix, "16").narrow);
    else
      CHECK_THROWS_WITH_AS(lists_of_groups(*matrix, "16"), columns_do_not_fit().what(), std::invalid_argument);
  }
}

TEST_CASE("the footprint by hand, and the mean rows of a list") {
  const auto op = tests::Format{"csr-grouped", {}}(small);
  const Footprint footprint = op->footprint();
  CHECK(footprint.stored_bytes == 3 * 32 * 8 + 32 + 4 * 4 + 12 * 2 + 6 * 2);
  CHECK(footprint.moved_bytes == footprint.stored_bytes + 2 * 6 * 8);
  CHECK(footprint.padding_ratio == doctest::Approx(96.0 / 13));
  CHECK(op->chosen().at("rows_per_list") == "1.50");
  CHECK(op->chosen().at("index") == "16");
}

namespace {

/// Rows of 0 to 65 entries in runs of one, two and three; each list is shared by one to nine rows.
tests::Rows<double> rows_of_groups() {
  tests::Rows<double> rows(200);
  for (std::int32_t i = 0, list = 0, left = 1; i < 200; ++i) {
    if (left-- == 0) left = ++list % 9;
    for (std::int32_t j = 0; j < 2 * list % 67; ++j)
      if (j % 4 != list % 4) rows[i].emplace_back(j + list, 1.0 / (1 + i + 3 * j));
  }
  return rows;
}

}  // namespace

TEST_CASE("a lane's way along its row, with several masks and a few slots at a time") {
  const tests::Rows<double> rows = rows_of_groups();
  const auto matrix = tests::compress(rows);
  std::vector<double> x(200);
  for (int j = 0; j < 200; ++j) x[j] = 1 + 0.01 * j;
  for (const char* index : {"16", "32"}) {
    const GroupedMatrix<double> a = grouped(*matrix, index);
    CHECK(a.lists < 60);
    a.with_pointers([&](const auto& pointers) {
      for (std::int64_t position = 0; position < a.rows; ++position) {
        const GroupedSlice& slice = a.slices[position / 32];
        const std::int32_t row = pointers.row_at(position);
        const auto lane = static_cast<int>(position % 32);
        double expected = 0;
        for (const auto& [column, value] : rows[row]) expected += value * x[column];
        CHECK(cuda::sum_row<8>(pointers, slice, lane, x.data()) == doctest::Approx(expected).epsilon(1e-14));
        CHECK(cuda::sum_row<16>(pointers, slice, lane, x.data()) == doctest::Approx(expected).epsilon(1e-14));
      }
    });
  }
}

namespace {

/// Product of a matrix with several vectors, by tiles of dense matrices.
template <int stride, class Rows>
std::vector<double> multiply_by_tiles(const Rows& a, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows * stride), -1);
  for (std::int64_t number = 0; number < a.slice_count(); ++number)
    for (int first = 0; first < rows_per_slice; first += cuda::tile_rows)
      cuda::run_block(cuda::threads_per_warp, [&] {
        typename cuda::FactorFragment<stride>::Sums sums{};
        cuda::add_tile<stride>(a, a.slices[number], first, x.data(), sums);
        const auto lane = static_cast<int>(threadIdx.x);
        const std::int64_t position = number * rows_per_slice + first + lane / 4;
        if (position >= a.rows) return;
        using Layout = cuda::FactorFragment<stride>;
        for (int n = 0; n < Layout::numbers; ++n)
          y[static_cast<std::size_t>(a.row_at(position) * stride + Layout::column(lane, n))] =
              sums.of[Layout::factor(n)][Layout::half(n)];
      });
  return y;
}

template <int stride>
void check_tiles() {
  CAPTURE(stride);
  const tests::Rows<double> rows = rows_of_groups();
  std::vector<double> x(static_cast<std::size_t>(rows.size()) * stride);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = 1 + 0.01 * static_cast<double>(j % 331);
  const GroupedMatrix<double> a = grouped(*tests::compress(rows), stride == 8 ? "16" : "32");
  const std::vector<double> y = a.with_pointers([&](const auto& of) { return multiply_by_tiles<stride>(of, x); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int c = 0; c < stride; ++c) {
      double expected = 0;
      for (const auto& [column, value] : rows[i]) expected += value * x[static_cast<std::size_t>(column * stride + c)];
      CHECK(y[i * stride + static_cast<std::size_t>(c)] == doctest::Approx(expected).epsilon(1e-14));
    }
}

}  // namespace

TEST_CASE("several vectors: what a warp multiplies as dense matrices, a tile of eight rows") {
  check_tiles<8>();
  check_tiles<16>();
  check_tiles<32>();
}
