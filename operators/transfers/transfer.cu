// Transfers between levels on a GPU.
//
//   prolongation by cells   one thread for each owned fine node k: x[owned[k]] += sum_j E[node[k]][j]
//   e[coarse[cell][j]] restriction by cells    one thread for each (cell, j): the sum over the cell's owned nodes; then
//   one thread for each
//                           coarse unknown adds up its places
//   stored matrices         8 lanes for each row
//
// By cells, an unknown moves 9 bytes of tables and 4 bytes of each vector; a coarse node of a cell 12 bytes.

#include "operators/backend/launch.cuh"
#include "operators/transfers/places_of_unknowns.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

std::int64_t blocks_for(std::int64_t threads) { return (threads + block_threads - 1) / block_threads; }
__device__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * block_threads + static_cast<std::int64_t>(threadIdx.x);
}

/// Tables of CellTransferTables and PlacesOfUnknowns on the GPU.
struct CellTables {
  int coarse_nodes;
  const std::int32_t *coarse, *owned_begin, *owned, *cell_of_owned, *places;
  const std::uint8_t* node;
  const std::int64_t* places_begin;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    prolong_kernel(CellTables of, std::int64_t count, const T* embedding, const T* e, T* x) {
  const std::int64_t k = thread_number();
  if (k >= count) return;
  const std::int32_t* coarse = of.coarse + static_cast<std::int64_t>(of.cell_of_owned[k]) * of.coarse_nodes;
  const T* row = embedding + of.node[k] * of.coarse_nodes;
  T sum = 0;
  for (int j = 0; j < of.coarse_nodes; ++j)
    if (coarse[j] >= 0) sum = fma(row[j], e[coarse[j]], sum);
  x[of.owned[k]] += sum;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    cell_sums_kernel(CellTables of, std::int64_t count, const T* embedding, const T* r, const T* q, T* sums) {
  const std::int64_t place = thread_number();
  if (place >= count) return;
  const std::int64_t cell = place / of.coarse_nodes;
  const int j = static_cast<int>(place % of.coarse_nodes);
  T sum = 0;
  for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) {
    const std::int32_t i = of.owned[k];
    sum = fma(embedding[of.node[k] * of.coarse_nodes + j], r[i] - q[i], sum);
  }
  sums[place] = sum;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(CellTables of, std::int64_t count, const T* sums, T* coarse) {
  const std::int64_t unknown = thread_number();
  if (unknown >= count) return;
  T sum = 0;
  for (std::int64_t k = of.places_begin[unknown]; k < of.places_begin[unknown + 1]; ++k) sum += sums[of.places[k]];
  coarse[unknown] = sum;
}

template <std::floating_point T>
class CudaCellTransfer final : public Transfer<T> {
 public:
  explicit CudaCellTransfer(const CellTransferTables& of)
      : coarse_size_(of.coarse_size),
        coarse_nodes_(of.coarse_nodes),
        embedding_(on_gpu(in_precision(of.embedding))),
        coarse_(on_gpu(of.coarse)),
        owned_begin_(on_gpu(of.owned_begin)),
        owned_(on_gpu(of.owned)),
        node_(on_gpu(of.node)),
        sums_(of.coarse.size(), Device::cuda) {
    Vector<std::int32_t> cell_of_owned(of.owned.size());
    for (std::int32_t cell = 0; cell < of.cells(); ++cell)
      for (std::int32_t k = of.owned_begin[cell]; k < of.owned_begin[cell + 1]; ++k) cell_of_owned[k] = cell;
    cell_of_owned_ = on_gpu(cell_of_owned);
    const PlacesOfUnknowns places = places_of_unknowns(of.coarse, of.coarse_size);
    places_begin_ = on_gpu(places.begin);
    places_ = on_gpu(places.places);
  }

  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    cuda::launch(prolong_kernel<T>, blocks_for(owned_.size()), block_threads, 0, tables(), owned_.size(),
                 embedding_.data(), coarse.data(), fine.data());
  }
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    cuda::launch(cell_sums_kernel<T>, blocks_for(sums_.size()), block_threads, 0, tables(), sums_.size(),
                 embedding_.data(), r.data(), q.data(), sums_.data());
    cuda::launch(gather_kernel<T>, blocks_for(coarse_size_), block_threads, 0, tables(),
                 static_cast<std::int64_t>(coarse_size_), sums_.data(), coarse.data());
  }
  std::int64_t stored_bytes() const override {
    return embedding_.bytes() + coarse_.bytes() + owned_begin_.bytes() + owned_.bytes() + node_.bytes() +
           cell_of_owned_.bytes() + places_begin_.bytes() + places_.bytes() + sums_.bytes();
  }

 private:
  template <class Entry>
  static Vector<Entry> on_gpu(const Vector<Entry>& of) {
    return copied(of, Device::cuda);
  }
  static Vector<T> in_precision(const Vector<float>& of) {
    Vector<T> values(of.size());
    for (std::int64_t i = 0; i < of.size(); ++i) values[i] = of[i];
    return values;
  }
  CellTables tables() const {
    return {coarse_nodes_,         coarse_.data(), owned_begin_.data(), owned_.data(),
            cell_of_owned_.data(), places_.data(), node_.data(),        places_begin_.data()};
  }

  std::int32_t coarse_size_;
  int coarse_nodes_;
  Vector<T> embedding_;
  Vector<std::int32_t> coarse_, owned_begin_, owned_, cell_of_owned_, places_;
  Vector<std::uint8_t> node_;
  Vector<std::int64_t> places_begin_;
  mutable Vector<T> sums_;  ///< [cells][coarse nodes]
};

constexpr int lanes = 8;

/// y_i = sum_k value_k (x - q)_column_k, added to y with `adds`; q may be null.
template <class T, bool adds>
__global__ void __launch_bounds__(block_threads)
    rows_kernel(std::int64_t rows, const std::int64_t* offsets, const std::int32_t* columns, const T* values,
                const T* x, const T* q, T* y) {
  const std::int64_t row = thread_number() / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  T sum = 0;
  if (row < rows)
    for (std::int64_t k = offsets[row] + lane; k < offsets[row + 1]; k += lanes) {
      const T entry = q != nullptr ? x[columns[k]] - q[columns[k]] : x[columns[k]];
      sum = fma(values[k], entry, sum);
    }
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(cuda::all_lanes, sum, distance, lanes);
  if (row < rows && lane == 0) y[row] = adds ? y[row] + sum : sum;
}

template <std::floating_point T>
struct CudaRows {
  explicit CudaRows(const RectangularMatrix& of)
      : count(of.rows), offsets(copied(of.row_offsets, Device::cuda)), columns(copied(of.column, Device::cuda)) {
    Vector<T> rounded(of.value.size());
    for (std::int64_t k = 0; k < rounded.size(); ++k) rounded[k] = static_cast<T>(of.value[k]);
    values = copied(rounded, Device::cuda);
  }
  std::int64_t bytes() const { return offsets.bytes() + columns.bytes() + values.bytes(); }
  template <bool adds>
  void multiply(const T* x, const T* q, Vector<T>& y) const {
    cuda::launch(rows_kernel<T, adds>, blocks_for(count * lanes), block_threads, 0, count, offsets.data(),
                 columns.data(), values.data(), x, q, y.data());
  }

  std::int64_t count;
  Vector<std::int64_t> offsets;
  Vector<std::int32_t> columns;
  Vector<T> values;
};

template <std::floating_point T>
class CudaMatrixTransfer final : public Transfer<T> {
 public:
  explicit CudaMatrixTransfer(const RectangularMatrix& prolongation)
      : prolongation_(prolongation), restriction_(transposed(prolongation)) {}

  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    prolongation_.template multiply<true>(coarse.data(), nullptr, fine);
  }
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    restriction_.template multiply<false>(r.data(), q.data(), coarse);
  }
  std::int64_t stored_bytes() const override { return prolongation_.bytes() + restriction_.bytes(); }

 private:
  CudaRows<T> prolongation_, restriction_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_cell_transfer(const CellTransferTables& tables) {
  return std::make_unique<CudaCellTransfer<T>>(tables);
}
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_matrix_transfer(const RectangularMatrix& prolongation) {
  return std::make_unique<CudaMatrixTransfer<T>>(prolongation);
}

template std::unique_ptr<Transfer<double>> make_cuda_cell_transfer(const CellTransferTables&);
template std::unique_ptr<Transfer<float>> make_cuda_cell_transfer(const CellTransferTables&);
template std::unique_ptr<Transfer<double>> make_cuda_matrix_transfer(const RectangularMatrix&);
template std::unique_ptr<Transfer<float>> make_cuda_matrix_transfer(const RectangularMatrix&);

}  // namespace femcg::operators
