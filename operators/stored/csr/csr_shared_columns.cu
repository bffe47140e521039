// Compressed rows with columns stored once per group of rows with equal columns. A warp multiplies the rows of one
// RowGroup together: a lane loads a few columns and their entries of x, and then goes through the rows one after the
// other with these, in memory order. So x and the columns go through the L1 cache once for all rows of a group; what
// remains is the stream of values, whose loads are independent. Moves sizeof(Value) + 4 / s bytes per nonzero, where s
// is the number of rows that share a list of columns, and 2 sizeof(T) + 12 a row.
//
// Sums are in a fixed order: two runs give the same bits.

#include "operators/backend/cuda/product.cuh"
#include "operators/stored/assembled/shared_columns.hpp"
#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/multi_vector_by_rows.cuh"
#include "operators/stored/common/stored_footprint.hpp"
#include "operators/stored/csr/csr_launch.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256, warps = block_threads / cuda::threads_per_warp;
constexpr int lanes = cuda::threads_per_warp;

/// Entries of x that a lane holds at a time.
constexpr int held = 4, columns_of_pass = held * lanes;
/// Rows whose entries a lane has in flight: four if most groups have that many. Two take fewer registers, which allows
/// more warps.
constexpr int many_together = 4, few_together = 2;
constexpr double sharing_of_many = 4;
/// Blocks per multiprocessor.
template <class T, int together>
constexpr int shared_columns_blocks = (sizeof(T) == 8 ? 2 : 3) + (together == few_together ? 1 : 0);

/// The matrix as plain pointers.
template <class Value>
struct Rows {
  std::int64_t group_count;
  const RowGroup* groups;
  const std::int32_t* rows;           ///< of each group
  const std::int64_t* first_entries;  ///< of these rows
  const std::int32_t* columns;
  const Value* values;
};

/// Sums over a warp of `count` values per lane, a power of two. Lane l gets that of value l / (lanes / count).
template <int count, class T>
__device__ T sums_of_warp(T (&of_lane)[count], int lane) {
  int distance = lanes / 2;
#pragma unroll
  for (int left = count; left > 1; left /= 2, distance /= 2) {
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < left / 2; ++i) {
      const T kept = upper ? of_lane[i + left / 2] : of_lane[i], given = upper ? of_lane[i] : of_lane[i + left / 2];
      of_lane[i] = kept + __shfl_xor_sync(cuda::all_lanes, given, distance);
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2) of_lane[0] += __shfl_xor_sync(cuda::all_lanes, of_lane[0], distance);
  return of_lane[0];
}

/// A group and its rows, distributed over a warp: lane r has number and first entry of row r.
struct GroupRows {
  RowGroup group;
  std::int32_t row;
  std::int64_t first_entry;
};
template <class Value>
__device__ GroupRows load_group(const Rows<Value>& a, std::int64_t g, int lane) {
  GroupRows of{a.groups[g], 0, 0};
  if (lane < of.group.count) {
    of.row = a.rows[of.group.first_row + lane];
    of.first_entry = a.first_entries[of.group.first_row + lane];
  }
  return of;
}

/// The entries of x that a lane holds for some columns of a group, and their indices in a row. Beyond the last column
/// it holds the last one, times zero.
template <class T>
struct HeldColumns {
  T x[held];
  int place[held];

  __device__ HeldColumns(const std::int32_t* columns, int first, int length, const T* from) {
#pragma unroll
    for (int j = 0; j < held; ++j) {
      const int k = first + j * lanes;
      place[j] = min(k, length - 1);
      x[j] = __ldg(from + __ldg(columns + place[j]));
      if (k >= length) x[j] = 0;
    }
  }
};

/// Computes y on a group's rows; returns this lane's contribution to x'y.
template <int together, class T, class Value>
__device__ double multiply_group(const Rows<Value>& a, const GroupRows& of, const T* x, T* y, int lane) {
  const RowGroup& group = of.group;
  const std::int32_t* columns = a.columns + group.first_column;
  const int rounds = (group.count + together - 1) / together, rows_at_once = (group.count + rounds - 1) / rounds;
  HeldColumns<T> now(columns, lane, group.length, x);
  double energy = 0;
#pragma unroll 1
  for (int begin = 0; begin < group.count; begin += rows_at_once) {
    const int end = min(begin + rows_at_once, group.count);
    T sums[together] = {};
    const Value* values[together];
#pragma unroll
    for (int r = 0; r < together; ++r)
      values[r] = a.values + __shfl_sync(cuda::all_lanes, of.first_entry, min(begin + r, end - 1));
#pragma unroll 1
    for (int first = 0; first < group.length; first += columns_of_pass) {
      Value value[together][held];
#pragma unroll
      for (int r = 0; r < together; ++r)
        if (begin + r < end)
#pragma unroll
          for (int j = 0; j < held; ++j) value[r][j] = cuda::load_once(values[r] + now.place[j]);
      // Prefetch of the next columns, of these rows, or of the next rows from the beginning.
      HeldColumns<T> next = now;
      if (group.length > columns_of_pass) {
        const int after = first + columns_of_pass < group.length ? first + columns_of_pass : 0;
        next = HeldColumns<T>(columns, after + lane, group.length, x);
      }
#pragma unroll
      for (int r = 0; r < together; ++r)
        if (begin + r < end)
#pragma unroll
          for (int j = 0; j < held; ++j) sums[r] += static_cast<T>(value[r][j]) * now.x[j];
      now = next;
    }
    const T sum = sums_of_warp(sums, lane);
    const int r = begin + lane / (lanes / together);
    const std::int32_t row = __shfl_sync(cuda::all_lanes, of.row, min(r, end - 1));
    if (lane % (lanes / together) == 0 && r < end) {
      y[row] = sum;
      energy += cuda::energy_of_row(__ldg(x + row), sum);
    }
  }
  return energy;
}

/// One block takes a contiguous range of groups, its warps alternately: groups of few and of many rows recur in a
/// certain order, so that a warp at a fixed place in that order could have more work than others.
template <class T, class Value, int together, bool with_energy>
__global__ void __launch_bounds__(block_threads, shared_columns_blocks<T, together>)
    shared_columns_kernel(Rows<Value> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t begin = a.group_count * blockIdx.x / gridDim.x, end = a.group_count * (blockIdx.x + 1) / gridDim.x;
  double of_thread = 0;
  const auto turn = [&](int round) { return begin + round * warps + (warp + round) % warps; };
  GroupRows next{};
  if (turn(0) < end) next = load_group(a, turn(0), lane);
  for (int round = 0; begin + round * warps < end; ++round) {
    const bool any = turn(round) < end;
    const GroupRows of = next;
    if (turn(round + 1) < end) next = load_group(a, turn(round + 1), lane);
    if (!any || of.group.length == 0) {
      if (any && lane < of.group.count) y[of.row] = 0;
      continue;
    }
    of_thread += multiply_group<together>(a, of, x, y, lane);
  }
  if constexpr (with_energy) cuda::give_energy(of_thread, energy, parts);
}

/// The matrix by rows, for multi-vectors. A run is a group.
template <class Number>
struct SharedByRows : Rows<Number> {
  using Value = Number;
  struct Run {
    std::int32_t first, last, length;
    std::int64_t first_column;
  };
  struct Row {
    std::int32_t number, count;
    std::int64_t first_entry, first_column;
  };
  __host__ __device__ std::int64_t runs() const { return this->group_count; }
  __device__ Run run(std::int64_t number) const {
    const RowGroup group = this->groups[number];
    return {group.first_row, group.first_row + group.count, group.length, group.first_column};
  }
  __device__ Row find(const Run& run, std::int32_t position) const {
    return {this->rows[position], run.length, this->first_entries[position], run.first_column};
  }
  __device__ std::int32_t column(const Row& row, std::int32_t k) const { return this->columns[row.first_column + k]; }
  __device__ Value value(const Row& row, std::int32_t k) const { return this->values[row.first_entry + k]; }
};

template <std::floating_point T, std::floating_point Value>
class SharedColumnsCsr final : public Operator<T> {
 public:
  SharedColumnsCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal)
      : SharedColumnsCsr(matrix, std::move(diagonal), share_columns(matrix.row_offsets.span(), matrix.columns.span())) {
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override { return {{"columns", "shared"}}; }
  Footprint footprint() const override {
    const std::int64_t bytes =
        groups_.bytes() + rows_.bytes() + first_entries_.bytes() + columns_.bytes() + values_.bytes();
    return with_vectors_of<T, Value>(
        stored_footprint<Value>(this->size(), values_.size(), values_.size(), bytes, bytes), this->size());
  }

 private:
  SharedColumnsCsr(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const SharedColumns& shared)
      : Operator<T>(matrix.rows, Device::cuda),
        groups_(copied(shared.groups, Device::cuda)),
        rows_(copied(shared.rows, Device::cuda)),
        first_entries_(copied(shared.first_entries, Device::cuda)),
        columns_(copied(shared.columns, Device::cuda)),
        values_(copied(matrix.values, Device::cuda)),
        diagonal_(std::move(diagonal)),
        product_(static_cast<double>(values_.size()) >= sharing_of_many * static_cast<double>(columns_.size())
                     ? product_with<many_together>()
                     : product_with<few_together>()) {}

  template <int together>
  static cuda::Product<T, Rows<Value>> product_with() {
    return {shared_columns_kernel<T, Value, together, false>, shared_columns_kernel<T, Value, together, true>,
            block_threads};
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(rows(), groups_.size() * lanes, x, y, energy);
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    const double mean_length = static_cast<double>(values_.size()) / std::max(1, this->size());
    multi_vector_product_.multiply<cuda::Neighbours::of_row>(SharedByRows<Value>{rows()}, mean_length, x, y, energies);
  }
  Rows<Value> rows() const {
    return {groups_.size(), groups_.data(), rows_.data(), first_entries_.data(), columns_.data(), values_.data()};
  }

  Vector<RowGroup> groups_;
  Vector<std::int32_t> rows_;
  Vector<std::int64_t> first_entries_;
  Vector<std::int32_t> columns_;
  Vector<Value> values_;
  Vector<T> diagonal_;  ///< on the host
  cuda::Product<T, Rows<Value>> product_;
  cuda::MultiVectorProduct multi_vector_product_;
};

}  // namespace

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_shared_columns_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal) {
  return std::make_unique<SharedColumnsCsr<T, Value>>(matrix, std::move(diagonal));
}

template std::unique_ptr<Operator<double>> make_shared_columns_csr(const CsrMatrix<double>&, Vector<double>);
template std::unique_ptr<Operator<double>> make_shared_columns_csr(const CsrMatrix<float>&, Vector<double>);
template std::unique_ptr<Operator<float>> make_shared_columns_csr(const CsrMatrix<float>&, Vector<float>);

}  // namespace femcg::operators
