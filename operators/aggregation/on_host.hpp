#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "operators/aggregation/matrix_pointers.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

/// A row under construction; a table finds entries by column once add() is called.
class HostRow {
 public:
  explicit HostRow(std::int32_t columns) : columns_(columns) {}

  /// Appends an entry behind all others.
  void append(std::int32_t j, double value) {
    if (!place_.empty()) place_[j] = static_cast<std::int32_t>(entries_.size());
    entries_.emplace_back(j, value);
  }
  void add(std::int32_t j, double value) { at(j) += value; }
  /// Adds a b to the entry, by fma as on every GPU.
  void add_product(std::int32_t j, double a, double b) {
    double& sum = at(j);
    sum = std::fma(a, b, sum);
  }
  /// Appends the entries to lists, columns ascending, and clears the row; returns their number.
  std::int64_t flush(std::vector<std::int32_t>& column, std::vector<double>& value) {
    std::ranges::sort(entries_, {}, &std::pair<std::int32_t, double>::first);
    for (const auto& [j, number] : entries_) {
      column.push_back(j);
      value.push_back(number);
      if (!place_.empty()) place_[j] = -1;
    }
    const std::int64_t size = std::ssize(entries_);
    entries_.clear();
    return size;
  }

 private:
  double& at(std::int32_t j) {
    if (place_.empty()) {
      place_.assign(static_cast<std::size_t>(columns_), -1);
      for (std::size_t k = 0; k < entries_.size(); ++k) place_[entries_[k].first] = static_cast<std::int32_t>(k);
    }
    if (place_[j] < 0) append(j, 0);
    return entries_[place_[j]].second;
  }

  std::int32_t columns_;
  std::vector<std::int32_t> place_;  ///< index of each column's entry, -1 if there is none
  std::vector<std::pair<std::int32_t, double>> entries_;
};

/// Loops over rows on all threads of the host. OnGpu has the same functions.
struct OnHost {
  static constexpr Device device = Device::host;

  /// Calls body(i) for all i < count.
  template <class Body>
  void for_each(std::int64_t count, const Body& body) const {
    for_each_row(count, body);
  }

  /// Exclusive prefix sum in place; returns the last entry, the sum of all if that was 0.
  template <class T>
  T sum_before(Vector<T>& numbers) const {
    mesh::sum_before(numbers.span());
    return numbers[numbers.size() - 1];
  }

  /// The matrix with rows made by row(i, HostRow&), of at most row.most(i) entries.
  template <class Row>
  RectangularMatrix rows(std::int32_t count, std::int32_t columns, const Row& row) const {
    constexpr std::int32_t block = rows_per_block;
    struct Block {
      std::vector<std::int32_t> column;
      std::vector<double> value;
    };
    std::vector<Block> blocks(static_cast<std::size_t>((count + block - 1) / block));
    RectangularMatrix made{count, columns, Vector<std::int64_t>(count + std::int64_t{1}), {}, {}};
    mesh::parallel_for(
        static_cast<std::int32_t>(blocks.size()), [&] { return HostRow(columns); },
        [&](HostRow& to, std::int32_t b) {
          Block& of = blocks[static_cast<std::size_t>(b)];
          for (std::int32_t i = b * block; i < std::min(count, (b + 1) * block); ++i) {
            row(i, to);
            made.row_offsets[i] = to.flush(of.column, of.value);
          }
        });
    made.row_offsets[count] = 0;
    const std::int64_t entries = sum_before(made.row_offsets);
    made.column = Vector<std::int32_t>(entries);
    made.value = Vector<double>(entries);
    mesh::parallel_for(static_cast<std::int32_t>(blocks.size()), [&](std::int32_t b) {
      const std::int64_t begin = made.row_offsets[b * block];
      std::ranges::copy(blocks[static_cast<std::size_t>(b)].column, made.column.data() + begin);
      std::ranges::copy(blocks[static_cast<std::size_t>(b)].value, made.value.data() + begin);
    });
    return made;
  }
};

}  // namespace femcg::operators
