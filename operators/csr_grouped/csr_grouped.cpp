// Stored: slices of 32 rows, padded to the longest of each, entry k of the rows before entry k + 1, as in SELL; per
// list of columns that rows of a slice share, a bit a slot and a start of 16 or 32 bits a run of consecutive columns;
// 32 bytes a slice; a place of 16 bits a row. A product moves sizeof(Value) bytes per entry, padding included, the
// lists, 3 bytes a row, and x and y once: for quadrilaterals of degree 3 and 4 8.5 and 8.2 bytes a nonzero in all but x
// and y.
//
// Threads share blocks of slices by entries. For each mask of a slice, what its lists have of x is brought together,
// run by run; then the 32 rows go over it slot by slot with their sums in registers.

#include "operators/csr_grouped/csr_grouped.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "operators/backend/columns.hpp"
#include "operators/backend/parallel_rows.hpp"
#include "operators/csr_grouped/grouped_matrix.hpp"
#include "operators/csr_grouped/grouped_options.hpp"
#include "operators/sparse/columns_by_rows.hpp"
#include "operators/sparse/narrow_columns.hpp"
#include "operators/sparse/single_values.hpp"

namespace femcg::operators {

namespace {

/// Goes along the lists of a slice, mask by mask.
template <class Rows>
class Lists {
 public:
  Lists(const Rows& a, const GroupedSlice& slice)
      : count_(std::popcount(slice.first_lanes)),
        masks_(a.masks + slice.first_mask),
        starts_(a.starts + slice.first_start),
        base_(slice.base) {
    for (int lane = 0, list = -1; lane < rows_per_slice; ++lane) {
      list += static_cast<int>(slice.first_lanes >> lane & 1);
      of_lane_[lane] = std::max(list, 0);
    }
  }
  int count() const { return count_; }
  const std::int32_t* of_lanes() const { return of_lane_.data(); }

  /// take(l, begin, end, shift) for the pieces of runs in the next `slots` slots, which the next masks tell of; begin
  /// and end are within these.
  template <class Take>
  void next(int slots, const Take& take) {
    for (int l = 0; l < count_; ++l) {
      std::uint32_t mask = masks_[l];
      int begin = 0;
      while (begin < slots) {
        if ((mask & 1) != 0) {
          shift_[l] = base_ + static_cast<std::int32_t>(starts_[std::int64_t{next_[l]++} * count_ + l]);
          mask ^= 1;
        }
        const int end = mask == 0 ? slots : begin + std::countr_zero(mask);
        take(l, begin, end, shift_[l]);
        mask = mask == 0 ? 0 : mask >> (end - begin);
        begin = end;
      }
    }
    masks_ += count_;
  }

 private:
  int count_;
  const std::uint32_t* masks_;
  const typename Rows::Start* starts_;
  std::int32_t base_;
  std::array<std::int32_t, rows_per_slice> of_lane_, next_{}, shift_{};
};

constexpr int most_gathered = slots_per_mask * rows_per_slice;

/// sums[i] += the products of the row at lane i, for `slots` slots whose entries of x are there, list by list.
template <std::floating_point T, std::floating_point Value>
void add_slots(const Value* values, const T* of_x, int lists, const std::int32_t* list_of_lane, int slots,
               std::array<Quad<T>, rows_per_slice / 4>& sums) {
  for (int k = 0; k < slots; ++k, values += rows_per_slice, of_x += lists) {
#pragma GCC unroll 32
    for (int i = 0; i < rows_per_slice; i += 4) {
      if (i % 8 == 0) prefetch_ahead(values + i);
      sums[i / 4] += load_as<T, 4>(values + i) * pick_four(of_x, list_of_lane + i);
    }
  }
}
/// The same where each lane has a list of its own.
template <std::floating_point T, std::floating_point Value>
void add_slots(const Value* values, const T* of_x, int slots, std::array<Quad<T>, rows_per_slice / 4>& sums) {
  for (int k = 0; k < slots; ++k, values += rows_per_slice, of_x += rows_per_slice) {
#pragma GCC unroll 32
    for (int i = 0; i < rows_per_slice; i += 4) {
      if (i % 8 == 0) prefetch_ahead(values + i);
      sums[i / 4] += load_as<T, 4>(values + i) * load<4>(of_x + i);
    }
  }
}

/// y = A x on the rows of a slice; returns their part of x'y where it is asked for.
template <std::floating_point T, class Rows>
double multiply_slice(const Rows& a, std::int64_t number, const T* x, T* y, bool with_energy) {
  const GroupedSlice& slice = a.slices[number];
  Lists<Rows> lists(a, slice);
  std::array<T, most_gathered> of_x;
  std::array<Quad<T>, rows_per_slice / 4> sums{};
  for (int first = 0; first < slice.slots; first += slots_per_mask) {
    const int slots = std::min(slots_per_mask, slice.slots - first), count = lists.count();
    lists.next(slots, [&](int l, int begin, int end, std::int32_t shift) {
      const T* from = x + (std::int64_t{shift} + first);
      T* to = of_x.data() + l;
      for (int k = begin; k < end; ++k) to[k * count] = from[k];
    });
    const auto* values = a.values + (slice.first_slot + first) * rows_per_slice;
    if (count == rows_per_slice)
      add_slots(values, of_x.data(), slots, sums);
    else
      add_slots(values, of_x.data(), count, lists.of_lanes(), slots, sums);
  }
  std::array<T, rows_per_slice> of_rows;
  std::memcpy(of_rows.data(), sums.data(), sizeof of_rows);
  const std::int64_t position = number * rows_per_slice;
  const std::int64_t rows = std::min<std::int64_t>(rows_per_slice, a.rows - position);
  double energy = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int32_t row = a.row_at(position + i);
    y[row] = of_rows[i];
    if (with_energy) energy += static_cast<double>(x[row]) * static_cast<double>(of_rows[i]);
  }
  return energy;
}

/// sum += the products of a row with `slots` rows of X.
template <int stride, std::floating_point T, std::floating_point Value>
void add_rows(const Value* values, const std::int32_t* columns, int lists, int slots, const T* x, T* sum) {
  // Where a row of X is few registers, two chains of additions: the latency of one would hold them up.
  constexpr bool two_chains = RowOfColumns<T, stride>::packs <= 4;
  RowOfColumns<T, stride> even, odd;
  std::memcpy(even.of, sum, sizeof even.of);
  const auto add = [&](RowOfColumns<T, stride>& to, int k) {
    to.add(static_cast<T>(values[k * rows_per_slice]), x + std::int64_t{columns[k * lists]} * stride);
  };
  int k = 0;
  if constexpr (two_chains)
    for (; k + 2 <= slots; k += 2) {
      add(even, k);
      add(odd, k + 1);
    }
  for (; k < slots; ++k) add(even, k);
  if constexpr (two_chains) even.add(odd);
  std::memcpy(sum, even.of, sizeof even.of);
}

/// Y = A X on the rows of a slice; adds their part of x_c'y_c.
template <int stride, std::floating_point T, class Rows>
void multiply_slice(const Rows& a, std::int64_t number, const T* x, T* y, ColumnSums<stride>& energies) {
  const GroupedSlice& slice = a.slices[number];
  Lists<Rows> lists(a, slice);
  const std::int64_t position = number * rows_per_slice;
  const int rows = static_cast<int>(std::min<std::int64_t>(rows_per_slice, a.rows - position)), count = lists.count();
  std::array<std::int32_t, most_gathered> columns;
  alignas(64) std::array<T, rows_per_slice * stride> sums{};
  for (int first = 0; first < slice.slots; first += slots_per_mask) {
    const int slots = std::min(slots_per_mask, slice.slots - first);
    lists.next(slots, [&](int l, int begin, int end, std::int32_t shift) {
      for (int k = begin; k < end; ++k) columns[k * count + l] = shift + first + k;
    });
    const auto* values = a.values + (slice.first_slot + first) * rows_per_slice;
    for (int i = 0; i < rows; ++i)
      add_rows<stride>(values + i, columns.data() + lists.of_lanes()[i], count, slots, x, sums.data() + i * stride);
  }
  for (int i = 0; i < rows; ++i) {
    const std::int64_t row = a.row_at(position + i);
    std::memcpy(y + row * stride, sums.data() + i * stride, stride * sizeof(T));
    add_products_of_rows<stride>(x + row * stride, y + row * stride, energies.of);
  }
}

/// Value is T, or single precision in a loop of double precision.
template <std::floating_point T, std::floating_point Value = T>
class CsrGrouped final : public Operator<T> {
 public:
  CsrGrouped(const CsrMatrix<Value>& matrix, Vector<T> diagonal, std::string_view index)
      : Operator<T>(matrix.rows, Device::host), a_(lists_of_groups(matrix, index)), diagonal_(std::move(diagonal)) {
    allocate_on(a_, Device::host);
    const Entries<Value> source = entries_of(matrix);
    a_.move_values(source, [&](std::int64_t threads, const auto& map, auto& values) {
      move_values_on_host(threads, map, source, values);
    });
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of_groups<T>(a_); }
  std::map<std::string, std::string> chosen() const override { return choice_of_groups(a_); }

 private:
  /// Entries before a row that begins a slice, or before the next slice.
  auto work() const {
    return [this](std::int64_t row) {
      const std::int64_t slice = (row + rows_per_slice - 1) / rows_per_slice;
      return slice < a_.slice_count() ? a_.slices[slice].first_slot * rows_per_slice : a_.entries;
    };
  }
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const bool with_energy = energy != nullptr;
    const double sum = a_.with_pointers([&](const auto& a) {
      return sum_over_row_blocks(a.rows, work(), [&](std::int64_t first, std::int64_t last) {
        double of_block = 0;
        for (std::int64_t slice = first / rows_per_slice; slice * rows_per_slice < last; ++slice)
          of_block += multiply_slice(a, slice, x.data(), y.data(), with_energy);
        return of_block;
      });
    });
    if (with_energy) *energy->data() = sum;
  }
  void multiply_columns(const Columns<T>& x, Columns<T>& y, double* energies) const override {
    with_stride(x.stride(), [&]<int stride>() {
      const auto sums = a_.with_pointers([&](const auto& a) {
        return sum_over_row_blocks(a.rows, work(), [&](std::int64_t first, std::int64_t last) {
          ColumnSums<stride> of_block;
          for (std::int64_t slice = first / rows_per_slice; slice * rows_per_slice < last; ++slice)
            multiply_slice<stride>(a, slice, x.data(), y.data(), of_block);
          return of_block;
        });
      });
      if (energies != nullptr) std::copy(sums.of.begin(), sums.of.end(), energies);
    });
  }

  GroupedMatrix<Value> a_;
  Vector<T> diagonal_;
};

constexpr std::array options{
    OptionDescription{"index", "auto, 16 or 32", "auto", "bits of a stored column", is_index},
    values_option,
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  const std::string_view index = index_of_groups(given);
  Vector<T> diagonal = diagonal_of(*from.matrix);
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given))
      return std::make_unique<CsrGrouped<double, float>>(to_single(*from.matrix), std::move(diagonal), index);
  return std::make_unique<CsrGrouped<T>>(*from.matrix, std::move(diagonal), index);
}

/// How many rows and columns share is known from the columns alone: at least a list a slice, of one run.
template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const CsrMatrix<T>& matrix = *of.matrix;
  const GroupedMatrix<T> bound = bound_of_groups(matrix, index_of_groups(given));
  StorageEstimate estimate{.arrays = arrays_of(bound)};
  const bool rounded = has_single_values<T>(given);
  const std::int64_t value_bytes = rounded ? sizeof(float) : sizeof(T);
  for (StoredArray& array : estimate.arrays)
    if (array.name == "values") array.bytes = value_bytes * bound.entries;
  const std::int64_t start_bytes = bound.narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
  estimate.slack = std::int64_t{sizeof(std::uint32_t)} * bound.mask_count + start_bytes * bound.start_count;
  // The rows of groups, their first entries, and the order of both; the matrix with its values rounded.
  const std::int64_t lists = 20 * std::int64_t{matrix.rows};
  const std::int64_t rounded_matrix = rounded ? bytes_of_rows(matrix) - 4 * matrix.nonzeros() : 0;
  if (of.device == Device::host) {
    estimate.making = lists + rounded_matrix;
  } else {
    estimate.making = matrix.row_offsets.bytes() + value_bytes * matrix.nonzeros();
    estimate.making_on_host = lists + rounded_matrix;
  }
  return estimate;
}

}  // namespace

std::string_view index_of_groups(const Options& given) { return value_of(options[0], "csr-grouped", given); }

template <std::floating_point Value>
std::map<std::string, std::string> choice_of_groups(const GroupedMatrix<Value>& a) {
  return {{"index", a.narrow ? "16" : "32"}, {"rows_per_list", fmt::format("{:.2f}", rows_per_list(a))}};
}
template std::map<std::string, std::string> choice_of_groups(const GroupedMatrix<double>&);
template std::map<std::string, std::string> choice_of_groups(const GroupedMatrix<float>&);

OperatorDescription csr_grouped() {
  return {.name = "csr-grouped",
          .stores = "slices of 32 rows; rows that share their columns store them once, by runs",
          .source = "Baskaran & Bordawekar 2009; Balay et al. 1997; Kreutzer et al. 2014",
          .needs = Needs::matrix,
          .cuda = true,
          .options = options,
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>}};
}

}  // namespace femcg::operators
