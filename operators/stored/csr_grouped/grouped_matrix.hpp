#pragma once

#include <cstdint>
#include <string_view>

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// Rows of a slice, multiplied by one warp of a GPU, one row a lane.
constexpr int rows_per_slice = 32;
/// Rows of a window, within which rows are grouped and sorted by length. Quadrilaterals of degree p have p^2 unknowns
/// per cell: 4608 rows are whole slices of each of their kinds, for all p up to 4.
constexpr std::int32_t rows_per_window = 4608;
/// Slots of a mask.
constexpr int slots_per_mask = 32;

/// 32 rows, and the lists of their columns: as many lists as lanes begin one. All lists have a column for each slot;
/// where a row is shorter, its list restarts and its values are zero.
///
/// Columns of a list ascend by one in runs, since the dofs of a cell, an edge or a face are numbered consecutively. The
/// column at slot k is k + shift, and a run has one shift. Bit k % 32 of a list's mask k / 32 is set if a run begins at
/// slot k; the shifts, less `base`, are the list's starts. List l of n has its mask i at first_mask + i n + l, and its
/// start r at first_start + r n + l, so that adjacent lanes' loads are contiguous.
struct alignas(16) GroupedSlice {
  std::int64_t first_slot;    ///< slots of previous slices: entry k of the row at lane i is 32 (first_slot + k) + i
  std::int64_t first_start;   ///< index in the starts
  std::uint32_t first_mask;   ///< index in the masks
  std::int32_t slots;         ///< entries of its longest row
  std::uint32_t first_lanes;  ///< bit i: a list begins with the row at lane i
  std::int32_t base;          ///< the least of its shifts; 0 for 32-bit starts
};

/// A matrix as plain pointers. `Start` is std::uint16_t or std::int32_t.
template <class Start_, class Value_>
struct GroupedRows {
  using Start = Start_;
  using Value = Value_;

  std::int64_t rows;
  const GroupedSlice* slices;
  const std::uint32_t* masks;
  const Start* starts;
  const std::uint16_t* places;
  const Value* values;

  constexpr std::int64_t slice_count() const { return (rows + rows_per_slice - 1) / rows_per_slice; }
  /// The row at a position, 32 times the slice plus the lane.
  constexpr std::int32_t row_at(std::int64_t position) const {
    return static_cast<std::int32_t>(position / rows_per_window * rows_per_window) + places[position];
  }
};

/// The slices of a matrix.
template <std::floating_point Value>
struct GroupedMatrix {
  std::int64_t rows = 0, nonzeros = 0;
  std::int64_t entries = 0;  ///< padding included
  std::int64_t lists = 0;    ///< over all slices
  std::int64_t mask_count = 0, start_count = 0;
  bool narrow = false;  ///< starts have 16 bits
  Vector<GroupedSlice> slices;
  Vector<std::uint32_t> masks;
  Vector<std::int32_t> starts;
  Vector<std::uint16_t> narrow_starts;
  Vector<std::uint16_t> places;  ///< of the row at each position, within its window
  Vector<Value> values;

  static void arrays(auto& self, auto&& visit) {
    visit("slices", self.slices, self.slice_count());
    visit("masks of runs", self.masks, self.mask_count);
    visit("starts of runs", self.starts, self.narrow ? 0 : self.start_count);
    visit("starts of runs, 16 bits", self.narrow_starts, self.narrow ? self.start_count : 0);
    visit("rows at positions", self.places, self.rows);
    visit("values", self.values, self.entries);
  }

  /// Moves a row's values with its padding, by one thread a position.
  struct Positions {
    Entries<Value> source;
    GroupedRows<std::int32_t, Value> rows;
    constexpr std::int64_t count(std::int64_t position) const { return rows.slices[position / rows_per_slice].slots; }
    constexpr std::int64_t from(std::int64_t position, std::int64_t k) const {
      return source.place(position < rows.rows ? rows.row_at(position) : position, k);
    }
    constexpr std::int64_t to(std::int64_t position, std::int64_t k) const {
      return (rows.slices[position / rows_per_slice].first_slot + k) * rows_per_slice + position % rows_per_slice;
    }
  };
  void move_values(const Entries<Value>& source, auto&& move) {
    move(slice_count() * rows_per_slice, Positions{source, pointers(starts.data())}, values);
  }

  std::int64_t slice_count() const { return (rows + rows_per_slice - 1) / rows_per_slice; }
  /// Calls work(rows) with the starts in their width.
  template <class Work>
  decltype(auto) with_pointers(const Work& work) const {
    return narrow ? work(pointers(narrow_starts.data())) : work(pointers(starts.data()));
  }

 private:
  template <class Start>
  GroupedRows<Start, Value> pointers(const Start* from) const {
    return {rows, slices.data(), masks.data(), from, places.data(), values.data()};
  }
};

/// The lists of a matrix, without its values. `index` is the bits of a start: 16, 32, or auto for 16 if they fit.
/// Throws std::invalid_argument if 16 bits are required and do not fit.
template <std::floating_point Value>
GroupedMatrix<Value> lists_of_groups(const CsrMatrix<Value>& matrix, std::string_view index);

/// Upper bound of the lists, from row lengths only: no two rows share a list, no two columns a run.
template <std::floating_point Value>
GroupedMatrix<Value> bound_of_groups(const CsrMatrix<Value>& matrix, std::string_view index);

}  // namespace femcg::operators
