#include "operators/distributed/maps/matrix_subdomain.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace femcg::operators {

namespace {

std::vector<std::int32_t> first_rows(const CsrMatrix<double>& matrix, int processes) {
  std::vector<std::int32_t> firsts(processes + 1, matrix.rows);
  const auto offsets = matrix.row_offsets.span();
  for (std::int64_t process = 0; process < processes; ++process)
    firsts[process] = static_cast<std::int32_t>(
        std::ranges::lower_bound(offsets, matrix.nonzeros() * process / processes) - offsets.begin());
  return firsts;
}

CsrMatrix<double> rows_of(const CsrMatrix<double>& matrix, std::int32_t first, std::int32_t last) {
  CsrMatrix<double> some;
  some.rows = last - first;
  some.row_offsets = Vector<std::int64_t>(std::int64_t{some.rows} + 1);
  const std::int64_t begin = matrix.row_offsets[first], count = matrix.row_offsets[last] - begin;
  for (std::int32_t row = 0; row <= some.rows; ++row) some.row_offsets[row] = matrix.row_offsets[first + row] - begin;
  some.columns = Vector<std::int32_t>(count);
  some.values = Vector<double>(count);
  std::copy_n(matrix.columns.data() + begin, count, some.columns.data());
  std::copy_n(matrix.values.data() + begin, count, some.values.data());
  return some;
}

template <class T>
void send(const Communicator& communicator, const Vector<T>& values, int rank) {
  communicator.send_text(
      {reinterpret_cast<const char*>(values.data()), static_cast<std::size_t>(values.size()) * sizeof(T)}, rank);
}
template <class T>
Vector<T> received(const Communicator& communicator) {
  const std::string bytes = communicator.text_from(0);
  Vector<T> values(static_cast<std::int64_t>(bytes.size() / sizeof(T)));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Local numbering of the unknowns of one process: those of its rows, then columns that other processes own.
class LocalNumbers {
 public:
  LocalNumbers(const RowBlock& block, int rank) : first_(block.firsts[rank]), last_(block.firsts[rank + 1]) {
    for (const std::int32_t column : block.rows.columns.span())
      if (!is_own(column)) ghosts_.push_back(column);
    std::ranges::sort(ghosts_);
    const auto repeated = std::ranges::unique(ghosts_);
    ghosts_.erase(repeated.begin(), repeated.end());
  }

  bool is_own(std::int32_t row) const { return row >= first_ && row < last_; }
  std::int32_t own() const { return last_ - first_; }
  std::int32_t size() const { return own() + static_cast<std::int32_t>(ghosts_.size()); }
  std::span<const std::int32_t> ghosts() const { return ghosts_; }
  std::int32_t operator()(std::int32_t row) const {
    return is_own(row) ? row - first_
                       : own() + static_cast<std::int32_t>(std::ranges::lower_bound(ghosts_, row) - ghosts_.begin());
  }
  std::int32_t row(std::int32_t local) const { return local < own() ? first_ + local : ghosts_[local - own()]; }

 private:
  std::int32_t first_, last_;
  std::vector<std::int32_t> ghosts_;
};

/// The unknowns shared with each other process, in the order of global rows: ghosts that it owns, and own rows that are
/// its ghosts.
std::vector<IndexMap::Neighbour> neighbours_of(const Communicator& communicator, const RowBlock& block,
                                               const LocalNumbers& local) {
  std::vector<int> ranks;
  std::vector<std::vector<std::int32_t>> asked;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == communicator.rank()) continue;
    ranks.push_back(rank);
    const auto begin = std::ranges::lower_bound(local.ghosts(), block.firsts[rank]),
               end = std::ranges::lower_bound(local.ghosts(), block.firsts[rank + 1]);
    asked.emplace_back(begin, end);
  }
  const auto wanted = communicator.exchanged(std::span<const int>(ranks), asked);
  std::vector<IndexMap::Neighbour> neighbours;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    IndexMap::Neighbour neighbour{ranks[k], {}};
    std::ranges::merge(asked[k], wanted[k], std::back_inserter(neighbour.shared));
    for (std::int32_t& unknown : neighbour.shared) unknown = local(unknown);
    if (!neighbour.shared.empty()) neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}

/// Classes of a process's rows and unknowns.
struct Kinds {
  std::vector<char> shared;                     ///< of each unknown
  std::vector<char> at_interface;               ///< of each row
  std::vector<char> of_interior, of_interface;  ///< of each unknown: 1 if rows of that kind have it
};

Kinds kinds_of(const RowBlock& block, const LocalNumbers& local, const std::vector<IndexMap::Neighbour>& neighbours) {
  const std::size_t size = static_cast<std::size_t>(local.size());
  Kinds kinds{std::vector<char>(size), std::vector<char>(local.own()), std::vector<char>(size),
              std::vector<char>(size)};
  for (const IndexMap::Neighbour& neighbour : neighbours)
    for (const std::int32_t unknown : neighbour.shared) kinds.shared[unknown] = 1;
  for (std::int32_t row = 0; row < local.own(); ++row) {
    const auto columns = block.rows.columns.span().subspan(
        block.rows.row_offsets[row], block.rows.row_offsets[row + 1] - block.rows.row_offsets[row]);
    const bool at_interface = kinds.shared[row] != 0 || std::ranges::any_of(columns, [&](std::int32_t column) {
                                return kinds.shared[local(column)] != 0;
                              });
    kinds.at_interface[row] = at_interface ? 1 : 0;
    std::vector<char>& has = at_interface ? kinds.of_interface : kinds.of_interior;
    has[row] = 1;
    for (const std::int32_t column : columns) has[local(column)] = 1;
  }
  return kinds;
}

/// The rows of one kind as a square matrix. `unknowns`: local indices of its unknowns, in its order.
CsrMatrix<double> part(const RowBlock& block, const LocalNumbers& local, std::span<const std::int32_t> unknowns,
                       const auto& has_row) {
  std::vector<std::int32_t> number(local.size(), -1);
  for (std::int32_t i = 0; i < std::ssize(unknowns); ++i) number[unknowns[i]] = i;
  const auto length = [&](std::int32_t row) {
    return has_row(row) ? block.rows.row_offsets[row + 1] - block.rows.row_offsets[row] : 0;
  };
  CsrMatrix<double> made;
  made.rows = static_cast<std::int32_t>(unknowns.size());
  made.row_offsets = Vector<std::int64_t>(std::int64_t{made.rows} + 1);
  made.row_offsets[0] = 0;
  for (std::int32_t i = 0; i < made.rows; ++i) made.row_offsets[i + 1] = made.row_offsets[i] + length(unknowns[i]);
  made.columns = Vector<std::int32_t>(made.nonzeros());
  made.values = Vector<double>(made.nonzeros());
  std::vector<std::pair<std::int32_t, double>> entries;
  for (std::int32_t i = 0; i < made.rows; ++i) {
    entries.clear();
    const std::int64_t begin = length(unknowns[i]) > 0 ? block.rows.row_offsets[unknowns[i]] : 0;
    for (std::int64_t k = begin; k < begin + length(unknowns[i]); ++k)
      entries.emplace_back(number[local(block.rows.columns[k])], block.rows.values[k]);
    std::ranges::sort(entries, {}, &std::pair<std::int32_t, double>::first);
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const std::int64_t at = made.row_offsets[i] + static_cast<std::int64_t>(k);
      made.columns[at] = entries[k].first;
      made.values[at] = entries[k].second;
    }
  }
  return made;
}

}  // namespace

RowBlock divide_rows(const Communicator& communicator, const CsrMatrix<double>& matrix) {
  RowBlock block;
  if (communicator.is_first()) block.firsts = first_rows(matrix, communicator.size());
  communicator.broadcast_all(block.firsts, 0);
  if (!communicator.is_first()) {
    block.rows.row_offsets = received<std::int64_t>(communicator);
    block.rows.columns = received<std::int32_t>(communicator);
    block.rows.values = received<double>(communicator);
    block.rows.rows = static_cast<std::int32_t>(block.rows.row_offsets.size() - 1);
    return block;
  }
  for (int rank = communicator.size() - 1; rank >= 0; --rank) {
    block.rows = rows_of(matrix, block.firsts[rank], block.firsts[rank + 1]);
    if (rank == 0) break;
    send(communicator, block.rows.row_offsets, rank);
    send(communicator, block.rows.columns, rank);
    send(communicator, block.rows.values, rank);
  }
  return block;
}

MatrixSubdomain subdomain_of(const Communicator& communicator, const RowBlock& block) {
  const LocalNumbers local(block, communicator.rank());
  MatrixSubdomain subdomain;
  IndexMap& map = subdomain.map;
  map.neighbours = neighbours_of(communicator, block, local);
  const Kinds kinds = kinds_of(block, local, map.neighbours);
  // Order as in Subdomain: of interior rows alone, of both, of interface rows alone; shared ones last.
  std::vector<std::int32_t> number(local.size());
  const auto add = [&](std::int32_t from, std::int32_t to, const auto& belongs) {
    for (std::int32_t i = from; i < to; ++i)
      if (belongs(i)) {
        number[i] = map.size();
        map.unknowns.push_back(i);
      }
  };
  const auto add_inner = [&](bool of_interior, bool of_interface) {
    add(0, local.own(), [&](std::int32_t i) {
      return kinds.shared[i] == 0 && (kinds.of_interior[i] != 0) == of_interior &&
             (kinds.of_interface[i] != 0) == of_interface;
    });
  };
  add_inner(true, false);
  subdomain.first_interface = map.size();
  add_inner(true, true);
  const std::int32_t of_interior = map.size();
  add_inner(false, true);
  map.first_shared = map.size();
  add(0, local.own(), [&](std::int32_t i) { return kinds.shared[i] != 0; });
  map.owned = map.size();
  add(local.own(), local.size(), [](std::int32_t) { return true; });
  list_unknowns(of_interior, subdomain);

  for (const std::int32_t i : map.unknowns) map.numbers.push_back(local.row(i));
  for (const std::int32_t row : local.ghosts())
    map.owners.push_back(static_cast<int>(std::ranges::upper_bound(block.firsts, row) - block.firsts.begin()) - 1);
  for (IndexMap::Neighbour& neighbour : map.neighbours)
    for (std::int32_t& unknown : neighbour.shared) unknown = number[unknown];
  const auto local_numbers = [&](std::span<const std::int32_t> unknowns) {
    std::vector<std::int32_t> of_part;
    for (const std::int32_t i : unknowns) of_part.push_back(map.unknowns[i]);
    return of_part;
  };
  const auto is_at_interface = [&](std::int32_t i) { return i < local.own() && kinds.at_interface[i] != 0; };
  const auto is_inside = [&](std::int32_t i) { return i < local.own() && kinds.at_interface[i] == 0; };
  subdomain.interior = part(block, local, local_numbers(subdomain.interior_unknowns), is_inside);
  subdomain.interface = part(block, local, local_numbers(subdomain.interface_unknowns), is_at_interface);
  subdomain.interface_rows = std::ranges::count(kinds.at_interface, 1);
  return subdomain;
}

}  // namespace femcg::operators
