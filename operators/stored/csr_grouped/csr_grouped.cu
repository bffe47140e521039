// csr-grouped on the GPU: one warp a slice, one row a lane, so that loads of 32 values of neighbouring rows are
// contiguous; shared columns and entries of x pass through the L1 cache once per list (grouped_rows.cuh). Moves
// sizeof(Value) bytes per entry, padding included, 4 / 32 bytes per column of a list and 2 or 4 per run of consecutive
// ones, 3 a row, and x and y once (Kreutzer et al. 2014; Baskaran & Bordawekar 2009).
//
// Sums are in a fixed order: two runs give the same bits.

#include <type_traits>

#include "operators/backend/cuda/product.cuh"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/common/chunked_operator.cuh"
#include "operators/stored/common/conversion.cuh"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/common/turning_positions.cuh"
#include "operators/stored/csr_grouped/csr_grouped.hpp"
#include "operators/stored/csr_grouped/grouped_chunk.hpp"
#include "operators/stored/csr_grouped/grouped_multi_vector.cuh"
#include "operators/stored/csr_grouped/grouped_options.hpp"
#include "operators/stored/csr_grouped/grouped_rows.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;
/// Entries of a row in flight together. With x'Ax sums in double precision need more of them and fewer threads: on an
/// H200 this takes 9 to 13% off a CG iteration.
template <class T, bool with_energy>
constexpr int at_once = sizeof(T) == 4 || with_energy ? 16 : 8;
/// Blocks per multiprocessor.
template <class T, class Value, bool with_energy>
constexpr int resident_blocks = sizeof(T) == 4       ? 3
                                : with_energy        ? 2
                                : sizeof(Value) == 4 ? 4
                                                     : 3;

/// Data of a row, loaded before its entries.
struct Row {
  GroupedSlice slice = {};
  std::int32_t number = -1;  ///< -1 for none
};

template <class Rows>
__device__ Row row_at(const Rows& a, std::int64_t position) {
  Row row;
  if (position / rows_per_slice < a.slice_count()) row.slice = a.slices[position / rows_per_slice];
  if (position < a.rows) row.number = a.row_at(position);
  return row;
}

/// One warp a slice; the data of the next slice are prefetched while this one is multiplied.
template <class T, class Rows, bool with_energy>
__global__ void __launch_bounds__(block_threads, resident_blocks<T, typename Rows::Value, with_energy>)
    grouped_kernel(Rows a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  const std::int64_t blocks = (a.rows + block_threads - 1) / block_threads;
  double of_thread = 0;
  cuda::TurningPositions<block_threads> positions;
  Row next = row_at(a, positions.next());
  for (std::int64_t first = 0; first < blocks; first += gridDim.x) {
    const Row row = next;
    next = row_at(a, positions.next());
    if (row.number < 0) continue;
    const T sum = cuda::sum_row<at_once<T, with_energy>>(a, row.slice, lane, x);
    y[row.number] = sum;
    if constexpr (with_energy) of_thread += cuda::energy_of_row(__ldg(x + row.number), sum);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// Launches of y = A x, with 16-bit and with 32-bit starts.
template <std::floating_point T, std::floating_point Value>
class GroupedProduct {
 public:
  void operator()(const GroupedMatrix<Value>& matrix, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    matrix.with_pointers([&]<class Rows>(const Rows& a) {
      if constexpr (std::is_same_v<typename Rows::Start, std::uint16_t>)
        narrow_(a, a.rows, x, y, energy);
      else
        wide_(a, a.rows, x, y, energy);
    });
  }

 private:
  template <class Rows>
  static cuda::Product<T, Rows> product_of() {
    return {grouped_kernel<T, Rows, false>, grouped_kernel<T, Rows, true>, block_threads};
  }
  cuda::Product<T, GroupedRows<std::uint16_t, Value>> narrow_ = product_of<GroupedRows<std::uint16_t, Value>>();
  cuda::Product<T, GroupedRows<std::int32_t, Value>> wide_ = product_of<GroupedRows<std::int32_t, Value>>();
};

/// Launches of chunks of a matrix (chunked_operator.cuh).
template <std::floating_point T, std::floating_point Value>
class LaunchesOfGroups {
 public:
  using Format = GroupedChunk<Value>;

  explicit LaunchesOfGroups(const Format& any) : rows_per_list_(rows_per_list(any.a)) {}
  void multiply(const Format& chunk, const Vector<T>& x, Vector<T>& y) const { product_(chunk.a, x, y, nullptr); }
  void multiply_multi_vector(const Format& chunk, const MultiVector<T>& x, MultiVector<T>& y) const {
    chunk.a.with_pointers([&](const auto& a) { multi_vector_product_.multiply(a, rows_per_list_, x, y, nullptr); });
  }

 private:
  double rows_per_list_;
  GroupedProduct<T, Value> product_;
  cuda::GroupedMultiVectorProduct multi_vector_product_;
};

template <std::floating_point T, std::floating_point Value>
class CudaCsrGrouped final : public Operator<T> {
 public:
  CudaCsrGrouped(const CsrMatrix<Value>& matrix, Vector<T> diagonal, std::string_view index)
      : Operator<T>(matrix.rows, Device::cuda), a_(lists_of_groups(matrix, index)), diagonal_(std::move(diagonal)) {
    allocate_on(a_, Device::cuda);
    const cuda::EntriesOnGpu<Value> source(matrix, false);
    a_.move_values(source.pointers(), [&](std::int64_t threads, const auto& map, auto& values) {
      cuda::move_values_on_gpu(threads, map, source.pointers(), values);
    });
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  Footprint footprint() const override { return footprint_of_groups<T>(a_); }
  std::map<std::string, std::string> chosen() const override { return choice_of_groups(a_); }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override { product_(a_, x, y, energy); }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    a_.with_pointers([&](const auto& a) { multi_vector_product_.multiply(a, rows_per_list(a_), x, y, energies); });
  }

  GroupedMatrix<Value> a_;  ///< on the GPU
  Vector<T> diagonal_;      ///< on the host
  GroupedProduct<T, Value> product_;
  cuda::GroupedMultiVectorProduct multi_vector_product_;
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  const std::string_view index = index_of_groups(given);
  const auto budget =
      chosen_grouped_budget<T>({Device::cuda, from.form, from.matrix.get(), from.reserved_bytes}, given);
  const auto make = [&]<class Value>(const CsrMatrix<Value>& matrix) -> std::unique_ptr<Operator<T>> {
    Vector<T> diagonal = diagonal_of(*from.matrix);
    if (budget)
      return std::make_unique<cuda::ChunkedOnGpu<T, GroupedChunk<Value>, LaunchesOfGroups<T, Value>>>(
          matrix, std::move(diagonal), given, *budget);
    return std::make_unique<CudaCsrGrouped<T, Value>>(matrix, std::move(diagonal), index);
  };
  if constexpr (std::is_same_v<T, double>)
    if (has_single_values<T>(given)) return make(to_single(*from.matrix));
  return make(*from.matrix);
}

}  // namespace

Makers csr_grouped_on_gpu() { return {make<double>, make<float>}; }

}  // namespace femcg::operators
