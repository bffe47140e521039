// Two kernels: one thread per facet computes its contributions to its nodes, one thread per unknown adds up those of
// its facets. A matrix of the same terms would have ten times the data. The first kernel is limited by memory, and runs
// concurrently with the product of the cells, which is limited by arithmetic.

#include "operators/cellwise/matrix_free/robin/robin_on_gpu.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "operators/backend/cuda/reductions.cuh"
#include "operators/backend/side_stream.hpp"
#include "operators/cellwise/matrix_free/robin/on_gpu.hpp"

namespace femcg::operators {

namespace {

using namespace cuda;

constexpr int robin_threads = 128;

/// RobinTerms as plain pointers.
template <class T>
struct Terms {
  int points;
  std::int64_t facets;
  std::int64_t row_count;
  const T *table, *weights;
  const std::int32_t* positions;
  const int4* rows;  ///< see RobinTerms::Row
  const std::int32_t* more;

  /// Calls take(place) for each contribution to a row, in the order of the facets.
  template <class Take>
  __device__ void for_each_place(const int4& row, const Take& take) const {
    take(row.y);
    if (row.z >= 0) take(row.z);
    if (row.w < 0) return;
    for (std::int32_t e = row.w + 1, last = row.w + __ldg(more + row.w); e <= last; ++e) take(__ldg(more + e));
  }
};

/// Computes the facets' contributions to their nodes; *energy = sum over facets and points of weight u^2. One thread a
/// facet, in a grid-stride loop.
template <class T, int nodes>
__global__ void __launch_bounds__(robin_threads)
    facets_kernel(Terms<T> of, const T* x, T* contributions, double* energy, Parts<1> parts) {
  constexpr int group = RobinTerms::group;
  const std::int64_t threads = std::int64_t{gridDim.x} * robin_threads;
  double sum = 0;
  for (std::int64_t facet = cuda::thread_number(); facet < of.facets; facet += threads) {
    const std::int64_t first = facet / group, k = facet % group;
    T of_x[nodes], of_y[nodes];
#pragma unroll
    for (int a = 0; a < nodes; ++a) {
      const std::int32_t position = __ldg(of.positions + (first * nodes + a) * group + k);
      of_x[a] = position >= 0 ? __ldg(x + position) : T(0);
      of_y[a] = 0;
    }
#pragma unroll 4
    for (int q = 0; q < of.points; ++q) {
      const T weight = __ldg(of.weights + (first * of.points + q) * group + k);
      T phi[nodes], u = 0;
#pragma unroll
      for (int a = 0; a < nodes; ++a) {
        phi[a] = __ldg(of.table + q * nodes + a);
        u += phi[a] * of_x[a];
      }
      const T flux = weight * u;
      sum += static_cast<double>(flux) * static_cast<double>(u);
#pragma unroll
      for (int a = 0; a < nodes; ++a) of_y[a] += phi[a] * flux;
    }
#pragma unroll
    for (int a = 0; a < nodes; ++a) contributions[(first * nodes + a) * group + k] = of_y[a];
  }
  const double sums[1] = {sum};
  sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy = results[0]; });
}

/// y += contributions of the facets, and *energy += their energy. One thread a row.
template <class T>
__global__ void __launch_bounds__(robin_threads)
    rows_kernel(Terms<T> of, const T* contributions, T* y, const double* of_facets, double* energy) {
  const std::int64_t i = cuda::thread_number();
  if (energy != nullptr && i == 0) *energy += *of_facets;
  if (i >= of.row_count) return;
  const int4 row = __ldg(of.rows + i);
  const T before = y[row.x];
  T sum = 0;
  of.for_each_place(row, [&](std::int32_t place) { sum += contributions[place]; });
  y[row.x] = before + sum;
}

/// Adds the diagonal of the Robin terms. One thread a row.
template <class T>
__global__ void diagonal_kernel(Terms<T> of, int nodes, T* diagonal) {
  constexpr int group = RobinTerms::group;
  const std::int64_t i = cuda::thread_number();
  if (i >= of.row_count) return;
  T sum = 0;
  of.for_each_place(of.rows[i], [&](std::int32_t place) {
    const std::int32_t first = place / (nodes * group), a = place / group % nodes;
    for (int q = 0; q < of.points; ++q) {
      const T phi = of.table[q * nodes + a];
      sum += phi * phi * of.weights[(std::int64_t{first} * of.points + q) * group + place % group];
    }
  });
  diagonal[of.rows[i].x] += sum;
}

template <class T>
using FacetsKernel = void (*)(Terms<T>, const T*, T*, double*, Parts<1>);

/// The kernel for edges, triangles or quadrilaterals of degree 1 to 4.
template <class T>
FacetsKernel<T> facets_kernel_of(int nodes) {
  switch (nodes) {
    case 2:
      return facets_kernel<T, 2>;
    case 3:
      return facets_kernel<T, 3>;
    case 4:
      return facets_kernel<T, 4>;
    case 5:
      return facets_kernel<T, 5>;
    case 6:
      return facets_kernel<T, 6>;
    case 9:
      return facets_kernel<T, 9>;
    case 10:
      return facets_kernel<T, 10>;
    case 15:
      return facets_kernel<T, 15>;
    case 16:
      return facets_kernel<T, 16>;
    case 25:
      return facets_kernel<T, 25>;
    default:
      throw std::invalid_argument("matrix-free has degree 1 to 4");
  }
}

std::int64_t blocks_of(std::int64_t threads) { return cuda::blocks_of(threads, robin_threads); }

}  // namespace

Vector<int4> rows_on_gpu(std::span<const RobinTerms::Row> rows) {
  static_assert(sizeof(RobinTerms::Row) == sizeof(int4));
  Vector<int4> there(std::ssize(rows), Device::cuda);
  copy_bytes(rows.data(), Device::host, there.data(), Device::cuda, there.bytes());
  return there;
}

template <std::floating_point T>
struct RobinOnGpu<T>::State {
  State(int its_nodes, int its_points, std::int64_t its_facets, Vector<T> its_table, Vector<T> its_weights,
        Vector<std::int32_t> its_positions, Vector<int4> its_rows, Vector<std::int32_t> the_rest)
      : nodes(its_nodes),
        points(its_points),
        facets(its_facets),
        kernel(facets_kernel_of<T>(nodes)),
        table(std::move(its_table)),
        weights(std::move(its_weights)),
        positions(std::move(its_positions)),
        rows(std::move(its_rows)),
        more(std::move(the_rest)),
        most_blocks(resident_blocks(kernel, robin_threads)),
        parts(most_blocks),
        energy(Device::cuda),
        contributions(positions.size(), Device::cuda) {}
  explicit State(const RobinTerms& terms)
      : State(terms.nodes, terms.points, terms.facets, on_gpu<T>(terms.table), on_gpu<T>(terms.weights),
              on_gpu(terms.positions), rows_on_gpu(terms.rows), on_gpu(terms.more)) {}
  explicit State(const typename RobinOnGpu<double>::State& of)
      : State(of.nodes, of.points, of.facets, rounded<T>(of.table), rounded<T>(of.weights),
              copied(of.positions, Device::cuda), copied(of.rows, Device::cuda), copied(of.more, Device::cuda)) {}

  Terms<T> pointers() const {
    return {points, facets, rows.size(), table.data(), weights.data(), positions.data(), rows.data(), more.data()};
  }
  std::int64_t lists_bytes() const { return weights.bytes() + positions.bytes() + rows.bytes() + more.bytes(); }
  std::int64_t contribution_bytes() const { return positions.size() * static_cast<std::int64_t>(sizeof(T)); }
  void begin(const T* x) {
    side.begin([&] {
      launch(kernel, std::min(blocks_of(facets), most_blocks), robin_threads, 0, pointers(), x, contributions.data(),
             energy.data(), parts.parts());
    });
  }
  void end(T* y, double* to) {
    side.join();
    launch(rows_kernel<T>, blocks_of(std::max<std::int64_t>(1, rows.size())), robin_threads, 0, pointers(),
           contributions.data(), y, energy.data(), to);
  }

  int nodes, points;
  std::int64_t facets;
  FacetsKernel<T> kernel;
  Vector<T> table, weights;
  Vector<std::int32_t> positions;
  Vector<int4> rows;
  Vector<std::int32_t> more;
  std::int64_t most_blocks;
  PartsStorage<1> parts;
  Scalar energy;            ///< of the facets
  Vector<T> contributions;  ///< at `positions`
  SideStream side;
};

template <std::floating_point T>
RobinOnGpu<T>::RobinOnGpu(const RobinTerms& terms)
    : state_(terms.facets > 0 ? std::make_unique<State>(terms) : nullptr) {}
template <std::floating_point T>
RobinOnGpu<T>::RobinOnGpu(const RobinOnGpu<double>* of)
    : state_(of->empty() ? nullptr : std::make_unique<State>(*of->state_)) {}
template <std::floating_point T>
RobinOnGpu<T>::~RobinOnGpu() = default;

template <std::floating_point T>
bool RobinOnGpu<T>::empty() const {
  return state_ == nullptr;
}
template <std::floating_point T>
std::int64_t RobinOnGpu<T>::stored_bytes() const {
  return empty() ? 0 : state_->lists_bytes() + state_->table.bytes() + state_->contribution_bytes();
}
template <std::floating_point T>
std::int64_t RobinOnGpu<T>::moved_bytes() const {
  return empty() ? 0 : state_->lists_bytes() + 2 * state_->contribution_bytes();
}
template <std::floating_point T>
void RobinOnGpu<T>::begin(const Vector<T>& x) const {
  if (!empty()) state_->begin(x.data());
}
template <std::floating_point T>
void RobinOnGpu<T>::end(Vector<T>& y, Scalar* energy) const {
  if (!empty()) state_->end(y.data(), energy != nullptr ? energy->data() : nullptr);
}
template <std::floating_point T>
void RobinOnGpu<T>::add_diagonal(Vector<T>& diagonal) const {
  if (empty()) return;
  launch(diagonal_kernel<T>, blocks_of(state_->rows.size()), robin_threads, 0, state_->pointers(), state_->nodes,
         diagonal.data());
}

template class RobinOnGpu<double>;
template class RobinOnGpu<float>;

}  // namespace femcg::operators
