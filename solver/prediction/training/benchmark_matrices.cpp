#include "solver/prediction/training/benchmark_matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

/// Random number that depends only on its arguments (SplitMix64, Steele et al. 2014), so that rows can be made in
/// parallel.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15 * (a + 1) + 0xd1b54a32d192ed03 * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
/// Uniform in the open interval (0, 1).
double uniform(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return (static_cast<double>(mixed(seed, a, b) >> 11) + 0.5) / 9007199254740992.0;
}
double normal(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {  // Box & Muller 1958
  return std::sqrt(-2 * std::log(uniform(seed, a, 2 * b))) *
         std::cos(2 * std::numbers::pi * uniform(seed, a, 2 * b + 1));
}

constexpr std::uint64_t of_length = 1, of_value = 2, of_place = 3;  // purpose of a random number

std::int64_t length_of(const MatrixRecipe& recipe, std::int64_t row) {
  const std::uint64_t seed = recipe.seed;
  const auto number = static_cast<std::uint64_t>(recipe.lengths == RowLengths::blocks ? row / 64 : row);
  double length = recipe.mean;
  switch (recipe.lengths) {
    case RowLengths::constant:
      break;
    case RowLengths::normal:
      length *= 1 + recipe.spread * normal(seed, of_length, number);
      break;
    case RowLengths::power_law:
      length *= (1 - recipe.spread) * std::pow(uniform(seed, of_length, number), -recipe.spread);
      break;
    case RowLengths::long_rows:
      if (row % std::max(1, recipe.rows / 16) == recipe.rows / 32) return std::min(recipe.longest, recipe.rows);
      [[fallthrough]];
    case RowLengths::uniform:
    case RowLengths::blocks:
      length *= 1 + recipe.spread * (2 * uniform(seed, of_length, number) - 1);
  }
  const double longest = std::min<double>(recipe.rows, 100 * recipe.mean);
  return static_cast<std::int64_t>(std::lround(std::clamp(length, 1.0, longest)));
}

/// Writes the columns of a row, ascending.
void place_columns(const MatrixRecipe& recipe, std::int64_t row, std::int64_t length, std::int32_t* columns) {
  const std::int64_t n = recipe.rows, run = std::min<std::int64_t>(recipe.run, length);
  const std::int64_t runs = (length + run - 1) / run;
  const auto wanted = static_cast<std::int64_t>(recipe.window * static_cast<double>(n));
  const std::int64_t width = std::min(n, std::max(wanted, 2 * runs * run));
  const std::int64_t begin = std::clamp<std::int64_t>(row - width / 2, 0, n - width);
  const auto group = static_cast<std::uint64_t>(row / recipe.alike);
  std::int64_t k = 0;
  for (std::int64_t r = 0; r < runs; ++r) {
    const std::int64_t first = width * r / runs, last = width * (r + 1) / runs, size = std::min(run, length - k);
    const double place = uniform(recipe.seed + of_place, group, static_cast<std::uint64_t>(r));
    const auto at = begin + first + static_cast<std::int64_t>(place * static_cast<double>(last - first - size + 1));
    for (std::int64_t j = 0; j < size; ++j) columns[k++] = static_cast<std::int32_t>(at + j);
  }
}

std::string name(RowLengths lengths) {
  constexpr std::array names{"constant", "uniform", "normal", "power law", "few long rows", "blocks of 64 rows"};
  return names[static_cast<std::size_t>(lengths)];
}

/// Interpolates between a and b on a logarithmic scale.
double between(double a, double b, double part) { return a * std::pow(b / a, part); }

}  // namespace

std::string description(const MatrixRecipe& recipe) {
  std::string text =
      fmt::format("{} rows, lengths {}, mean {:.3g}", grouped(recipe.rows), name(recipe.lengths), recipe.mean);
  if (recipe.spread > 0) text += fmt::format(", spread {:.2f}", recipe.spread);
  if (recipe.lengths == RowLengths::long_rows) text += fmt::format(", 16 of {}", recipe.longest);
  return text + fmt::format(", window {:.2g} of the columns, runs of {}, {} rows alike, seed {}", recipe.window,
                            recipe.run, recipe.alike, recipe.seed);
}

operators::CsrMatrix<double> generate(const MatrixRecipe& recipe) {
  operators::CsrMatrix<double> matrix;
  matrix.rows = recipe.rows;
  matrix.row_offsets = operators::Vector<std::int64_t>(recipe.rows + std::int64_t{1});
  std::int64_t* offsets = matrix.row_offsets.data();
  offsets[0] = 0;
  operators::for_each_row(recipe.rows, [&](std::int64_t row) { offsets[row + 1] = length_of(recipe, row); });
  for (std::int64_t row = 0; row < recipe.rows; ++row) offsets[row + 1] += offsets[row];
  matrix.columns = operators::Vector<std::int32_t>(offsets[recipe.rows]);
  matrix.values = operators::Vector<double>(offsets[recipe.rows]);
  const auto work = [&](std::int64_t row) { return offsets[row]; };
  operators::for_row_blocks(recipe.rows, work, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      place_columns(recipe, row, offsets[row + 1] - offsets[row], matrix.columns.data() + offsets[row]);
      for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k)
        matrix.values[k] = 0.5 + uniform(recipe.seed, of_value, static_cast<std::uint64_t>(k));
    }
  });
  return matrix;
}

MatrixRecipe training_recipe(int number, double most_bytes) {
  // Additive sequence based on the root of x^7 = x + 1: any number of its first points is evenly distributed.
  constexpr double root = 1.1127756842787055;
  std::array<double, 6> u;
  for (std::size_t axis = 0; axis < u.size(); ++axis)
    u[axis] = std::fmod(0.5 + (number + 1) * std::pow(root, -static_cast<double>(axis + 1)), 1.0);
  constexpr double bytes_of_entry = 12;
  MatrixRecipe recipe;
  recipe.name = fmt::format("training {}", number);
  recipe.seed = 1000 + static_cast<std::uint64_t>(number);
  recipe.mean = between(2, 600, u[1]);
  const double entries = between(60e3, most_bytes, u[0]) / bytes_of_entry;
  recipe.rows = static_cast<std::int32_t>(std::clamp(entries / recipe.mean, 64.0, 2e7));
  recipe.mean = std::min(recipe.mean, recipe.rows / 2.0);
  recipe.spread = 0.1 + 0.8 * u[2];
  constexpr std::array kinds{RowLengths::uniform, RowLengths::normal,   RowLengths::blocks,   RowLengths::normal,
                             RowLengths::uniform, RowLengths::constant, RowLengths::long_rows};
  recipe.lengths = kinds[static_cast<std::size_t>(number) % kinds.size()];
  if (recipe.lengths == RowLengths::constant) recipe.spread = 0;
  if (recipe.lengths == RowLengths::normal) recipe.spread /= 2;
  recipe.longest = static_cast<std::int32_t>(std::min(recipe.rows / 2.0, recipe.mean * between(3, 200, u[5])));
  recipe.window = std::min(1.0, between(8 * recipe.mean / recipe.rows, 1, u[3] * u[3]));
  recipe.run = 1 + static_cast<int>(std::min(15.0, recipe.mean * u[5] / 2));
  recipe.alike = u[4] < 0.6 ? 256 : u[4] < 0.85 ? 8 : 1;
  return recipe;
}

std::vector<MatrixRecipe> evaluation_recipes(double most_bytes) {
  const auto rows = [&](double part, double mean) { return static_cast<std::int32_t>(most_bytes * part / 12 / mean); };
  using enum RowLengths;
  const auto made = [](const char* name, std::int32_t n, RowLengths lengths, double mean, double spread,
                       std::int32_t longest, double window, int run, int alike, std::uint64_t seed) {
    return MatrixRecipe{name, n, lengths, mean, spread, longest, window, run, alike, seed};
  };
  return {
      made("uniform, short rows", rows(0.7, 12), uniform, 12, 0.5, 0, 0.001, 1, 64, 1),
      made("uniform, middle rows", rows(0.5, 40), uniform, 40, 0.3, 0, 0.01, 3, 64, 2),
      made("uniform, long rows", rows(0.3, 150), uniform, 150, 0.8, 0, 0.02, 5, 64, 3),
      made("uniform, in cache", 20000, uniform, 30, 0.6, 0, 0.05, 2, 16, 4),
      made("normal, short rows", rows(0.6, 9), normal, 9, 0.2, 0, 0.002, 1, 128, 5),
      made("normal, middle rows", rows(0.4, 60), normal, 60, 0.35, 0, 0.005, 2, 32, 6),
      made("normal, long rows", rows(0.8, 200), normal, 200, 0.15, 0, 0.05, 8, 32, 7),
      made("normal, in cache", 12000, normal, 50, 0.3, 0, 0.1, 1, 8, 8),
      made("banded, 5 diagonals", rows(0.5, 5), constant, 5, 0, 0, 1e-5, 1, 1024, 9),
      made("banded, 27 diagonals", rows(0.8, 27), constant, 27, 0, 0, 0.001, 3, 1024, 10),
      made("banded, 81 diagonals", rows(0.2, 81), constant, 81, 0, 0, 0.01, 9, 1024, 11),
      made("banded, small", 4000, constant, 7, 0, 0, 0.01, 1, 1024, 12),
      made("power law, mild", rows(0.4, 16), power_law, 16, 0.3, 0, 0.3, 1, 1, 13),
      made("power law, strong", rows(0.3, 10), power_law, 10, 0.5, 0, 1, 1, 1, 14),
      made("power law, small", 30000, power_law, 20, 0.4, 0, 1, 1, 1, 15),
      made("few long rows", rows(0.4, 20), long_rows, 20, 0.2, 4000, 0.01, 1, 64, 16),
      made("few longer rows", rows(0.2, 30), long_rows, 30, 0.3, 3000, 0.1, 4, 16, 17),
      made("few long rows, small", 10000, long_rows, 15, 0.3, 600, 0.1, 1, 16, 18),
      made("blocks", rows(0.6, 25), blocks, 25, 0.8, 0, 0.003, 3, 64, 19),
      made("blocks, long rows", rows(0.25, 100), blocks, 100, 0.9, 0, 0.01, 10, 64, 20),
      made("scattered columns", rows(0.3, 20), uniform, 20, 0.2, 0, 1, 1, 1, 21),
      made("scattered runs", rows(0.3, 48), normal, 48, 0.2, 0, 1, 6, 1, 22),
      made("random band", rows(0.2, 14), normal, 14, 0.3, 0, 1e-4, 1, 1, 23),
      made("dense rows", 1500, constant, 700, 0, 0, 1, 4, 4, 24),
  };
}

}  // namespace femcg::solver
