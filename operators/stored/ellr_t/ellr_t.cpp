// Stored: step by step, the values and 32-bit columns of `threads` entries of every row; the 32-bit number of steps of
// each row. A product moves sizeof(T) + 4 bytes per entry, with rows padded to a multiple of `threads`, 4 a row, and x
// and y once.
//
// On the host a slot stands for a thread of a GPU: 256 slots go through the steps of their longest row with their sums
// in the L1 cache.

#include "operators/stored/ellr_t/ellr_t.hpp"

#include <array>

#include "operators/stored/common/multi_vector_products.hpp"
#include "operators/stored/common/padding.hpp"
#include "operators/stored/common/stored_description.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t most_threads = 32, slots_at_once = 256;

bool is_thread_count(std::string_view text) { return text == "auto" || is_power_of_two(text, 1, most_threads); }
bool is_block_size(std::string_view text) {
  const auto number = parse_positive(text);
  return number && *number % 32 == 0 && *number <= 1024;
}

constexpr std::array options{
    OptionDescription{"T", "auto, 1, 2, 4, 8, 16 or 32", "auto",
                      "threads per row; auto: one, or up to 8 where the GPU reads less with them", is_thread_count},
    OptionDescription{"block_size", "a multiple of 32 up to 1024", "256", "GPU: threads per block", is_block_size},
    resident_option,
    gpu_memory_option,
};

template <std::floating_point T>
std::int64_t steps_of(const CsrMatrix<T>& matrix, std::int64_t row, std::int64_t threads) {
  return (matrix.row_offsets[row + 1] - matrix.row_offsets[row] + threads - 1) / threads;
}

/// Bytes that a GPU reads of an array of words of `word` bytes: memory is read in pieces of 64 bytes on an H200, each
/// as far as the longest of its rows.
template <std::floating_point T>
std::int64_t bytes_of_pieces(const CsrMatrix<T>& matrix, std::int64_t threads, std::int64_t word) {
  constexpr std::int64_t piece = 64;
  const std::int64_t rows_per_piece = std::max<std::int64_t>(1, piece / (word * threads));
  const std::int64_t bytes_per_step = std::max(piece, word * threads);
  std::int64_t steps = 0;
#pragma omp parallel for schedule(static) reduction(+ : steps)
  for (std::int64_t first = 0; first < matrix.rows; first += rows_per_piece) {
    std::int64_t most = 0;
    for (std::int64_t row = first; row < std::min<std::int64_t>(matrix.rows, first + rows_per_piece); ++row)
      most = std::max(most, steps_of(matrix, row, threads));
    steps += most;
  }
  return steps * bytes_per_step;
}

/// More threads per row mean more padding, but fewer rows of different lengths per piece of memory. More than 8 threads
/// do not pay, since four steps are then longer than most rows: on an H200 up to 8 pay as soon as one thread would make
/// the GPU read a tenth more.
template <std::floating_point T>
int best_threads(const CsrMatrix<T>& matrix) {
  const auto bytes_with = [&](int threads) {
    return bytes_of_pieces(matrix, threads, sizeof(T)) + bytes_of_pieces(matrix, threads, sizeof(std::int32_t));
  };
  constexpr int most_that_pay = 8;
  const std::int64_t alone = bytes_with(1);
  int best = 1;
  std::int64_t least = alone;
  for (int threads = 2; threads <= most_that_pay; threads *= 2) {
    const std::int64_t bytes = bytes_with(threads);
    if (bytes >= least) continue;
    best = threads;
    least = bytes;
  }
  return 10 * alone > 11 * least ? best : 1;
}

/// The threads per row of option T, or the best.
template <std::floating_point T>
int chosen_threads(const CsrMatrix<T>& matrix, const Options& given) {
  const std::string_view text = value_of(options[0], "ellr-t", given);
  return text == "auto" ? best_threads(matrix) : static_cast<int>(*parse_positive(text));
}

int chosen_block_size(Device device, const Options& given) {
  if (device == Device::host) require_default(options[1], "ellr-t", given, "it has T only");
  return static_cast<int>(*parse_positive(value_of(options[1], "ellr-t", given)));
}

/// sums[i] = product of slot first + i with x.
template <std::floating_point T>
void multiply_slots(const EllrT<T>& a, const T* x, T* sums, std::int64_t first, std::int64_t last) {
  const std::int32_t* steps = a.steps.data();
  const std::int32_t most = *std::max_element(steps + first / a.threads, steps + last / a.threads);
  std::fill(sums, sums + (last - first), T(0));
  for (std::int32_t k = 0; k < most; ++k) {
    const std::int64_t begin = k * a.slots + first, ahead = k + 1 < most ? a.slots : 0;
    add_products(a.values.data() + begin, a.columns.data() + begin, x, sums, last - first, ahead);
  }
}

/// Sum of a row's slots, pairwise.
template <std::floating_point T>
T sum_of_slots(T* sums, int threads) {
  for (int distance = threads / 2; distance > 0; distance /= 2)
    for (int t = 0; t < distance; ++t) sums[t] += sums[t + distance];
  return sums[0];
}

}  // namespace

template <std::floating_point T>
EllrT<T>::EllrT(const CsrMatrix<T>& matrix, Device device, const Options& given)
    : rows(matrix.rows),
      nonzeros(matrix.nonzeros()),
      block_size(chosen_block_size(device, given)),
      threads(chosen_threads(matrix, given)),
      most_steps((longest_row(matrix) + threads - 1) / threads) {
  constexpr std::int64_t warp = 32;
  const std::int64_t padded_rows = (rows + warp - 1) / warp * warp;
  slots = padded_rows * threads;
  entries = most_steps * slots;
  check_padding(matrix, most_steps * threads, entries, "operator 'ellr-t'");
  steps = Vector<std::int32_t>(padded_rows);
  for (std::int64_t row = 0; row < padded_rows; ++row) {
    steps[row] = row < rows ? static_cast<std::int32_t>(steps_of(matrix, row, threads)) : 0;
    steps_in_all += steps[row];
  }
}

template <std::floating_point T>
void EllrT<T>::launch_as(const Options& given) {
  block_size = chosen_block_size(Device::cuda, given);
}

template <std::floating_point T>
Options EllrT<T>::options_of_chunks(const CsrMatrix<T>& matrix, Options given) {
  given["T"] = std::to_string(chosen_threads(matrix, given));
  return given;
}

template <std::floating_point T>
double EllrT<T>::multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const {
  std::array<T, slots_at_once> sums;
  const std::int64_t rows_at_once = slots_at_once / threads;
  for (std::int64_t begin = first; begin < last; begin += rows_at_once) {
    const std::int64_t end = std::min(last, begin + rows_at_once);
    multiply_slots(*this, x, sums.data(), begin * threads, end * threads);
    for (std::int64_t row = begin; row < end; ++row)
      y[row] = sum_of_slots(sums.data() + (row - begin) * threads, threads);
  }
  return with_energy ? dot_of_rows(x, y, first, last) : 0.0;
}

OperatorDescription ellr_t() {
  return describe_stored<EllrT>("ELLPACK-R for T threads per row, rows padded to a multiple of T",
                                "Vazquez et al. 2012; Ortega et al. 2013", options);
}

// Used by the GPU's version.
template struct EllrT<double>;
template struct EllrT<float>;

}  // namespace femcg::operators
