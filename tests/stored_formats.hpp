#pragma once

// Matrices given by rows, and operators made from them, for the tests of stored formats.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::tests {

template <class T>
using Row = std::vector<std::pair<std::int32_t, T>>;
template <class T>
using Rows = std::vector<Row<T>>;
template <class T>
using SharedMatrix = std::shared_ptr<const operators::CsrMatrix<T>>;

template <class T>
SharedMatrix<T> compress(const Rows<T>& rows) {
  auto matrix = std::make_shared<operators::CsrMatrix<T>>();
  matrix->rows = static_cast<std::int32_t>(rows.size());
  matrix->row_offsets = operators::Vector<std::int64_t>(matrix->rows + std::int64_t{1});
  matrix->row_offsets[0] = 0;
  for (std::int32_t i = 0; i < matrix->rows; ++i)
    matrix->row_offsets[i + 1] = matrix->row_offsets[i] + static_cast<std::int64_t>(rows[i].size());
  matrix->columns = operators::Vector<std::int32_t>(matrix->nonzeros());
  matrix->values = operators::Vector<T>(matrix->nonzeros());
  std::int64_t k = 0;
  for (const Row<T>& row : rows)
    for (const auto& [column, value] : row) {
      matrix->columns[k] = column;
      matrix->values[k++] = value;
    }
  return matrix;
}

/// Random symmetric matrix with about `neighbours` pairs per row; each row is empty with probability `empty`.
template <class T>
SharedMatrix<T> random_symmetric(std::int32_t n, int neighbours, double empty, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1), chance(0, 1);
  std::uniform_int_distribution<std::int32_t> index(0, n - 1);
  std::vector<char> is_empty(n);
  for (char& flag : is_empty) flag = chance(random) < empty ? 1 : 0;
  std::vector<std::map<std::int32_t, T>> entries(n);
  for (std::int32_t i = 0; i < n; ++i) {
    if (is_empty[i]) continue;
    entries[i][i] = static_cast<T>(4 + value(random));
    for (int k = 0; k < neighbours; ++k) {
      const std::int32_t j = index(random);
      if (is_empty[j] || j == i) continue;
      entries[i][j] = entries[j][i] = static_cast<T>(value(random));
    }
  }
  Rows<T> rows(n);
  for (std::int32_t i = 0; i < n; ++i) rows[i].assign(entries[i].begin(), entries[i].end());
  return compress(rows);
}

/// Arrow matrix: full first row and column, and the diagonal; with `band`, also the entries at that distance from the
/// diagonal.
template <class T>
SharedMatrix<T> arrow(std::int32_t n, std::int32_t band = 0) {
  Rows<T> rows(n);
  for (std::int32_t j = 0; j < n; ++j) rows[0].emplace_back(j, j == 0 ? T(n) : T(-1) / T(j + 1));
  for (std::int32_t i = 1; i < n; ++i) {
    rows[i].emplace_back(0, T(-1) / T(i + 1));
    if (band > 0 && i - band > 0) rows[i].emplace_back(i - band, T(1) / T(3));
    rows[i].emplace_back(i, T(2));
    if (band > 0 && i + band < n) rows[i].emplace_back(i + band, T(1) / T(3));
  }
  return compress(rows);
}

/// An operator of the catalogue that takes a matrix, and its options.
struct Format {
  std::string name;
  operators::Options options;

  template <class T>
  std::unique_ptr<operators::Operator<T>> operator()(const SharedMatrix<T>& matrix,
                                                     operators::Device device = operators::Device::host) const {
    operators::Ingredients<T> ingredients;
    ingredients.device = device;
    ingredients.matrix = matrix;
    return operators::find_operator(name)->make<T>(ingredients, options);
  }

  bool has(const char* option, const char* value) const {
    const auto found = options.find(option);
    return found != options.end() && found->second == value;
  }
  std::string text() const {
    std::string text = name;
    for (const auto& [option, value] : options) text += fmt::format(" {}={}", option, value);
    return text;
  }
};

}  // namespace femcg::tests
