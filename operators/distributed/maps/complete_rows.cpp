#include "operators/distributed/maps/complete_rows.hpp"

#include <algorithm>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

template <class T>
using Entries = std::vector<std::pair<std::int64_t, T>>;

/// Calls visit(column, value) for the entries of a row.
template <class T, class Visit>
void for_row(const CsrMatrix<T>& matrix, std::int32_t row, const Visit& visit) {
  for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
    visit(matrix.columns[k], matrix.values[k]);
}

/// Contributions of other processes to rows that this process owns, by global index of the row, in the order of ranks;
/// columns by global index too.
template <class T>
std::vector<std::pair<std::int64_t, Entries<T>>> contributions(const Communicator& communicator,
                                                               const Subdomain& subdomain,
                                                               const CsrMatrix<T>* interface) {
  const IndexMap& map = subdomain.map;
  std::vector<int> ranks;
  std::vector<std::vector<std::int64_t>> numbers;  // row, count, columns; repeated for each row
  std::vector<std::vector<T>> values;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    ranks.push_back(neighbour.rank);
    auto& of_numbers = numbers.emplace_back();
    auto& of_values = values.emplace_back();
    for (const std::int32_t i : neighbour.shared) {
      if (i < map.owned || map.owners[i - map.owned] != neighbour.rank || interface == nullptr) continue;
      const std::int32_t row = i - subdomain.first_interface;
      of_numbers.push_back(map.numbers[i]);
      of_numbers.push_back(interface->row_offsets[row + 1] - interface->row_offsets[row]);
      for_row(*interface, row, [&](std::int32_t column, T value) {
        of_numbers.push_back(map.numbers[subdomain.first_interface + column]);
        of_values.push_back(value);
      });
    }
  }
  const auto their_numbers = communicator.exchanged(std::span<const int>(ranks), numbers);
  const auto their_values = communicator.exchanged(std::span<const int>(ranks), values);
  std::vector<std::pair<std::int64_t, Entries<T>>> rows;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    auto value = their_values[k].begin();
    for (std::size_t at = 0; at < their_numbers[k].size();) {
      auto& [row, entries] = rows.emplace_back(their_numbers[k][at], Entries<T>());
      const auto count = static_cast<std::size_t>(their_numbers[k][at + 1]);
      at += 2;
      for (std::size_t j = 0; j < count; ++j) entries.emplace_back(their_numbers[k][at++], *value++);
    }
  }
  return rows;
}

/// Sorts the entries from `begin` on by column, and adds up those of one column in their order.
template <class T>
void add_up(std::vector<std::pair<std::int32_t, T>>& entries, std::ptrdiff_t begin) {
  std::stable_sort(entries.begin() + begin, entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::ptrdiff_t end = begin;
  for (std::ptrdiff_t k = begin; k < std::ssize(entries); ++k)
    if (end > begin && entries[end - 1].first == entries[k].first)
      entries[end - 1].second += entries[k].second;
    else
      entries[end++] = entries[k];
  entries.resize(static_cast<std::size_t>(end));
}

}  // namespace

template <std::floating_point T>
CompleteRows<T> complete_rows(const Communicator& communicator, const Subdomain& subdomain,
                              const CsrMatrix<T>* interior, const CsrMatrix<T>* interface) {
  const IndexMap& map = subdomain.map;
  auto contributed = contributions<T>(communicator, subdomain, interface);
  CompleteRows<T> rows;
  rows.firsts.push_back(0);
  for (const auto& owned : communicator.gathered(std::vector{std::int64_t{map.owned}}))
    rows.firsts.push_back(rows.firsts.back() + owned.front());
  const std::int64_t first = rows.firsts[communicator.rank()], end = rows.firsts[communicator.rank() + 1];
  rows.unknowns.resize(static_cast<std::size_t>(map.owned));
  for (std::int32_t i = 0; i < map.owned; ++i) rows.unknowns[map.numbers[i] - first] = i;
  rows.ghosts.assign(map.numbers.begin() + map.owned, map.numbers.end());
  for (const auto& [row, entries] : contributed)
    for (const auto& [number, value] : entries)
      if (number < first || number >= end) rows.ghosts.push_back(number);
  std::ranges::sort(rows.ghosts);
  const auto repeated = std::ranges::unique(rows.ghosts);
  rows.ghosts.erase(repeated.begin(), repeated.end());
  const auto column_of = [&](std::int64_t number) {
    return number >= first && number < end
               ? rows.unknowns[number - first]
               : map.owned +
                     static_cast<std::int32_t>(std::ranges::lower_bound(rows.ghosts, number) - rows.ghosts.begin());
  };

  std::vector<std::int32_t> in_interior = mesh::filled<std::int32_t>(map.owned, -1);  // the row there, or -1
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < subdomain.interior_unknowns.size(); ++i)
    in_interior[subdomain.interior_unknowns[i]] = static_cast<std::int32_t>(i);
  for (auto& [row, of_others] : contributed) row = rows.unknowns[row - first];
  std::ranges::stable_sort(contributed, {}, &std::pair<std::int64_t, Entries<T>>::first);
  CsrMatrix<T>& matrix = rows.matrix;
  matrix.rows = map.owned;
  matrix.row_offsets = Vector<std::int64_t>(std::int64_t{map.owned} + 1);
  matrix.row_offsets[0] = 0;
  using Entry = std::pair<std::int32_t, T>;
  const auto entries = mesh::collect<Entry>(map.owned, [&](std::int64_t i, std::vector<Entry>& found) {
    const std::ptrdiff_t begin = std::ssize(found);
    if (in_interior[i] >= 0)
      for_row(*interior, in_interior[i],
              [&](std::int32_t column, T value) { found.emplace_back(subdomain.interior_unknowns[column], value); });
    if (i >= subdomain.first_interface) {
      for_row(*interface, static_cast<std::int32_t>(i) - subdomain.first_interface, [&](std::int32_t column, T value) {
        const std::int32_t j = subdomain.first_interface + column;
        found.emplace_back(j < map.owned ? j : column_of(map.numbers[j]), value);
      });
      for (const auto& [row, of_others] :
           std::ranges::equal_range(contributed, i, {}, &std::pair<std::int64_t, Entries<T>>::first))
        for (const auto& [number, value] : of_others) found.emplace_back(column_of(number), value);
      add_up(found, begin);
    }
    matrix.row_offsets[i + 1] = std::ssize(found) - begin;
  });
  for (std::int32_t i = 0; i < map.owned; ++i) matrix.row_offsets[i + 1] += matrix.row_offsets[i];
  matrix.columns = Vector<std::int32_t>(std::ssize(entries));
  matrix.values = Vector<T>(std::ssize(entries));
  for_each_row(std::ssize(entries), [&](std::int64_t k) {
    matrix.columns[k] = entries[k].first;
    matrix.values[k] = entries[k].second;
  });
  return rows;
}

template CompleteRows<double> complete_rows(const Communicator&, const Subdomain&, const CsrMatrix<double>*,
                                            const CsrMatrix<double>*);
template CompleteRows<float> complete_rows(const Communicator&, const Subdomain&, const CsrMatrix<float>*,
                                           const CsrMatrix<float>*);

}  // namespace femcg::operators
