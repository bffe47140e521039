#pragma once

// Products of a thread block with the hexahedra of one patch, by sum factorisation as in tensor_cells.cuh.

#include "operators/cellwise/matrix_free/cells/hexahedron_warp_cells.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_cells.cuh"

namespace femcg::operators::cuda {

/// One thread per hexahedron, in registers except for the data of a straight-sided one, which are in shared memory.
template <class T, int n, CellGeometry kind>
struct ThreadHexahedra {
  static constexpr int threads = cells_per_wave, points = n * n * n;
  static constexpr bool small = sizeof(T) == 4, affine = is_affine(kind);
  static constexpr bool boxes = kind == CellGeometry::boxes;
  static constexpr int blocks_per_multiprocessor = n == 2  ? (affine  ? (small ? 8 : 5)
                                                              : small ? 6
                                                                      : 4)
                                                   : boxes ? (small ? 5 : 3)
                                                           : (small ? 4 : 2);
  using Geometry = TensorGeometry<T, 3, n, kind>;
  using Ahead = CellsAhead<threads, 1, T, points, Geometry>;
  static constexpr bool keeps_words = kind == CellGeometry::vertices && n > 2;
  static constexpr int scratch_size = keeps_words ? threads * Geometry::words : 0;

  TablesOf<T, n, kind> tables;
  Geometry geometry;

  __device__ Ahead ahead(const Patches& all, const CellPatch& patch) const {
    Ahead of;
    of.load(all, patch, 0, geometry);
    return of;
  }
  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch,
                             const Ahead& ahead) const {
    if constexpr (keeps_words)
      thread_cells<n>(all, patch, x, y, geometry, WithWords{*this, scratch + threadIdx.x}, ahead);
    else
      thread_cells<n>(all, patch, x, y, geometry, *this, ahead);
  }

  __device__ void multiply(const Box<T, 3>& box, T (&u)[points]) const { multiply_box<T, n>(tables, box, u); }
  __device__ void multiply(const CellPairs<T>& pairs, T (&u)[points]) const { multiply_pairs(pairs, u); }
  /// Plane by plane of the points, so that only one plane's derivatives are live. If D takes registers too, the planes
  /// are iterations of a loop: else the compiler would keep data of several planes in registers, and spill.
  template <class Cell>
  __device__ void multiply(const Cell& cell, T (&u)[points]) const {
    along<1, false>(tables.interpolate, u);
    along<n, false>(tables.interpolate, u);
    along<plane, false>(tables.interpolate, u);
    T sum[points];
#pragma unroll
    for (int q = 0; q < points; ++q) sum[q] = T(0);
    if constexpr (n > 2 && !affine) {
#pragma unroll 1
      for (int t = 0; t < n; ++t) {
        add_plane(
            cell, t, 0, [t](int k) { return t + k < n ? t + k : t + k - n; }, u, sum);
        to_the_end(u);
        to_the_end(sum);
      }
    } else {
#pragma unroll
      for (int t = 0; t < n; ++t)
        add_plane(
            cell, t, t, [](int k) { return k; }, u, sum);
    }
    along<plane, true>(tables.interpolate, sum);
    along<n, true>(tables.interpolate, sum);
    along<1, true>(tables.interpolate, sum);
#pragma unroll
    for (int q = 0; q < points; ++q) u[q] = sum[q];
  }

 private:
  static constexpr int plane = n * n;

  /// A thread's words in shared memory, where adjacent threads have adjacent values.
  struct Words {
    const T* first;
    __device__ T operator[](int k) const { return first[k * threads]; }
  };
  /// The cell's product with these words.
  struct WithWords {
    const ThreadHexahedra& cells;
    T* words;
    template <class Cell>
    __device__ void multiply(const Cell& cell, T (&u)[points]) const {
#pragma unroll
      for (int k = 0; k < Geometry::words; ++k) words[k * threads] = cell.words[k];
      cells.multiply(Words{words}, u);
    }
  };

  /// Moves the first plane of u behind the last one.
  static __device__ void to_the_end(T (&u)[points]) {
    T first[plane];
#pragma unroll
    for (int p = 0; p < plane; ++p) first[p] = u[p];
#pragma unroll
    for (int q = 0; q < points; ++q) u[q] = q + plane < points ? u[q + plane] : first[q + plane - points];
  }

  /// sum += contribution of the points of plane t. Plane `own` of u and of the sum is t, and plane k is number(k).
  template <class Cell, class Number>
  __device__ void add_plane(const Cell& cell, int t, int own, const Number& number, const T (&u)[points],
                            T (&sum)[points]) const {
    T of_x[plane], of_y[plane], of_z[plane];
#pragma unroll
    for (int p = 0; p < plane; ++p) {
      of_x[p] = of_y[p] = u[own * plane + p];
      of_z[p] = T(0);
#pragma unroll
      for (int k = 0; k < n; ++k) of_z[p] += tables.differentiate[t][number(k)] * u[k * plane + p];
    }
    along<1, false>(tables.differentiate, of_x);
    along<n, false>(tables.differentiate, of_y);
#pragma unroll
    for (int s = 0; s < n; ++s) {
      if constexpr (keeps_words) asm volatile("" ::: "memory");  // delays loads of the words of later lines
      const auto line = geometry.line_of(cell, s, t);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        const int p = s * n + i;
        T gradient[3] = {of_x[p], of_y[p], of_z[p]};
        geometry.apply(line, {i, s, t}, gradient);
        of_x[p] = gradient[0];
        of_y[p] = gradient[1];
        of_z[p] = gradient[2];
      }
    }
    along<1, true>(tables.differentiate, of_x);
    along<n, true>(tables.differentiate, of_y);
#pragma unroll
    for (int p = 0; p < plane; ++p) {
      sum[own * plane + p] += of_x[p] + of_y[p];
#pragma unroll
      for (int k = 0; k < n; ++k) sum[k * plane + p] += tables.differentiate[t][number(k)] * of_z[p];
    }
  }

  /// Applies a table to the lines along the axis whose neighbours are `step` apart.
  template <int step, bool transposed, int size>
  static __device__ void along(const T (&m)[n][n], T (&u)[size]) {
#pragma unroll
    for (int q = 0; q < size; ++q) {
      if (q / step % n != 0) continue;
      T line[n];
#pragma unroll
      for (int k = 0; k < n; ++k) line[k] = u[q + k * step];
      transposed ? apply_line_transposed(m, line) : apply_line(m, line);
#pragma unroll
      for (int k = 0; k < n; ++k) u[q + k * step] = line[k];
    }
  }
};

/// n x n threads per hexahedron, each with a line of n values in registers; lines of the next axis are formed through
/// shared memory. The threads of a cell are in one warp. D is applied to lines along x. If D is loaded from memory, the
/// axes are rotated, so that x is the cell's z, y its x and z its y: threads then load adjacent points.
template <class T, int n, CellGeometry kind>
struct TeamHexahedra {
  static constexpr int threads = 128, warps = threads / threads_per_warp;
  static constexpr int team = n * n, teams = threads_per_warp / team, cells_at_once = warps * teams;
  static constexpr int blocks_per_multiprocessor = sizeof(T) == 8 ? 4 : 6;
  static_assert(teams >= 1);
  static constexpr int cube = n * team;
  /// Values of shared memory: two cubes and the cell's data per team. The padding avoids bank conflicts of two teams of
  /// 16.
  static constexpr int team_needs = 2 * cube + TensorGeometry<T, 3, n, kind>::words;
  static constexpr int team_room = n == 4 ? (team_needs + 15) / 32 * 32 + 16 : (team_needs + 1) / 2 * 2;
  static constexpr int scratch_size = cells_at_once * team_room;

  using Geometry = TensorGeometry<T, 3, n, kind>;
  static constexpr bool turned = kind == CellGeometry::stored;
  /// Values of a cell that each thread of its team prefetches.
  static constexpr int words_each = (Geometry::words + team - 1) / team;

  TablesOf<T, n, kind> tables;
  Geometry geometry;

  __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
    const int lane = static_cast<int>(threadIdx.x) % threads_per_warp,
              warp = static_cast<int>(threadIdx.x) / threads_per_warp;
    const int of_warp = lane / team, member = lane % team;
    const int mine = of_warp < teams ? warp * teams + of_warp : cells_at_once;  // idle lanes have no cell, and no room
    const Member who{member % n, member / n, mine < cells_at_once, scratch + mine * team_room};
    Ahead next = ahead(all, patch, mine, member);
    for (int first = 0; first < patch.cells; first += cells_at_once) {
      const Ahead now = next;
      const int cell = who.active ? first + mine : static_cast<int>(patch.cells);
      const CellColours colours(all, patch, first, first + cells_at_once, cell);
      next = ahead(all, patch, who.active ? cell + cells_at_once : cell, member);
      T u[n];
#pragma unroll
      for (int k = 0; k < n; ++k) u[k] = x[now.place[k]];
      if (who.active)
#pragma unroll
        for (int k = 0; k < words_each; ++k)
          if (k * team + member < Geometry::words)
            who.words()[k * team + member] = number_of(now, k * team + member, k);
      if constexpr (kind == CellGeometry::boxes)
        multiply_as_box(who, u);
      else
        multiply(patch.first_slot + cell, cell < patch.cells, who, u);
      colours.one_by_one([&] { add_at([&](int k) { return now.place[k]; }, u, y, patch.unknown_count); });
    }
  }

 private:
  enum class Axis { x, y, z };
  /// A thread of a team: its position, and the team's shared memory.
  struct Member {
    int s, t;
    bool active;
    T* room;
    __device__ T* a() const { return room; }
    __device__ T* b() const { return room + cube; }
    __device__ T* words() const { return room + 2 * cube; }
  };
  /// A thread's data of a cell, loaded while the previous cell is processed.
  struct Ahead {
    int place[n];
    T words[words_each + 1];
    int of_class;  ///< as in CellAhead
  };
  __device__ T number_of(const Ahead& now, int word, int k) const {
    if constexpr (Geometry::words > 0)
      if (geometry.classes != nullptr)
        return __ldg(geometry.data + std::int64_t{now.of_class} * Geometry::words + word);
    return now.words[k];
  }
  __device__ Ahead ahead(const Patches& all, const CellPatch& patch, int cell, int member) const {
    Ahead of;
    const bool there = cell < patch.cells;
    const std::int64_t slot = patch.first_slot + cell;
#pragma unroll
    for (int k = 0; k < n; ++k)
      of.place[k] = there ? __ldcs(all.local_indices + slot * cube + node(member, k)) : patch.unknown_count;
    if constexpr (Geometry::words > 0) {
      of.of_class = 0;  // also without a cell, whose words are loaded and not used
      if (there && geometry.classes != nullptr) of.of_class = __ldcs(geometry.classes + slot);
#pragma unroll
      for (int k = 0; k < words_each; ++k)
        if (there && geometry.classes == nullptr && k * team + member < Geometry::words)
          of.words[k] = __ldcs(geometry.data + slot * Geometry::words + k * team + member);
    }
    return of;
  }

  /// Local index of the k-th node of a line along z.
  static __device__ int node(int member, int k) {
    return turned ? (member % n * n + k) * n + member / n : k * team + member;
  }

  // Position of value k of a line along x, y or z of a cube; s and t count the other two axes in their order. Lines
  // along every axis are free of bank conflicts: for 4^3 values because positions in a plane are permuted by the
  // plane's index.
  static __device__ int along_x(int s, int t, int k) {
    return n == 4 ? 16 * t + (4 * s ^ 5 * t ^ k) : k + s * n + t * team;
  }
  static __device__ int along_y(int s, int t, int k) {
    return n == 4 ? 16 * t + (s ^ 5 * t ^ 4 * k) : s + k * n + t * team;
  }
  static __device__ int along_z(int s, int t, int k) {
    return n == 4 ? 16 * k + ((4 * t + s) ^ 5 * k) : s + t * n + k * team;
  }
  template <Axis axis>
  static __device__ int at(const Member& who, int k) {
    return axis == Axis::x   ? along_x(who.s, who.t, k)
           : axis == Axis::y ? along_y(who.s, who.t, k)
                             : along_z(who.s, who.t, k);
  }

  template <Axis axis>
  static __device__ void put(bool active, const Member& who, T* cube, const T (&line)[n]) {
    if (!active) return;
#pragma unroll
    for (int k = 0; k < n; ++k) cube[at<axis>(who, k)] = line[k];
  }
  template <Axis axis>
  static __device__ void get(bool active, const Member& who, const T* cube, T (&line)[n]) {
    if (!active) return;
#pragma unroll
    for (int k = 0; k < n; ++k) line[k] = cube[at<axis>(who, k)];
  }

  static __device__ void copy(const T (&from)[n], T (&to)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) to[k] = from[k];
  }

  /// As multiply_box, axis by axis: products with M along z are summed in a, those with S in b.
  __device__ void multiply_as_box(const Member& who, T (&u)[n]) const {
    T *a = who.a(), *b = who.b();
    const bool active = teams * team == threads_per_warp || who.active;
    T v[n], w[n];
    copy(u, v);
    apply_line(tables.mass, u);
    apply_line(tables.stiffness, v);
    put<Axis::z>(active, who, a, u);
    put<Axis::z>(active, who, b, v);
    __syncwarp();
    T along[3] = {};
    if (active)
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) along[axis] = who.words()[axis];
    get<Axis::y>(active, who, a, u);
    get<Axis::y>(active, who, b, v);
    copy(u, w);
    apply_line(tables.mass, u);
    apply_line(tables.stiffness, w);
    apply_line(tables.mass, v);
#pragma unroll
    for (int k = 0; k < n; ++k) v[k] = along[1] * w[k] + along[2] * v[k];
    put<Axis::y>(active, who, a, u);
    put<Axis::y>(active, who, b, v);
    __syncwarp();
    get<Axis::x>(active, who, a, u);
    get<Axis::x>(active, who, b, v);
    apply_line(tables.stiffness, u);
    apply_line(tables.mass, v);
#pragma unroll
    for (int k = 0; k < n; ++k) u[k] = along[0] * u[k] + v[k];
    put<Axis::x>(active, who, a, u);
    __syncwarp();
    get<Axis::z>(active, who, a, u);
  }

  /// u is a line of nodes along z, before and after. Called by all lanes of the warp; idle ones access no memory.
  __device__ void multiply(std::int64_t slot, bool there, const Member& who, T (&u)[n]) const {
    T *a = who.a(), *b = who.b();
    const int s = who.s, t = who.t;
    const bool active = teams * team == threads_per_warp || who.active;
    apply_line(tables.interpolate, u);
    put<Axis::z>(active, who, a, u);
    __syncwarp();
    get<Axis::y>(active, who, a, u);
    apply_line(tables.interpolate, u);
    put<Axis::y>(active, who, a, u);
    __syncwarp();
    get<Axis::x>(active, who, a, u);
    apply_line(tables.interpolate, u);
    put<Axis::x>(active, who, a, u);
    __syncwarp();
    // Derivatives along y and z are transposed to lines along x, where D is applied.
    T of_y[n] = {}, of_z[n] = {};
    get<Axis::y>(active, who, a, of_y);
    get<Axis::z>(active, who, a, of_z);
    __syncwarp();
    apply_line(tables.differentiate, of_y);
    apply_line(tables.differentiate, of_z);
    put<Axis::y>(active, who, a, of_y);
    put<Axis::z>(active, who, b, of_z);
    __syncwarp();
    get<Axis::x>(active, who, a, of_y);
    get<Axis::x>(active, who, b, of_z);
    apply_line(tables.differentiate, u);
    if (there) {
      const auto cell = geometry.line(who.words(), slot, s, t);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        constexpr int x = turned ? 2 : 0, y = turned ? 0 : 1, z = turned ? 1 : 2;  // the cell's axes
        T gradient[3];
        gradient[x] = u[i];
        gradient[y] = of_y[i];
        gradient[z] = of_z[i];
        geometry.apply(cell, turned ? PointIndex{s, t, i} : PointIndex{i, s, t}, gradient);
        u[i] = gradient[x];
        of_y[i] = gradient[y];
        of_z[i] = gradient[z];
      }
    }
    put<Axis::x>(active, who, a, of_y);
    put<Axis::x>(active, who, b, of_z);
    apply_line_transposed(tables.differentiate, u);
    __syncwarp();
    get<Axis::y>(active, who, a, of_y);
    get<Axis::z>(active, who, b, of_z);
    apply_line_transposed(tables.differentiate, of_y);
    apply_line_transposed(tables.differentiate, of_z);
    put<Axis::y>(active, who, a, of_y);
    put<Axis::z>(active, who, b, of_z);
    __syncwarp();
    get<Axis::x>(active, who, a, of_y);
    get<Axis::x>(active, who, b, of_z);
#pragma unroll
    for (int i = 0; i < n; ++i) u[i] += of_y[i] + of_z[i];
    apply_line_transposed(tables.interpolate, u);
    put<Axis::x>(active, who, a, u);
    __syncwarp();
    get<Axis::y>(active, who, a, u);
    apply_line_transposed(tables.interpolate, u);
    put<Axis::y>(active, who, a, u);
    __syncwarp();
    get<Axis::z>(active, who, a, u);
    apply_line_transposed(tables.interpolate, u);
  }
};

/// The cell kernels by dimension, nodes per direction and geometry.
template <class T, int n, CellGeometry kind>
using Hexahedra = std::conditional_t<
    warp_per_hexahedron(sizeof(T), n, kind), WarpHexahedra<kind>,
    std::conditional_t<thread_per_hexahedron(n), ThreadHexahedra<T, n, kind>, TeamHexahedra<T, n, kind>>>;
template <class T, int d, int n, CellGeometry kind>
using TensorCells = std::conditional_t<d == 2, QuadrilateralCells<T, n, kind>, Hexahedra<T, n, kind>>;

}  // namespace femcg::operators::cuda
