// Stored: slices of 32 rows, padded to the longest of each, entry k of the rows before entry k + 1, as in SELL; per
// list of columns that rows of a slice share, one bit per slot and a start of 16 or 32 bits per run of consecutive
// columns; 32 bytes a slice; a 16-bit row index a row. A product moves sizeof(Value) bytes per entry, padding included,
// the lists, 3 bytes a row, and x and y once: for quadrilaterals of degree 3 and 4 8.4 and 8.2 bytes a nonzero, without
// x and y.
//
// Threads take blocks of slices with about equal entries. For each mask of a slice the entries of x of its lists are
// gathered run by run; then the 32 rows are summed slot by slot in registers.

#include "operators/stored/csr_grouped/csr_grouped.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/common/multi_vector_by_rows.hpp"
#include "operators/stored/csr_grouped/grouped_chunk.hpp"
#include "operators/stored/csr_grouped/grouped_matrix.hpp"
#include "operators/stored/csr_grouped/grouped_options.hpp"

namespace femcg::operators {

namespace {

/// Traverses the lists of a slice, mask by mask.
template <class Rows>
class Lists {
 public:
  Lists(const Rows& a, const GroupedSlice& slice)
      : count_(std::popcount(slice.first_lanes)),
        masks_(a.masks + slice.first_mask),
        starts_(a.starts + slice.first_start),
        base_(slice.base) {
    int list = -1;
    for (int lane = 0; lane < rows_per_slice; ++lane) {
      if ((slice.first_lanes >> lane & 1) != 0) first_lanes_[++list] = lane;
      of_lanes_[lane] = list;
    }
    first_lanes_[count_] = rows_per_slice;
    for (int l = 0; l < count_; ++l) runs_[l] = l - count_;  // before the first
  }
  int count() const { return count_; }
  /// First lane of a list; that of the list behind the last one is the end of the slice.
  int first_lane(int l) const { return first_lanes_[l]; }
  /// The list of each lane.
  const std::int32_t* of_lanes() const { return of_lanes_.data(); }

  /// Calls take(l, begin, end, shift) for the parts of runs of list l in the next `slots` slots.
  template <class Take>
  void next(int slots, const Take& take) {
    for (int l = 0; l < count_; ++l) {
      std::uint32_t mask = masks_[l];
      for (int begin = 0; begin < slots;) {
        if ((mask & 1) != 0) runs_[l] += count_;
        mask &= ~1U;
        const int end = mask == 0 ? slots : begin + std::countr_zero(mask);
        take(l, begin, end, base_ + static_cast<std::int32_t>(starts_[runs_[l]]));
        mask >>= (end - begin) % 32;
        begin = end;
      }
    }
    masks_ += count_;
    base_ += slots;
  }

 private:
  int count_;
  const std::uint32_t* masks_;
  const typename Rows::Start* starts_;
  std::int32_t base_;
  std::array<std::int64_t, rows_per_slice> runs_;  ///< index of each list's current run
  std::array<std::int32_t, rows_per_slice + 1> first_lanes_;
  std::array<std::int32_t, rows_per_slice> of_lanes_;
};

/// A value for each list and slot of one mask.
template <class Number>
using OfLists = std::array<Number, slots_per_mask * rows_per_slice>;

/// Prefetch distance of values: those of the next mask, during the work on this one.
constexpr std::int64_t values_ahead = slots_per_mask * rows_per_slice;

/// sums[i] += products of the row at lane i with its list's entries of x in of_x, slot by slot.
template <std::floating_point T, std::floating_point Value>
void add_slots(const Value* values, const T* of_x, int lists, const std::int32_t* list_of_lane, int slots, T* sums) {
  std::array<Quad<T>, rows_per_slice / 4> quads;
  std::memcpy(quads.data(), sums, sizeof quads);
  for (int k = 0; k < slots; ++k, values += rows_per_slice, of_x += lists) {
#pragma GCC unroll 32
    for (int i = 0; i < rows_per_slice; i += 4) {
      if (i % 8 == 0) prefetch_ahead(values + i, values_ahead);
      quads[i / 4] += load_as<T, 4>(values + i) * pick_four(of_x, list_of_lane + i);
    }
  }
  std::memcpy(sums, quads.data(), sizeof quads);
}

/// y = A x on the rows of a slice; returns their contribution to x'y if `with_energy`.
template <std::floating_point T, class Rows>
double multiply_slice(const Rows& a, std::int64_t number, const T* x, T* y, bool with_energy) {
  const GroupedSlice& slice = a.slices[number];
  Lists<Rows> lists(a, slice);
  OfLists<T> of_x;
  alignas(64) std::array<T, rows_per_slice> sums{};
  for (int first = 0; first < slice.slots; first += slots_per_mask) {
    const int slots = std::min(slots_per_mask, slice.slots - first);
    lists.next(slots, [&, count = lists.count()](int l, int begin, int end, std::int32_t shift) {
      for (int k = begin; k < end; ++k) of_x[k * count + l] = x[shift + k];
    });
    add_slots(a.values + (slice.first_slot + first) * rows_per_slice, of_x.data(), lists.count(), lists.of_lanes(),
              slots, sums.data());
  }
  const std::int64_t position = number * rows_per_slice;
  const std::int64_t rows = std::min<std::int64_t>(rows_per_slice, a.rows - position);
  double energy = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int32_t row = a.row_at(position + i);
    y[row] = sums[i];
    if (with_energy) energy += static_cast<double>(x[row]) * static_cast<double>(sums[i]);
  }
  return energy;
}

/// sums[r] += products of `together` neighbouring rows, which share a list, with `slots` rows of X, loaded once for
/// them all.
template <int together, int stride, std::floating_point T, std::floating_point Value>
void add_rows(const Value* values, const std::int32_t* columns, int slots, const T* x, T* sums) {
  // With few sums the latency of additions would show: every second product then has a chain of its own.
  constexpr int chains = together * RowOfMultiVector<T, stride>::packs <= 4 ? 2 : 1;
  RowOfMultiVector<T, stride> of_rows[chains][together];
  for (int r = 0; r < together; ++r) std::memcpy(of_rows[0][r].of, sums + r * stride, stride * sizeof(T));
  const auto add = [&](int k, RowOfMultiVector<T, stride>(&to)[together]) {
    const T* row = x + std::int64_t{columns[k]} * stride;
#pragma GCC unroll 4
    for (int r = 0; r < together; ++r) to[r].add(static_cast<T>(values[k * rows_per_slice + r]), row);
  };
  int k = 0;
  if constexpr (chains == 2)
    for (; k + 2 <= slots; k += 2) {
      add(k, of_rows[0]);
      add(k + 1, of_rows[1]);
    }
  for (; k < slots; ++k) add(k, of_rows[0]);
  for (int r = 0; r < together; ++r) {
    if constexpr (chains == 2) of_rows[0][r].add(of_rows[1][r]);
    std::memcpy(sums + r * stride, of_rows[0][r].of, stride * sizeof(T));
  }
}

/// The same for any number of rows of a list: as many at a time as there are registers for, with independent chains of
/// additions.
template <int stride, std::floating_point T, std::floating_point Value>
void add_list(const Value* values, const std::int32_t* columns, int rows, int slots, const T* x, T* sums) {
  constexpr int packs = RowOfMultiVector<T, stride>::packs, most = packs <= 2 ? 4 : packs <= 4 ? 2 : 1;
  int i = 0;
  if constexpr (most == 4)
    for (; i + 4 <= rows; i += 4) add_rows<4, stride>(values + i, columns, slots, x, sums + i * stride);
  if constexpr (most >= 2)
    for (; i + 2 <= rows; i += 2) add_rows<2, stride>(values + i, columns, slots, x, sums + i * stride);
  for (; i < rows; ++i) add_rows<1, stride>(values + i, columns, slots, x, sums + i * stride);
}

/// Y = A X on the rows of a slice; adds their contributions to x_c'y_c.
template <int stride, std::floating_point T, class Rows>
void multiply_slice(const Rows& a, std::int64_t number, const T* x, T* y, ColumnSums<stride>& energies) {
  const GroupedSlice& slice = a.slices[number];
  Lists<Rows> lists(a, slice);
  OfLists<std::int32_t> columns;
  alignas(64) std::array<T, rows_per_slice * stride> sums{};
  for (int first = 0; first < slice.slots; first += slots_per_mask) {
    const int slots = std::min(slots_per_mask, slice.slots - first);
    lists.next(slots, [&](int l, int begin, int end, std::int32_t shift) {
      for (int k = begin; k < end; ++k) columns[l * slots_per_mask + k] = shift + k;
    });
    const auto* values = a.values + (slice.first_slot + first) * rows_per_slice;
    // The rows of a list use parts of cache lines only: the next values are prefetched line by line.
    for (int i = 0; i < slots * rows_per_slice; i += 8) prefetch_ahead(values + i, values_ahead);
    for (int l = 0; l < lists.count(); ++l)
      add_list<stride>(values + lists.first_lane(l), columns.data() + l * slots_per_mask,
                       lists.first_lane(l + 1) - lists.first_lane(l), slots, x,
                       sums.data() + lists.first_lane(l) * stride);
  }
  const std::int64_t position = number * rows_per_slice;
  const int rows = static_cast<int>(std::min<std::int64_t>(rows_per_slice, a.rows - position));
  for (int i = 0; i < rows; ++i) {
    const std::int64_t row = a.row_at(position + i);
    std::memcpy(y + row * stride, sums.data() + i * stride, stride * sizeof(T));
    add_products_of_rows<stride>(x + row * stride, y + row * stride, energies.of);
  }
}

/// Value is T, or float in a loop of double precision.
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
  /// Entries before the slice that begins with a row, or before the next slice.
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
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
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
    resident_option,
    gpu_memory_option,
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  chosen_residence("csr-grouped", Device::host, given);
  const std::string_view index = index_of_groups(given);
  Vector<T> diagonal = diagonal_of(*from.matrix);
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given))
      return std::make_unique<CsrGrouped<double, float>>(to_single(*from.matrix), std::move(diagonal), index);
  return std::make_unique<CsrGrouped<T>>(*from.matrix, std::move(diagonal), index);
}

/// Shared lists and runs are known only from the columns: at least one list of one run per slice.
template <std::floating_point T>
StorageEstimate estimate_whole(const Extent<T>& of, const Options& given) {
  const CsrMatrix<T>& matrix = *of.matrix;
  const GroupedMatrix<T> bound = bound_of_groups(matrix, index_of_groups(given));
  StorageEstimate estimate{.arrays = arrays_of(bound)};
  const bool rounded = has_single_values<T>(given);
  const std::int64_t value_bytes = rounded ? sizeof(float) : sizeof(T);
  for (StoredArray& array : estimate.arrays)
    if (array.name == "values") array.bytes = value_bytes * bound.entries;
  const std::int64_t start_bytes = bound.narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
  estimate.slack = std::int64_t{sizeof(std::uint32_t)} * bound.mask_count + start_bytes * bound.start_count;
  // For a form a run has about the dofs of a cell along a line, and a list as many rows; for a file half of that is
  // guessed.
  const std::int64_t per_entry = of.form != nullptr ? of.form->space->degree() + 1 : 2;
  const std::int64_t read = estimate.stored() - estimate.slack + estimate.slack / per_entry;
  estimate.product =
      rounded ? with_vectors_of<T, float>(
                    stored_footprint<float>(matrix.rows, matrix.nonzeros(), bound.entries, read, read), matrix.rows)
              : stored_footprint<T>(matrix.rows, matrix.nonzeros(), bound.entries, read, read);
  // Rows of groups, their first entries, and the order of both; the matrix with rounded values.
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

/// Estimate for chunks of a matrix with values of type Value. The lists are known from the columns only, and may be
/// near zero.
template <std::floating_point Value>
StorageEstimate estimate_chunks(const CsrMatrix<Value>& lengths, const Options& given, const ChunkBudget& budget) {
  const RowChunks<GroupedChunk<Value>> chunks(lengths, given, budget);
  StorageEstimate estimate = estimate_of(chunks);
  for (std::size_t i = 0; i < chunks.count(); ++i)
    for (const StoredArray& array : arrays_of(chunks.format(i)))
      if (array.name.starts_with("masks") || array.name.starts_with("starts")) estimate.slack_on_host += array.bytes;
  estimate.slack_on_host = std::min(estimate.slack_on_host, estimate.on_host);
  estimate.making_on_host += 20 * std::int64_t{lengths.rows};  // as for the whole matrix
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  chosen_residence("csr-grouped", of.device, given);
  const std::optional<ChunkBudget> budget =
      of.device == Device::cuda ? chosen_grouped_budget(of, given) : std::optional<ChunkBudget>();
  if (!budget) return estimate_whole(of, given);
  if (!has_single_values<T>(given)) return estimate_chunks(*of.matrix, given, *budget);
  const CsrMatrix<float> lengths = lengths_in<float>(*of.matrix);
  StorageEstimate estimate = estimate_chunks(lengths, given, *budget);
  estimate.making_on_host += bytes_of_rows(lengths);  // the rounded matrix
  return estimate;
}

}  // namespace

template <std::floating_point T>
std::optional<ChunkBudget> chosen_grouped_budget(const Extent<T>& of, const Options& given) {
  const Residence residence = chosen_residence("csr-grouped", Device::cuda, given);
  const bool streamed = residence.where == Residence::Where::streamed;
  if (of.matrix->rows == 0 || (!streamed && stays_whole(residence, estimate_whole(of, given), of.reserved_bytes)))
    return std::nullopt;
  return chunk_budget(residence, of.reserved_bytes);
}
template std::optional<ChunkBudget> chosen_grouped_budget(const Extent<double>&, const Options&);
template std::optional<ChunkBudget> chosen_grouped_budget(const Extent<float>&, const Options&);

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
