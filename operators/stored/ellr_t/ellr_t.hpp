#pragma once

#include <bit>

#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// ELLPACK-R for T threads per row (Vazquez et al. 2012; Ortega et al. 2013). Thread t of row i is slot i T + t; entry
/// k T + t of a row is that slot's entry of step k, and all slots of step k come before those of step k + 1. Padding up
/// to a row's own last step is multiplied, further padding up to the longest row is skipped.
template <std::floating_point T>
struct EllrT {
  using Value = T;
  static constexpr std::string_view name = "ellr-t";

  /// Options T and, on the GPU, block_size. Throws std::invalid_argument if padding takes too much.
  EllrT(const CsrMatrix<T>& matrix, Device device, const Options& given);

  /// Options of every chunk of the matrix, with one number of threads per row.
  static Options options_of_chunks(const CsrMatrix<T>& matrix, Options given);

  static void arrays(auto& self, auto&& visit) {
    visit("steps of rows", self.steps, self.slots / self.threads);
    visit("columns", self.columns, self.entries);
    visit("values", self.values, self.entries);
  }

  /// Moves the entries of a slot, padding included, by one thread.
  struct Slots {
    Entries<T> source;
    std::int64_t threads, most_steps, slots;
    constexpr std::int64_t count(std::int64_t) const { return most_steps; }
    constexpr std::int64_t from(std::int64_t slot, std::int64_t k) const {
      return source.place(slot / threads, k * threads + slot % threads);
    }
    constexpr std::int64_t to(std::int64_t slot, std::int64_t k) const { return k * slots + slot; }
  };
  void move_entries(const Entries<T>& source, auto&& move) {
    move(slots, Slots{source, threads, most_steps, slots}, columns, values);
  }

  /// Sets block_size, on a GPU.
  void launch_as(const Options& given);

  std::int64_t read_bytes(Device) const {
    return steps_in_all * threads * std::int64_t{sizeof(T) + sizeof(std::int32_t)} + steps.bytes();
  }
  std::map<std::string, std::string> chosen() const { return {{"T", std::to_string(threads)}}; }

  auto work() const { return EqualRows{}; }
  struct ByRows {
    using Value = T;
    struct Row {
      std::int32_t number, count;
    };
    std::int32_t rows;
    int log_threads;
    std::int64_t slots;
    const std::int32_t *steps, *columns;
    const T* values;
    constexpr Row find(std::int32_t row) const { return {row, steps[row] << log_threads}; }
    constexpr std::int64_t at(const Row& row, std::int32_t k) const {
      const std::int32_t step = k >> log_threads, thread = k - (step << log_threads);
      return step * slots + (std::int64_t{row.number} << log_threads) + thread;
    }
    constexpr std::int32_t column(const Row& row, std::int32_t k) const { return columns[at(row, k)]; }
    constexpr T value(const Row& row, std::int32_t k) const { return values[at(row, k)]; }
  };
  ByRows by_rows() const {
    return {rows, std::countr_zero(static_cast<unsigned>(threads)), slots, steps.data(), columns.data(), values.data()};
  }
  double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;

  std::int32_t rows;
  std::int64_t nonzeros;
  int block_size;                 ///< threads of a block of the GPU
  int threads;                    ///< per row: a power of two up to 32
  std::int64_t most_steps;        ///< of the longest row
  std::int64_t slots;             ///< rows times threads, rows rounded up to a multiple of 32
  std::int64_t entries;           ///< most_steps times slots
  std::int64_t steps_in_all = 0;  ///< of all rows
  Vector<std::int32_t> steps;     ///< of each row: its entries over threads, rounded up
  Vector<std::int32_t> columns;   ///< [most_steps][slots]
  Vector<T> values;               ///< [most_steps][slots]
};

OperatorDescription ellr_t();
Makers ellr_t_on_gpu();

}  // namespace femcg::operators
