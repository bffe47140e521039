#include "operators/stored/csr_grouped/grouped_matrix.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/assembled/shared_columns.hpp"

namespace femcg::operators {

namespace {

/// Slices that a block of the GPU processes together; within such a run slices are sorted by length.
constexpr std::int64_t slices_per_run = 8;

/// The row at each position, and its group.
struct Order {
  std::vector<std::int32_t> rows, groups;

  explicit Order(std::int64_t count) : rows(count), groups(count) {}
};

/// Sorts the whole slices of the positions [first, last) by their first rows, so that neighbours read nearby entries of
/// x, and within each run by length.
void sort_slices(Order& order, std::int64_t first, std::int64_t last, const auto& length) {
  const std::int64_t slices = (last - first) / rows_per_slice;
  std::vector<std::int64_t> begins(slices);
  for (std::int64_t slice = 0; slice < slices; ++slice) begins[slice] = first + slice * rows_per_slice;
  std::ranges::sort(begins, {}, [&](std::int64_t begin) { return order.rows[begin]; });
  for (std::int64_t run = 0; run < slices; run += slices_per_run)
    std::stable_sort(begins.begin() + run, begins.begin() + std::min(slices, run + slices_per_run),
                     [&](std::int64_t a, std::int64_t b) { return length(order.rows[a]) > length(order.rows[b]); });
  for (std::vector<std::int32_t>* numbers : {&order.rows, &order.groups}) {
    const std::vector<std::int32_t> from(numbers->begin() + first, numbers->begin() + last);
    auto to = numbers->begin() + first;
    for (const std::int64_t begin : begins) to = std::copy_n(from.begin() + (begin - first), rows_per_slice, to);
  }
}

/// Sorts the rows of each window by length, longest first, with groups contiguous.
Order sorted_rows(const SharedColumns& shared, std::span<const std::int64_t> offsets) {
  const std::int64_t rows = shared.rows.size(), windows = (rows + rows_per_window - 1) / rows_per_window;
  const auto length = [&](std::int32_t row) { return offsets[row + 1] - offsets[row]; };
  Order order(rows);
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t window = 0; window < windows; ++window)
    failure.guard(window, [&] {
      const std::int64_t first = window * rows_per_window, last = std::min(rows, first + rows_per_window);
      const std::span<const RowGroup> all = shared.groups.span();
      const auto begin = std::ranges::lower_bound(all, first, {}, &RowGroup::first_row);
      std::vector<std::int32_t> groups(std::ranges::lower_bound(all, last, {}, &RowGroup::first_row) - begin);
      std::iota(groups.begin(), groups.end(), static_cast<std::int32_t>(begin - all.begin()));
      std::ranges::stable_sort(groups, std::greater<>(), [&](std::int32_t group) { return all[group].length; });
      std::int64_t position = first;
      for (const std::int32_t group : groups) {
        std::copy_n(shared.rows.data() + all[group].first_row, all[group].count, order.rows.begin() + position);
        std::fill_n(order.groups.begin() + position, all[group].count, group);
        position += all[group].count;
      }
      sort_slices(order, first, last, length);
    });
  failure.rethrow();
  return order;
}

/// Calls visit(slot, shift) where a run begins. Behind its end a list restarts, so that padding reads no other entries
/// of x; an empty list has the column of its row.
void for_runs(std::span<const std::int32_t> list, std::int32_t row, std::int32_t slots, const auto& visit) {
  if (list.empty()) list = {&row, 1};
  std::size_t k = 0;
  std::int32_t shift = 0;
  for (std::int32_t slot = 0; slot < slots; ++slot, k = k + 1 < list.size() ? k + 1 : 0) {
    if (slot > 0 && list[k] - slot == shift) continue;
    shift = list[k] - slot;
    visit(slot, shift);
  }
}

/// The order of the rows, and their shared columns.
struct Groups {
  SharedColumns shared;
  Order order;

  /// Calls visit(l, list, row) for each list of a slice of `rows` rows from position `first` on; returns the mask of
  /// the lanes with which lists begin.
  std::uint32_t for_lists(std::int64_t first, std::int64_t rows, const auto& visit) const {
    std::uint32_t first_lanes = 0;
    for (std::int64_t lane = 0; lane < rows; ++lane) {
      const std::int32_t group = order.groups[first + lane];
      if (lane > 0 && group == order.groups[first + lane - 1]) continue;
      const RowGroup& of = shared.groups[group];
      visit(std::popcount(first_lanes), shared.columns.span().subspan(of.first_column, of.length),
            order.rows[first + lane]);
      first_lanes |= std::uint32_t{1} << lane;
    }
    return first_lanes;
  }
};

/// Sizes of a slice, independent of the slices before it.
struct SliceSize {
  std::int64_t masks = 0, starts = 0;
  std::int32_t slots = 0, least_shift = 0, largest_shift = 0;
};

std::int32_t masks_of_list(std::int32_t slots) { return (slots + slots_per_mask - 1) / slots_per_mask; }

SliceSize size_of_slice(const Groups& groups, std::int64_t first, std::int64_t rows, std::int32_t slots) {
  constexpr auto least = std::numeric_limits<std::int32_t>::min(), most = std::numeric_limits<std::int32_t>::max();
  SliceSize size{.slots = slots, .least_shift = most, .largest_shift = least};
  std::int64_t most_runs = 0;
  const std::uint32_t first_lanes =
      groups.for_lists(first, rows, [&](int, std::span<const std::int32_t> list, std::int32_t row) {
        std::int64_t runs = 0;
        for_runs(list, row, slots, [&](std::int32_t, std::int32_t shift) {
          ++runs;
          size.least_shift = std::min(size.least_shift, shift);
          size.largest_shift = std::max(size.largest_shift, shift);
        });
        most_runs = std::max(most_runs, runs);
      });
  const std::int64_t lists = std::popcount(first_lanes);
  if (slots == 0) size.least_shift = size.largest_shift = 0;
  size.masks = lists * masks_of_list(slots);
  size.starts = lists * most_runs;
  return size;
}

/// Writes the masks and starts of a slice at its known offsets; returns the mask of the lanes with which lists begin.
template <class Start>
std::uint32_t write_lists(const Groups& groups, std::int64_t first, std::int64_t rows, const GroupedSlice& slice,
                          const SliceSize& size, std::uint32_t* masks, Start* starts) {
  std::fill_n(masks + slice.first_mask, size.masks, 0);
  std::fill_n(starts + slice.first_start, size.starts, Start(0));
  const std::int64_t lists = slice.slots > 0 ? size.masks / masks_of_list(slice.slots) : 0;
  return groups.for_lists(first, rows, [&](int l, std::span<const std::int32_t> list, std::int32_t row) {
    std::int64_t run = 0;
    for_runs(list, row, slice.slots, [&](std::int32_t slot, std::int32_t shift) {
      masks[slice.first_mask + slot / slots_per_mask * lists + l] |= std::uint32_t{1} << slot % slots_per_mask;
      starts[slice.first_start + run++ * lists + l] = static_cast<Start>(shift - slice.base);
    });
  });
}

/// Sets bases, offsets and counts of all slices from their sizes.
template <std::floating_point Value>
void place_slices(const std::vector<SliceSize>& sizes, GroupedMatrix<Value>& to) {
  to.slices = Vector<GroupedSlice>(to.slice_count());
  std::int64_t slots = 0;
  for (std::int64_t s = 0; s < to.slice_count(); ++s) {
    const SliceSize& size = sizes[s];
    to.slices[s] = {slots,
                    to.start_count,
                    static_cast<std::uint32_t>(to.mask_count),
                    size.slots,
                    0,
                    to.narrow ? size.least_shift : 0};
    slots += size.slots;
    to.start_count += size.starts;
    to.mask_count += size.masks;
  }
  to.entries = slots * rows_per_slice;
}

/// True for 16-bit starts. Throws std::invalid_argument if 16 bits are required and do not fit.
bool are_narrow(const std::vector<SliceSize>& sizes, std::string_view index) {
  const bool fit = std::ranges::all_of(sizes, [](const SliceSize& size) {
    return std::int64_t{size.largest_shift} - size.least_shift <= std::numeric_limits<std::uint16_t>::max();
  });
  if (!fit && index == "16") throw columns_do_not_fit();
  return fit && index != "32";
}

}  // namespace

template <std::floating_point Value>
GroupedMatrix<Value> lists_of_groups(const CsrMatrix<Value>& matrix, std::string_view index) {
  GroupedMatrix<Value> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  if (to.rows == 0) return to;
  SharedColumns shared = share_columns(matrix.row_offsets.span(), matrix.columns.span(), rows_per_window);
  Order order = sorted_rows(shared, matrix.row_offsets.span());
  const Groups groups{std::move(shared), std::move(order)};
  const auto rows_from = [&](std::int64_t first) { return std::min<std::int64_t>(to.rows - first, rows_per_slice); };

  std::vector<SliceSize> sizes(to.slice_count());
#pragma omp parallel for schedule(static)
  for (std::int64_t s = 0; s < to.slice_count(); ++s) {
    const std::int64_t first = s * rows_per_slice, longest = groups.order.rows[first];
    const std::int64_t slots = matrix.row_offsets[longest + 1] - matrix.row_offsets[longest];
    sizes[s] = size_of_slice(groups, first, rows_from(first), static_cast<std::int32_t>(slots));
  }
  to.narrow = are_narrow(sizes, index);
  place_slices(sizes, to);

  to.masks = Vector<std::uint32_t>(to.mask_count);
  to.narrow_starts = Vector<std::uint16_t>(to.narrow ? to.start_count : 0);
  to.starts = Vector<std::int32_t>(to.narrow ? 0 : to.start_count);
  to.places = Vector<std::uint16_t>(to.rows);
  std::int64_t lists = 0;
#pragma omp parallel for schedule(static) reduction(+ : lists)
  for (std::int64_t s = 0; s < to.slice_count(); ++s) {
    const std::int64_t first = s * rows_per_slice, rows = rows_from(first);
    GroupedSlice& slice = to.slices[s];
    slice.first_lanes =
        to.narrow ? write_lists(groups, first, rows, slice, sizes[s], to.masks.data(), to.narrow_starts.data())
                  : write_lists(groups, first, rows, slice, sizes[s], to.masks.data(), to.starts.data());
    lists += std::popcount(slice.first_lanes);
    for (std::int64_t position = first; position < first + rows; ++position)
      to.places[position] = static_cast<std::uint16_t>(groups.order.rows[position] % rows_per_window);
  }
  to.lists = lists;
  return to;
}

template <std::floating_point Value>
GroupedMatrix<Value> bound_of_groups(const CsrMatrix<Value>& matrix, std::string_view index) {
  GroupedMatrix<Value> to;
  to.rows = to.lists = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.narrow = index == "16";
  std::vector<std::int64_t> lengths;
  for (std::int64_t first = 0; first < matrix.rows; first += rows_per_window) {
    lengths.clear();
    for (std::int64_t row = first; row < std::min<std::int64_t>(matrix.rows, first + rows_per_window); ++row)
      lengths.push_back(matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
    std::ranges::sort(lengths, std::greater<>());
    for (std::int64_t begin = 0; begin < std::ssize(lengths); begin += rows_per_slice) {
      to.entries += rows_per_slice * lengths[begin];
      to.mask_count += rows_per_slice * masks_of_list(static_cast<std::int32_t>(lengths[begin]));
    }
  }
  to.start_count = to.entries;
  return to;
}

template GroupedMatrix<double> lists_of_groups(const CsrMatrix<double>&, std::string_view);
template GroupedMatrix<float> lists_of_groups(const CsrMatrix<float>&, std::string_view);
template GroupedMatrix<double> bound_of_groups(const CsrMatrix<double>&, std::string_view);
template GroupedMatrix<float> bound_of_groups(const CsrMatrix<float>&, std::string_view);

}  // namespace femcg::operators
