// Layout of csr-bitmask for a matrix that can be checked by hand; the code of a GPU's lane runs on the processor
// (tests/host_threads).

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "operators/stored/csr_bitmask/bitmask_tiles.cuh"
#include "tests/stored_formats.hpp"

using namespace femcg::operators;
namespace tests = femcg::tests;

namespace {

/// 43 rows of very different lengths, some empty, and one tile of empty rows only.
tests::Rows<double> mixed_rows(std::int32_t reach) {
  tests::Rows<double> rows(43);
  for (std::int32_t i = 0; i < 43; ++i) {
    if (i == 3 || (i >= 16 && i < 24)) continue;
    for (std::int32_t j = 0; j < 1 + i * 7 % 31; ++j)
      if ((i + j) % 3 != 0) rows[i].emplace_back(j % 2 == 0 ? j : j + i % 5 * 2, 1.0 / (1 + i + 3 * j));
    std::ranges::sort(rows[i]);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    rows[i].erase(std::unique(rows[i].begin(), rows[i].end(), same), rows[i].end());
    if (i == 9) rows[i].emplace_back(reach, -2.0);
  }
  return rows;
}

template <int stride, class Rows>
std::vector<double> multiply_multi_vector(const Rows& a, const std::vector<double>& x) {
  using Layout = cuda::FactorFragment<stride>;
  std::vector<double> y(static_cast<std::size_t>(a.rows * stride), -1);
  for (const std::int64_t warp : {0, 1})
    cuda::run_block(cuda::threads_per_warp, [&] {
      for (cuda::TilesOfWarp<Rows> tiles(a, warp, 2); tiles.has_tile(); tiles.go_on()) {
        const typename Layout::Sums sums = cuda::multiply_tile<stride>(tiles, x.data());
        if (tiles.row() < a.rows) Layout::store(sums, y.data() + tiles.row() * stride, static_cast<int>(threadIdx.x));
      }
    });
  return y;
}

template <class Rows>
std::vector<double> multiply(const Rows& a, const std::vector<double>& x) {
  std::vector<double> of_lanes(static_cast<std::size_t>(4 * a.rows), -1), y;
  for (const std::int64_t warp : {0, 1, 2})
    cuda::run_block(cuda::threads_per_warp, [&] {
      for (cuda::TilesOfWarp<Rows> tiles(a, warp, 3); tiles.has_tile(); tiles.go_on()) {
        const double sum = cuda::multiply_tile(tiles, x.data());
        if (tiles.row() < a.rows) of_lanes[static_cast<std::size_t>(4 * tiles.row() + threadIdx.x % 4)] = sum;
      }
    });
  for (std::size_t i = 0; i < of_lanes.size(); i += 4)
    y.push_back(of_lanes[i] + of_lanes[i + 1] + (of_lanes[i + 2] + of_lanes[i + 3]));
  return y;
}

template <int stride>
void check_products(std::int32_t reach) {
  CAPTURE(stride);
  const tests::Rows<double> rows = mixed_rows(reach);
  std::vector<double> x(static_cast<std::size_t>(reach + 1) * stride);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = 1 + 0.01 * static_cast<double>(j % 331);
  const BitmaskMatrix<double> a = tiles_of(*tests::compress(rows));
  CHECK(a.narrow == (reach < 65536));
  const std::vector<double> y = a.with_pointers([&](const auto& of) {
    if constexpr (stride == 1)
      return multiply(of, x);
    else
      return multiply_multi_vector<stride>(of, x);
  });
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int c = 0; c < stride; ++c) {
      double expected = 0;
      for (const auto& [column, value] : rows[i]) expected += value * x[static_cast<std::size_t>(column * stride + c)];
      CHECK(y[i * stride + static_cast<std::size_t>(c)] == doctest::Approx(expected).epsilon(1e-14));
    }
}

}  // namespace

TEST_CASE("tiles, steps and bits of a matrix that can be checked by hand") {
  tests::Rows<double> rows(9);
  rows[0] = {{2, 10}, {3, 11}, {7, 12}};
  rows[1] = {{3, 20}, {90, 21}};
  rows[7] = {{100, 70}, {101, 71}};
  rows[8] = {{5, 80}};
  const BitmaskMatrix<double> a = tiles_of(*tests::compress(rows));
  CHECK(a.narrow);
  CHECK(a.batches == 2);
  REQUIRE(a.tiles.size() == 3);
  CHECK((a.tiles[0].first_value == 0 && a.tiles[0].first_batch == 0 && a.tiles[0].base == 2));
  CHECK((a.tiles[1].first_value == 7 && a.tiles[1].first_batch == 1 && a.tiles[1].base == 5));
  CHECK((a.tiles[2].first_value == 8 && a.tiles[2].first_batch == 2));
  // The first tile has columns 2, 3, 7, 90 and 100, 101.
  CHECK(a.masks[0].of[0] == (0b0111U | 0b1010U << 4));
  CHECK(a.masks[0].of[1] == 0b0011U << 28);
  CHECK((a.masks[0].of[2] == 0 && a.masks[0].of[3] == 0));
  CHECK(a.counts[0] == (5U | 7U << 8 | 7U << 16 | 7U << 24));
  const std::vector<std::vector<int>> columns{{0, 98, 99, 99}, {1, 99, 99, 99}, {5, 99, 99, 99}, {88, 99, 99, 99}};
  for (int place = 0; place < 4; ++place) CHECK(std::ranges::equal(a.narrow_columns[place].of, columns[place]));
  CHECK(std::ranges::equal(a.values.span(), std::vector<double>{10, 11, 12, 20, 21, 70, 71, 80}));
  CHECK(a.masks[1].of[0] == 1U);
  CHECK(a.counts[1] == 0x01010101U);
}

TEST_CASE("what lanes multiply, with columns of 16 and of 32 bits, empty tiles and several tiles a warp") {
  for (const std::int32_t reach : {200, 70000}) {
    CAPTURE(reach);
    check_products<1>(reach);
    check_products<2>(reach);
    check_products<4>(reach);
    check_products<8>(reach);
    check_products<16>(reach);
    check_products<32>(reach);
  }
}
