// Layout and packing of cuSPARSE's sliced ELLPACK for a matrix that can be checked by hand; the code of a GPU's thread
// runs on the processor (tests/host_threads).

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "operators/vendor/sliced_ell.cuh"
#include "operators/vendor/sliced_ell.hpp"
#include "tests/stored_formats.hpp"

using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

//     1 2 . . .
//     . 3 . . .
//     4 . 5 . 6
//     . . . . .
//     . . . 7 8
const tests::Rows<double> rows{{{0, 1}, {1, 2}}, {{1, 3}}, {{0, 4}, {2, 5}, {4, 6}}, {}, {{3, 7}, {4, 8}}};

template <class T>
std::vector<T> listed(const Vector<T>& numbers) {
  return {numbers.span().begin(), numbers.span().end()};
}

struct Compressed {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const double* values;
};

template <class Index>
struct Packed {
  std::vector<Index> columns;
  std::vector<double> values;
};

template <class Index>
Packed<Index> packed(const CsrMatrix<double>& matrix, const SliceLayout& layout) {
  const auto entries = static_cast<std::size_t>(layout.entries());
  Packed<Index> made{std::vector<Index>(entries, 99), std::vector<double>(entries, 99)};
  const std::vector<Index> offsets(layout.offsets.span().begin(), layout.offsets.span().end());
  std::vector<std::int32_t> position_of(static_cast<std::size_t>(matrix.rows));
  for (std::int32_t i = 0; layout.row_at != nullptr && i < matrix.rows; ++i) position_of[(*layout.row_at)[i]] = i;
  const cuda::RowOrder order = layout.row_at != nullptr ? cuda::RowOrder{layout.row_at->data(), position_of.data()}
                                                        : cuda::RowOrder{nullptr, nullptr};
  const Compressed from{matrix.row_offsets.data(), matrix.columns.data(), matrix.values.data()};
  const cuda::SlicedEll<double, Index> to{matrix.rows, layout.height, offsets.data(), made.columns.data(),
                                          made.values.data()};
  for (std::int64_t position = 0; position < layout.slices() * layout.height; ++position)
    cuda::pack_row(position, from, order, to);
  return made;
}

std::vector<SliceLayout> layouts(const CsrMatrix<double>& matrix, std::vector<std::int64_t> heights,
                                 std::vector<std::int64_t> sigmas) {
  return slice_layouts(matrix.row_offsets, heights, sigmas);
}

}  // namespace

TEST_CASE_TEMPLATE("slices of two rows in their own order", Index, std::int32_t, std::int64_t) {
  const auto matrix = tests::compress(rows);
  const SliceLayout layout = std::move(layouts(*matrix, {2}, {1})[0]);
  CHECK(layout.row_at == nullptr);
  CHECK(listed(layout.offsets) == std::vector<std::int64_t>{0, 4, 10, 14});
  const Packed<Index> made = packed<Index>(*matrix, layout);
  CHECK(made.columns == std::vector<Index>{0, 1, 1, -1, 0, -1, 2, -1, 4, -1, 3, -1, 4, -1});
  CHECK(made.values == std::vector<double>{1, 3, 2, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0});
}

TEST_CASE_TEMPLATE("rows sorted by length take their columns with them", Index, std::int32_t, std::int64_t) {
  const auto matrix = tests::compress(rows);
  const SliceLayout layout = std::move(layouts(*matrix, {2}, {5})[0]);
  CHECK(listed(*layout.row_at) == std::vector<std::int32_t>{2, 0, 4, 1, 3});
  CHECK(listed(layout.offsets) == std::vector<std::int64_t>{0, 6, 10, 10});
  const Packed<Index> made = packed<Index>(*matrix, layout);
  CHECK(made.columns == std::vector<Index>{1, 1, 0, 3, 2, -1, 4, 3, 2, -1});
  CHECK(made.values == std::vector<double>{4, 1, 5, 2, 6, 0, 7, 3, 8, 0});
}

TEST_CASE("rows are sorted within windows, and all heights share an order") {
  const auto matrix = tests::compress(rows);
  const std::vector<SliceLayout> made = layouts(*matrix, {2, 4}, {1, 2});
  REQUIRE(made.size() == 4);
  CHECK(listed(*made[2].row_at) == std::vector<std::int32_t>{0, 1, 2, 3, 4});
  CHECK(made[2].row_at == made[3].row_at);
  CHECK(made[1].height == 4);
  CHECK(listed(made[1].offsets) == std::vector<std::int64_t>{0, 12, 20});
  CHECK(layouts(*tests::compress(tests::Rows<double>{}), {32}, {1, 4})[0].entries() == 0);
}

TEST_CASE("layouts that store half as much again as the least are left out") {
  const auto matrix = tests::arrow<double>(64);  // the first row has 64 entries, the others two
  const auto made = layouts(*matrix, {2, 8, 64}, {1});
  REQUIRE(made.size() == 1);
  CHECK(made[0].height == 2);
  CHECK(made[0].entries() == 2 * 64 + 62 * 2);
}
