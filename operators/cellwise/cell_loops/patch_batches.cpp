#include "operators/cellwise/cell_loops/patch_batches.hpp"

#include <limits>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

namespace {

/// One vector, known at compile time.
template <std::floating_point T>
struct OneVector {
  const T* x;
  T* y;
  static constexpr int count = 1, sums = 1;

  void begin(std::span<const std::int32_t>) const {}
  void load(int, std::int64_t first, std::int64_t rows, T* to) const { std::copy_n(x + first, rows, to); }
  T value(int, std::int64_t row) const { return x[row]; }
  void store(int, std::int64_t first, std::int64_t rows, const T* from, const T* made, double* energy) const {
    std::copy_n(made, rows, y + first);
    *energy += dot_of_rows(from, made, 0, rows);
  }
  void put(int, std::span<const std::int32_t> rows, const T* made, double* energy) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      y[rows[i]] = made[i];
      sum += static_cast<double>(x[rows[i]]) * static_cast<double>(made[i]);
    }
    *energy += sum;
  }
};

/// Interleaved vectors: entry i of vector c is at i stride + c.
template <std::floating_point T>
struct SeveralVectors {
  const T* x;
  T* y;
  int count, sums;  ///< sums: the stride

  void begin(std::span<const std::int32_t>) const {}
  void load(int c, std::int64_t first, std::int64_t rows, T* to) const {
    for (std::int64_t i = 0; i < rows; ++i) to[i] = value(c, first + i);
  }
  T value(int c, std::int64_t row) const { return x[row * sums + c]; }
  void store(int c, std::int64_t first, std::int64_t rows, const T* from, const T* made, double* energies) const {
    for (std::int64_t i = 0; i < rows; ++i) y[(first + i) * sums + c] = made[i];
    energies[c] += dot_of_rows(from, made, 0, rows);
  }
  void put(int c, std::span<const std::int32_t> rows, const T* made, double* energies) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t at = std::int64_t{rows[i]} * sums + c;
      y[at] = made[i];
      energies[c] += static_cast<double>(x[at]) * static_cast<double>(made[i]);
    }
  }
};

}  // namespace

/// Cells per patch: many patches for many threads, but not so small that most of their unknowns are shared, and few
/// enough unknowns that the buffers of x and y stay in a core's cache.
template <std::floating_point T>
int PatchBatches<T>::cells_of_patch(const BilinearForm& form) {
  constexpr std::int64_t buffer_bytes = 48 << 10, least_patches = 128;
  const std::int64_t cells = std::max(form.cells(), 1);
  const std::int64_t for_cache = buffer_bytes / std::int64_t{sizeof(T)} * cells / std::max(form.unknowns, 1);
  const std::int64_t most = std::numeric_limits<std::uint16_t>::max() / form.dofs_per_cell() / lanes * lanes;
  const std::int64_t wanted =
      std::min({for_cache, cells / least_patches, std::int64_t{PatchOptions::most_cells}, most});
  return static_cast<int>(std::max<std::int64_t>(wanted / lanes, 1) * lanes);
}

template <std::floating_point T>
std::int64_t PatchBatches<T>::batches_of(const BilinearForm& form) {
  const std::int64_t cells = form.cells(), of_patch = cells_of_patch(form), rest = cells % of_patch;
  return cells / of_patch * (of_patch / lanes) + (rest + lanes - 1) / lanes;
}

template <std::floating_point T>
PatchBatches<T>::PatchBatches(const BilinearForm& form)
    : patches_(make_cell_patches(form, {.cells = cells_of_patch(form),
                                        .unknowns = std::numeric_limits<std::uint16_t>::max(),
                                        .layout = CellLayout::cell_major})) {
  const std::int64_t count = patches_.patches.size();
  first_batch_ = Vector<std::int32_t>(count + 1);
  first_batch_[0] = 0;
  for (std::int64_t p = 0; p < count; ++p)
    first_batch_[p + 1] = first_batch_[p] + (patches_.patches[p].slots + lanes - 1) / lanes;
  cells_ = Vector<std::int32_t>(std::int64_t{batches()} * lanes);
  local_indices_ = Vector<std::uint16_t>(cells_.size() * dofs());
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < count; ++p) {
    const CellPatch& patch = patches_.patches[p];
    for (std::int32_t batch = first_batch_[p]; batch < first_batch_[p + 1]; ++batch)
      for (int l = 0; l < lanes; ++l) {
        const std::int64_t slot = std::int64_t{batch - first_batch_[p]} * lanes + l, at = patch.first_slot + slot;
        const bool filled = slot < patch.slots;
        cells_[std::int64_t{batch} * lanes + l] = filled ? patches_.cell_of_slot[at] : -1;
        for (int a = 0; a < dofs(); ++a)
          local_indices_[(std::int64_t{batch} * dofs() + a) * lanes + l] =
              filled ? patches_.local_indices[patches_.place_index(at, a)] : patch.unknown_count;
      }
  }
  patches_.cell_of_slot = {};
  patches_.colours = {};
  patches_.local_indices = {};
}

template <std::floating_point T>
std::vector<std::int64_t> PatchBatches<T>::slots_of_cells(std::int32_t cell_count) const {
  std::vector<std::int64_t> slots(static_cast<std::size_t>(cell_count));
#pragma omp parallel for schedule(static)
  for (std::int64_t slot = 0; slot < cells_.size(); ++slot)
    if (cells_[slot] >= 0) slots[static_cast<std::size_t>(cells_[slot])] = slot;
  return slots;
}

template <std::floating_point T>
std::int64_t PatchBatches<T>::bytes() const {
  return patches_.patches.bytes() + patches_.shared.bytes() + patches_.interface.bytes() +
         patches_.interface_offsets.bytes() + patches_.contributions.bytes() + first_batch_.bytes() +
         local_indices_.bytes() + patches_.contributions.size() * static_cast<std::int64_t>(sizeof(T));
}

template <std::floating_point T>
template <class Vectors>
void PatchBatches<T>::work_on(std::int32_t number, const Vectors& v, const Buffers& buffers, const PatchWork& work,
                              double* sums) const {
  const CellPatch& patch = patches_.patches[number];
  const std::span<const std::int32_t> shared = patches_.shared_of(patch);
  for (int c = 0; c < v.count; ++c) {
    T* x = buffers.x + c * buffers.room;
    v.load(c, patch.first_own, patch.private_count, x);
    for (std::size_t k = 0; k < shared.size(); ++k) x[patch.private_count + k] = v.value(c, shared[k]);
    x[patch.unknown_count] = 0;
    std::fill_n(buffers.y + c * buffers.room, patch.unknown_count + 1, T(0));
  }
  work(number, buffers);
  for (int c = 0; c < v.count; ++c) {
    const T* y = buffers.y + c * buffers.room;
    v.store(c, patch.first_own, patch.private_count, buffers.x + c * buffers.room, y, sums);
    for (std::int64_t k = 0; k < std::ssize(shared); ++k)
      contributions_[(patch.first_contribution + k) * v.count + c] = y[patch.private_count + k];
  }
}

/// Gathers the patches' contributions to the interface; writes sums over blocks of it.
template <std::floating_point T>
template <class Vectors>
void PatchBatches<T>::gather(const Vectors& v, double* sums) const {
  for_row_blocks(patches_.interface.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    const std::span<const std::int32_t> rows = patches_.interface.span().subspan(first, last - first);
    T made[rows_per_block];
    for (int c = 0; c < v.count; ++c) {
      std::uint32_t k = patches_.interface_offsets[first];
      for (std::int64_t r = first; r < last; ++r) {
        T sum = 0;
        for (const std::uint32_t end = patches_.interface_offsets[r + 1]; k < end; ++k)
          sum += contributions_[std::int64_t{patches_.contributions[k]} * v.count + c];
        made[r - first] = sum;
      }
      v.put(c, rows, made, sums + first / rows_per_block * v.sums);
    }
  });
}

/// Sweep over the patches, with accesses defined by `v` for v.count vectors: v.begin(rows) before all others, for the
/// interface; load(c, first, count, x), for rows that a patch owns, and value(c, row), for others; store(c, first,
/// count, x, y, sums) and put(c, rows, y, sums) for the results, each adding to v.sums sums. These are added up in a
/// fixed order, unless `sums` is null. Buffers are kept from one product to the next.
template <std::floating_point T>
template <class Vectors>
void PatchBatches<T>::go_over(const Vectors& v, double* sums, std::int64_t scratch_size, const PatchWork& work) const {
  const std::int64_t of_patch = patches_.most_unknowns / lanes + 1, count = patches();
  const std::int64_t of_share = 2 * v.count * of_patch + 2 * dofs() + scratch_size;
  if (buffers_.size() < most_shares() * of_share) buffers_ = Vector<Lanes<T>>(most_shares() * of_share);
  if (contributions_.size() < patches_.contributions.size() * v.count)
    contributions_ = Vector<T>(patches_.contributions.size() * v.count);
  const std::int64_t parts = count + (patches_.interface.size() + rows_per_block - 1) / rows_per_block;
  sums_.assign(static_cast<std::size_t>(parts * v.sums), 0.0);
  v.begin(patches_.interface.span());
  for_shares([&](int share, int shares) {
    Lanes<T>* buffer = buffers_.data() + share * of_share;
    const Buffers buffers{v.count, reinterpret_cast<T*>(buffer), reinterpret_cast<T*>(buffer + v.count * of_patch),
                          of_patch * lanes, buffer + 2 * v.count * of_patch};
    for (std::int64_t number = count * share / shares; number < count * (share + 1) / shares; ++number)
      work_on(static_cast<std::int32_t>(number), v, buffers, work, sums_.data() + number * v.sums);
  });
  gather(v, sums_.data() + count * v.sums);
  if (sums == nullptr) return;
  std::fill_n(sums, v.sums, 0.0);
  for (std::int64_t part = 0; part < parts; ++part)
    for (int s = 0; s < v.sums; ++s) sums[s] += sums_[static_cast<std::size_t>(part * v.sums + s)];
}

template <std::floating_point T>
void PatchBatches<T>::product(const T* x, T* y, double* energy, std::int64_t scratch_size,
                              const PatchWork& work) const {
  go_over(OneVector<T>{x, y}, energy, scratch_size, work);
}

template <std::floating_point T>
void PatchBatches<T>::product(const MultiVector<T>& x, MultiVector<T>& y, double* energies, std::int64_t scratch_size,
                              const PatchWork& work) const {
  go_over(SeveralVectors<T>{x.data(), y.data(), x.count(), x.stride()}, energies, scratch_size, work);
}

template <std::floating_point T>
FusedSums PatchBatches<T>::product(const FusedStep<T>& of, std::int64_t scratch_size, const PatchWork& work) const {
  double sums[FusedSums::count];
  go_over(FusedVectors<T>{of}, sums, scratch_size, work);
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]};
}

template class PatchBatches<double>;
template class PatchBatches<float>;

}  // namespace femcg::operators
