#include "operators/cellwise/cell_loops/cell_patches.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "operators/cellwise/cell_loops/patch_drafts.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

namespace {

using Tie = PatchDraft::Tie;

/// The first patch with each unknown, and whether other patches have it too.
class Owners {
 public:
  Owners(std::span<const PatchDraft> drafts, std::int32_t unknowns)
      : of_(mesh::array_of<std::uint32_t>(unknowns, none)) {
    // Most unknowns are in one patch, which finds what it wrote; other patches agree atomically on the first.
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (std::size_t p = 0; p < drafts.size(); ++p)
        for (const std::int32_t i : drafts[p].unknowns)
          std::atomic_ref(of_[i]).store(static_cast<std::uint32_t>(p), std::memory_order_relaxed);
#pragma omp for schedule(static)
      for (std::size_t p = 0; p < drafts.size(); ++p)
        for (const std::int32_t i : drafts[p].unknowns) share(of_[i], static_cast<std::uint32_t>(p));
    }
  }
  Tie tie(std::int32_t unknown, std::size_t patch) const {
    const std::uint32_t owner = of_[unknown];
    if ((owner & ~shared) != patch) return Tie::others;
    return (owner & shared) != 0 ? Tie::shared : Tie::alone;
  }
  bool is_of_none(std::int32_t unknown) const { return of_[unknown] == none; }
  /// Releases the array of owners for reuse.
  mesh::Array<std::uint32_t> release() { return std::move(of_); }

 private:
  static constexpr std::uint32_t shared = std::uint32_t{1} << 31, none = shared - 1;

  static void share(std::uint32_t& owner, std::uint32_t patch) {
    const std::atomic_ref<std::uint32_t> at_once(owner);
    std::uint32_t seen = at_once.load(std::memory_order_relaxed);
    const auto with_patch = [&] { return seen == patch ? patch : std::min(seen & ~shared, patch) | shared; };
    while (seen != with_patch() && !at_once.compare_exchange_weak(seen, with_patch(), std::memory_order_relaxed)) {
    }
  }

  mesh::Array<std::uint32_t> of_;  ///< the patch, and the bit `shared`
};

/// Sets the sizes of the patches and the offsets of their parts of the lists.
void lay_out(CellPatches& made, std::span<PatchDraft> drafts, const Owners& owners) {
  made.patches = Vector<CellPatch>(static_cast<std::int64_t>(drafts.size()));
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p) {
    CellPatch& patch = made.patches[static_cast<std::int64_t>(p)];
    PatchDraft& draft = drafts[p];
    const std::size_t cells = draft.cells.size();
    constexpr std::size_t group = CellPatches::group;
    patch.cells = static_cast<std::uint16_t>(cells);
    patch.slots = static_cast<std::uint16_t>(
        made.layout == CellLayout::interleaved ? (cells + group - 1) / group * group : cells);
    std::transform(draft.unknowns.begin(), draft.unknowns.end(), draft.ties.begin(),
                   [&](std::int32_t unknown) { return owners.tie(unknown, p); });
    const auto alone = std::ranges::count(draft.ties, Tie::alone), others = std::ranges::count(draft.ties, Tie::others);
    patch.unknown_count = static_cast<std::uint16_t>(draft.unknowns.size());
    patch.private_count = static_cast<std::uint16_t>(alone);
    patch.own_count = static_cast<std::uint16_t>(patch.unknown_count - others);
  }
  std::int64_t slots = 0, contributions = 0;
  std::int32_t own = 0;
  for (CellPatch& patch : made.patches.span()) {
    patch.first_slot = slots;
    patch.first_own = own;
    patch.first_contribution = contributions;
    slots += patch.slots;
    own += patch.own_count;
    contributions += patch.unknown_count - patch.private_count;
    made.most_unknowns = std::max(made.most_unknowns, std::int32_t{patch.unknown_count});
  }
  if (contributions > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("the cells' patches share too many unknowns for 32-bit numbers");
  made.cell_of_slot = Vector<std::int32_t>(slots);
  made.colours = Vector<std::uint8_t>(slots);
  made.local_indices = Vector<std::uint16_t>(slots * made.places_per_slot());
  made.shared = Vector<std::int32_t>(contributions);
  made.contributions = Vector<std::uint32_t>(contributions);
}

/// Number of unknowns owned by patches.
std::int32_t owned(const CellPatches& made) {
  if (made.patches.size() == 0) return 0;
  const CellPatch& last = made.patches[made.patches.size() - 1];
  return last.first_own + last.own_count;
}

/// Lists the interface: for each patch its owned shared unknowns, at the end unknowns of no patch. Returns the offset
/// of each patch's part.
std::vector<std::uint32_t> list_interface(CellPatches& made) {
  const std::int64_t patches = made.patches.size();
  std::vector<std::uint32_t> first(static_cast<std::size_t>(patches) + 1);
  for (std::int64_t p = 0; p < patches; ++p)
    first[p + 1] = first[p] + static_cast<std::uint32_t>(made.patches[p].own_count - made.patches[p].private_count);
  const std::int32_t of_patches = owned(made);
  made.interface = Vector<std::int32_t>(first[patches] + std::int64_t{made.unknown_count} - of_patches);
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < patches; ++p)
    std::iota(made.interface.data() + first[p], made.interface.data() + first[p + 1],
              made.patches[p].first_own + made.patches[p].private_count);
  std::iota(made.interface.data() + first[patches], made.interface.data() + made.interface.size(), of_patches);
  return first;
}

/// Orders the unknowns by the patches that own them, unknowns of no patch last, and lists the interface; returns the
/// index in the interface of each shared unknown.
mesh::Array<std::uint32_t> put_in_order(CellPatches& made, std::span<const PatchDraft> drafts, Owners owners) {
  made.unknown_at = Vector<std::int32_t>(made.unknown_count);
  std::int32_t next = owned(made);
  for (std::int32_t unknown = 0; next < made.unknown_count; ++unknown)
    if (owners.is_of_none(unknown)) made.unknown_at[next++] = unknown;
  const std::vector<std::uint32_t> first = list_interface(made);
  mesh::Array<std::uint32_t> in_interface = owners.release();
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p) {
    const CellPatch& patch = made.patches[static_cast<std::int64_t>(p)];
    std::int32_t next_private = patch.first_own, next_shared = patch.first_own + patch.private_count;
    std::uint32_t next_in_interface = first[p];
    for (std::size_t rank = 0; rank < drafts[p].unknowns.size(); ++rank)
      switch (const std::int32_t unknown = drafts[p].unknowns[rank]; drafts[p].ties[rank]) {
        case Tie::alone:
          made.unknown_at[next_private++] = unknown;
          break;
        case Tie::shared:
          in_interface[unknown] = next_in_interface++;
          made.unknown_at[next_shared++] = unknown;
          break;
        case Tie::others:
          break;
      }
  }
  return in_interface;
}

/// Writes a patch's shared unknowns, as indices of the interface, and the cells and local indices of its slots.
void write_patch(CellPatches& made, std::size_t number, const PatchDraft& draft,
                 std::span<const std::uint32_t> in_interface) {
  const CellPatch& patch = made.patches[static_cast<std::int64_t>(number)];
  std::vector<std::uint16_t> place_of_rank(draft.unknowns.size() + 1, patch.unknown_count);
  std::vector<std::pair<std::uint32_t, std::size_t>> others;  // index in the interface, and rank
  const auto share = [&](std::size_t rank, std::uint32_t of_interface, std::int32_t place) {
    place_of_rank[rank] = static_cast<std::uint16_t>(place);
    made.shared[patch.first_contribution + place - patch.private_count] = static_cast<std::int32_t>(of_interface);
  };
  std::int32_t next_private = 0, next_shared = patch.private_count;
  for (std::size_t rank = 0; rank < draft.unknowns.size(); ++rank) switch (draft.ties[rank]) {
      case Tie::alone:
        place_of_rank[rank] = static_cast<std::uint16_t>(next_private++);
        break;
      case Tie::shared:
        share(rank, in_interface[draft.unknowns[rank]], next_shared++);
        break;
      case Tie::others:
        others.emplace_back(in_interface[draft.unknowns[rank]], rank);
    }
  std::sort(others.begin(), others.end());
  for (std::size_t k = 0; k < others.size(); ++k)
    share(others[k].second, others[k].first, patch.own_count + static_cast<std::int32_t>(k));
  // The local indices of a slot are contiguous, or in pairs with a constant stride.
  const std::int64_t apart = made.places_per_slot() > 2 ? made.place_index(0, 2) - made.place_index(0, 0) : 0;
  for (std::int64_t s = 0; s < patch.slots; ++s) {
    const bool filled = s < patch.cells;
    made.cell_of_slot[patch.first_slot + s] = filled ? draft.cells[s] : -1;
    made.colours[patch.first_slot + s] = filled ? draft.colours[s] : draft.colours.back();
    std::uint16_t* const local_indices = made.local_indices.data() + made.place_index(patch.first_slot + s, 0);
    const std::uint16_t* const ranks = draft.ranks.data() + s * made.dofs;
    for (int a = 0; a < made.places_per_slot(); ++a)
      local_indices[a / 2 * apart + a % 2] = filled && a < made.dofs ? place_of_rank[ranks[a]] : patch.unknown_count;
  }
}

/// Lists the contributions to each unknown of the interface; `shared` has indices of the interface before, positions
/// after.
void link_contributions(CellPatches& made) {
  const std::int64_t count = made.interface.size();
  made.interface_offsets = Vector<std::uint32_t>(count + 1);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r <= count; ++r) made.interface_offsets[r] = 0;
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < made.shared.size(); ++k) mesh::count_one(made.interface_offsets[made.shared[k]]);
  mesh::sum_before(made.interface_offsets.span());
  Vector<std::uint32_t> next(count);  // next free entry of each
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r) next[r] = made.interface_offsets[r];
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < made.shared.size(); ++k) {
    std::int32_t& shared = made.shared[k];
    made.contributions[mesh::count_one(next[shared])] = static_cast<std::uint32_t>(k);
    shared = made.interface[shared];
  }
  // Sorted, as threads came in any order.
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r)
    std::sort(made.contributions.data() + made.interface_offsets[r],
              made.contributions.data() + made.interface_offsets[r + 1]);
}

/// The patch of every contribution.
std::vector<std::int32_t> patches_of_contributions(const CellPatches& made) {
  std::vector<std::int32_t> patch_of(made.contributions.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < made.patches.size(); ++p)
    std::fill_n(patch_of.begin() + made.patches[p].first_contribution, made.shared_of(made.patches[p]).size(),
                static_cast<std::int32_t>(p));
  return patch_of;
}

/// Colours the patches, and lists for each the patches that come before it.
void colour_patches(CellPatches& made) {
  const auto count = static_cast<std::int32_t>(made.patches.size());
  made.colouring =
      colour_parts(count, made.unknown_count, [&](std::int32_t patch) { return made.shared_of(made.patches[patch]); });
  const std::vector<std::int32_t>& parts = made.colouring.parts;
  std::vector<std::int32_t> colour_of(count);
  for (std::int32_t k = 0, colour = 0; k < count; ++k) {
    if (k == made.colouring.offsets[colour + 1]) ++colour;
    colour_of[parts[k]] = colour;
  }
  const std::vector<std::int32_t> patch_of = patches_of_contributions(made);
  std::vector<std::vector<std::int32_t>> earlier(count);
  const auto list = [&](std::int32_t patch, std::vector<std::int32_t>& to) {
    for (const std::int32_t i : made.shared_of(made.patches[patch])) {
      const auto r = std::lower_bound(made.interface.span().begin(), made.interface.span().end(), i) -
                     made.interface.span().begin();
      for (std::uint32_t k = made.interface_offsets[r]; k < made.interface_offsets[r + 1]; ++k)
        if (const std::int32_t other = patch_of[made.contributions[k]]; colour_of[other] < colour_of[patch])
          to.push_back(other);
    }
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  };
  mesh::parallel_for(count, [&](std::int32_t k) { list(parts[k], earlier[k]); });
  made.earlier_offsets = Vector<std::uint32_t>(count + std::int64_t{1});
  made.earlier_offsets[0] = 0;
  for (std::int32_t k = 0; k < count; ++k)
    made.earlier_offsets[k + 1] = made.earlier_offsets[k] + static_cast<std::uint32_t>(earlier[k].size());
  made.earlier = Vector<std::int32_t>(made.earlier_offsets[count]);
  for (std::int32_t k = 0; k < count; ++k)
    std::copy(earlier[k].begin(), earlier[k].end(), made.earlier.data() + made.earlier_offsets[k]);
}

}  // namespace

int CellPatches::most_cells() const {
  int most = 0;
  for (const CellPatch& patch : patches.span()) most = std::max<int>(most, patch.cells);
  return most;
}

int cells_per_patch(const BilinearForm& form, int least, int most, bool persistent) {
  constexpr int without_gpu = 132;  // for estimates without a GPU: an H200
  static const int multiprocessors = cuda_multiprocessors() > 0 ? cuda_multiprocessors() : without_gpu;
  const auto for_patches = [&](int patches) {
    const std::int64_t enough = (form.cells() + patches - 1) / patches;
    return std::max<std::int64_t>((enough + least - 1) / least, 1) * least;
  };
  const std::int64_t few = for_patches(multiprocessors);
  return static_cast<int>(persistent && few <= most ? few : std::min<std::int64_t>(for_patches(1024), most));
}

CellPatches make_cell_patches(const BilinearForm& form, const PatchOptions& options) {
  if (options.cells < 1 || options.cells > PatchOptions::most_cells)
    throw std::invalid_argument("a patch has 1 to " + std::to_string(PatchOptions::most_cells) + " cells, not " +
                                std::to_string(options.cells));
  if (options.unknowns < form.dofs_per_cell() || options.unknowns > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("a patch has room for a cell's " + std::to_string(form.dofs_per_cell()) +
                                " to 65535 unknowns, not " + std::to_string(options.unknowns));
  CellPatches made;
  made.dofs = form.dofs_per_cell();
  made.unknown_count = form.unknowns;
  made.layout = options.layout;
  std::vector<PatchDraft> drafts = draft_patches(form, options);
  mesh::Array<std::uint32_t> in_interface;
  {
    Owners owners(drafts, form.unknowns);
    lay_out(made, drafts, owners);
    in_interface = put_in_order(made, drafts, std::move(owners));
  }
  mesh::parallel_for(drafts.size(), [&](std::size_t p) {
    write_patch(made, p, drafts[p], in_interface);
    drafts[p] = {};  // freed by all threads, and before the lists below are made
  });
  in_interface = {};
  link_contributions(made);
  if (options.coloured) colour_patches(made);
  return made;
}

}  // namespace femcg::operators
