// Stored: step by step, the values and 32-bit columns of `threads` entries of every row; the 32-bit number of steps of
// each row. A product moves sizeof(T) + 4 bytes per entry, rows padded to a multiple of `threads`, 4 a row, and x and y
// once.
//
// On the host a slot is what a thread is on a GPU: 256 of them go through all steps with their sums in the L1 cache,
// as far as the longest of their rows.

#include "operators/ellr_t/ellr_t.hpp"

#include <array>
#include <cassert>

#include "operators/backend/parallel_rows.hpp"
#include "operators/ellr_t/ellr_t_matrix.hpp"
#include "operators/options.hpp"
#include "operators/sparse/column_products.hpp"
#include "operators/sparse/padding.hpp"
#include "operators/sparse/stored_diagonal.hpp"

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
                      "threads a row; auto: one, or up to 8 where the GPU reads less with them", is_thread_count},
    OptionDescription{"block_size", "a multiple of 32 up to 1024", "256", "GPU: threads a block", is_block_size},
};

template <std::floating_point T>
std::int64_t steps_of(const CsrMatrix<T>& matrix, std::int64_t row, std::int64_t threads) {
  return (matrix.row_offsets[row + 1] - matrix.row_offsets[row] + threads - 1) / threads;
}

/// Bytes that a GPU reads of an array of words of `word` bytes: memory comes in pieces, of 64 bytes on an H200, each of
/// which goes as far as the longest of the rows in it.
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

/// More threads per row pad it more, but keep rows of different lengths out of one another's pieces of memory. They
/// also add up what they have, and four steps of more than 8 are longer than most rows: on an H200 up to 8 pay as soon
/// as one thread would make the GPU read a tenth more.
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

/// Moves the entries to their places.
template <std::floating_point T>
void fill(const CsrMatrix<T>& matrix, EllrTMatrix<T>& to) {
  to.columns = Vector<std::int32_t>(to.entries());
  to.values = Vector<T>(to.entries());
  // The threads that multiply a block fill it, which places its pages; step by step, since a row is scattered.
  for_row_blocks(to.steps.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t step = 0; step < to.most_steps; ++step)
      for (std::int64_t row = first; row < last; ++row)
        for (int t = 0; t < to.threads; ++t) {
          const Entry<T> entry = padded_entry(matrix, row, step * to.threads + t);
          const std::int64_t at = step * to.slots + row * to.threads + t;
          to.columns[at] = entry.column;
          to.values[at] = entry.value;
        }
  });
}

/// sums[i] is the product of slot first + i with x.
template <std::floating_point T>
void multiply_slots(const EllrTMatrix<T>& a, const T* x, T* sums, std::int64_t first, std::int64_t last) {
  const std::int32_t* steps = a.steps.data();
  const std::int32_t most = *std::max_element(steps + first / a.threads, steps + last / a.threads);
  std::fill(sums, sums + (last - first), T(0));
  for (std::int32_t k = 0; k < most; ++k) {
    const std::int64_t begin = k * a.slots + first, ahead = k + 1 < most ? a.slots : 0;
    add_products(a.values.data() + begin, a.columns.data() + begin, x, sums, last - first, ahead);
  }
}

/// The sum of a row's slots, pairs of pairs.
template <std::floating_point T>
T sum_of_slots(T* sums, int threads) {
  for (int distance = threads / 2; distance > 0; distance /= 2)
    for (int t = 0; t < distance; ++t) sums[t] += sums[t + distance];
  return sums[0];
}

template <std::floating_point T>
class EllrT final : public Operator<T> {
 public:
  explicit EllrT(EllrTMatrix<T> a) : Operator<T>(a.rows, Device::host), a_(std::move(a)) {}

  void diagonal(Vector<T>& d) const override {
    assert(d.size() == this->size());
    for_row_blocks(this->size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T sum = 0;  // padding adds zeros
        for (std::int64_t k = 0; k < a_.steps[row]; ++k)
          for (std::int64_t at = k * a_.slots + row * a_.threads; at < k * a_.slots + (row + 1) * a_.threads; ++at)
            if (a_.columns[at] == row) sum += a_.values[at];
        d[row] = sum;
      }
    });
  }

  std::map<std::string, std::string> chosen() const override { return {{"T", std::to_string(a_.threads)}}; }
  Footprint footprint() const override { return footprint_of(a_); }

 private:
  void multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    std::array<T, slots_at_once> sums;
    const std::int64_t rows_at_once = slots_at_once / a_.threads;
    for (; first < last; first += rows_at_once) {
      const std::int64_t end = std::min(last, first + rows_at_once);
      multiply_slots(a_, x, sums.data(), first * a_.threads, end * a_.threads);
      for (std::int64_t row = first; row < end; ++row)
        y[row] = sum_of_slots(sums.data() + (row - first) * a_.threads, a_.threads);
    }
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const T* from = x.data();
    T* to = y.data();
    const double sum = sum_over_row_blocks(this->size(), EqualRows{}, [=, this](std::int64_t first, std::int64_t last) {
      multiply_rows(from, to, first, last);
      return energy != nullptr ? dot_of_rows(from, to, first, last) : 0.0;
    });
    if (energy != nullptr) *energy->data() = sum;
  }

  EllrTMatrix<T> a_;
};

}  // namespace

std::span<const OptionDescription> ellr_t_options() { return options; }

template <std::floating_point T>
EllrTMatrix<T> list_of_ellr_t(const CsrMatrix<T>& matrix, int threads) {
  constexpr std::int64_t warp = 32;
  const std::int64_t rows = (std::int64_t{matrix.rows} + warp - 1) / warp * warp;
  EllrTMatrix<T> to;
  to.rows = matrix.rows;
  to.nonzeros = matrix.nonzeros();
  to.threads = threads;
  to.most_steps = (longest_row(matrix) + threads - 1) / threads;
  to.slots = rows * threads;
  check_padding(matrix, to.most_steps * threads, to.most_steps * to.slots, "operator 'ellr-t'");
  to.steps = Vector<std::int32_t>(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    to.steps[row] = row < matrix.rows ? static_cast<std::int32_t>(steps_of(matrix, row, threads)) : 0;
    to.steps_in_all += to.steps[row];
  }
  return to;
}

namespace {

/// The list for the threads per row that are given, or the best.
template <std::floating_point T>
EllrTMatrix<T> chosen_list(const CsrMatrix<T>& matrix, const Options& given) {
  const std::string_view text = value_of(options[0], "ellr-t", given);
  return list_of_ellr_t(matrix, text == "auto" ? best_threads(matrix) : static_cast<int>(*parse_positive(text)));
}

int chosen_block_size(Device device, const Options& given) {
  if (device == Device::host) require_default(options[1], "ellr-t", given, "it has T only");
  return static_cast<int>(*parse_positive(value_of(options[1], "ellr-t", given)));
}

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellr_t(const Ingredients<T>& from, const Options& given) {
  const int block_size = chosen_block_size(from.device, given);
  EllrTMatrix<T> a = chosen_list(*from.matrix, given);
  if (from.device == Device::cuda) return make_ellr_t_cuda(a, block_size, *from.matrix, diagonal_of(*from.matrix));
  fill(*from.matrix, a);
  return std::make_unique<EllrT<T>>(std::move(a));
}

template <std::floating_point T>
OperatorBytes bytes_of_ellr_t(const Extent<T>& of, const Options& given) {
  chosen_block_size(of.device, given);
  return converted_bytes(of, footprint_of(chosen_list(*of.matrix, given)));
}

template std::unique_ptr<Operator<double>> make_ellr_t(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_ellr_t(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_ellr_t(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_ellr_t(const Extent<float>&, const Options&);

}  // namespace femcg::operators
