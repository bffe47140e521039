#include "operators/cell_loops/cell_patches.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "mesh/counting.hpp"
#include "mesh/first_failure.hpp"
#include "mesh/pages.hpp"
#include "mesh/space_filling_curve.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

namespace {

constexpr int most_colours = 256;  // they have 8 bits

/// A patch on its own, before the unknowns that it shares are known.
struct Draft {
  std::vector<std::int32_t> cells;     ///< those that come first, and the others, sorted by colour
  std::vector<std::uint8_t> colours;   ///< of the cells
  std::vector<std::int32_t> unknowns;  ///< distinct, as its threads meet them
  std::vector<std::uint16_t> ranks;    ///< cells x dofs: where a dof's unknown stands among them; behind all if none
};

/// Numbers distinct unknowns in the order in which they are met: a hash table with linear probing.
class MetUnknowns {
 public:
  explicit MetUnknowns(std::size_t most) : places_(std::bit_ceil(2 * most), Met{-1, 0}) { unknowns_.reserve(most); }

  std::int32_t number_of(std::int32_t unknown) {
    std::size_t place = static_cast<std::uint32_t>(unknown) * std::size_t{2654435769U} >> 16 & (places_.size() - 1);
    while (places_[place].unknown != unknown) {
      if (places_[place].unknown < 0) {
        places_[place] = {unknown, static_cast<std::int32_t>(unknowns_.size())};
        unknowns_.push_back(unknown);
        break;
      }
      place = (place + 1) & (places_.size() - 1);
    }
    return places_[place].number;
  }
  std::vector<std::int32_t>& unknowns() { return unknowns_; }

 private:
  struct Met {
    std::int32_t unknown, number;  ///< no unknown: -1
  };
  std::vector<Met> places_;
  std::vector<std::int32_t> unknowns_;
};

/// Numbers the unknowns of some cells.
Draft number_unknowns(const BilinearForm& form, std::span<const std::int32_t> cells) {
  const auto n = static_cast<std::size_t>(form.dofs_per_cell());
  MetUnknowns met(cells.size() * n);
  std::vector<std::int32_t> numbers(cells.size() * n, -1);
  for (std::size_t c = 0; c < cells.size(); ++c)
    for (std::size_t a = 0; a < n; ++a)
      if (const std::int32_t i = form.unknown(cells[c], static_cast<int>(a)); i >= 0)
        numbers[c * n + a] = met.number_of(i);
  Draft draft;
  draft.cells.assign(cells.begin(), cells.end());
  draft.unknowns = met.unknowns();
  draft.ranks.resize(numbers.size());
  std::transform(numbers.begin(), numbers.end(), draft.ranks.begin(), [&](std::int32_t number) {
    return static_cast<std::uint16_t>(number < 0 ? draft.unknowns.size() : static_cast<std::size_t>(number));
  });
  return draft;
}

/// A set of colours.
template <std::size_t words>
using Colours = std::array<std::uint64_t, words>;

/// The first colour that is not among `taken`; behind the last if all are.
template <std::size_t words>
int first_free(const Colours<words>& taken) {
  std::size_t word = 0;
  while (word < taken.size() && taken[word] == ~std::uint64_t{0}) ++word;
  return static_cast<int>(64 * word) + (word < taken.size() ? std::countr_one(taken[word]) : 0);
}

/// Takes whole waves of the cells that come first to the front of a visit; the order is kept among them and the others.
void take_to_front(std::vector<std::size_t>& visit, std::span<const std::int32_t> cells, const PatchOptions& options) {
  if (options.first.empty()) return;
  const auto comes_first = [&](std::size_t c) { return options.first[static_cast<std::size_t>(cells[c])] != 0; };
  const auto wave = static_cast<std::size_t>(options.wave);
  const std::size_t count = static_cast<std::size_t>(std::ranges::count_if(visit, comes_first)) / wave * wave;
  std::vector<std::size_t> front, others;
  for (const std::size_t c : visit) (front.size() < count && comes_first(c) ? front : others).push_back(c);
  std::ranges::copy(others, std::ranges::copy(front, visit.begin()).out);
}

/// Greedy, in the order of the mesh: rows of cells of a box come out in the least number of colours. Sorts by colour,
/// and what comes first before. False, and nothing is done, where so many words have too few colours.
template <std::size_t words>
bool colour_cells(Draft& draft, std::size_t n, const PatchOptions& options) {
  std::vector<std::size_t> visit(draft.cells.size());
  std::iota(visit.begin(), visit.end(), std::size_t{0});
  std::sort(visit.begin(), visit.end(), [&](std::size_t a, std::size_t b) { return draft.cells[a] < draft.cells[b]; });
  std::vector<Colours<words>> of_unknown(draft.unknowns.size(), Colours<words>{});
  std::vector<std::uint8_t> colour_of(draft.cells.size());
  for (const std::size_t c : visit) {
    const std::span<const std::uint16_t> ranks(draft.ranks.data() + c * n, n);
    Colours<words> taken{};
    for (const std::uint16_t rank : ranks)
      if (rank < of_unknown.size())
        for (std::size_t word = 0; word < words; ++word) taken[word] |= of_unknown[rank][word];
    const int colour = first_free(taken);
    if (colour == static_cast<int>(64 * words)) return false;
    colour_of[c] = static_cast<std::uint8_t>(colour);
    for (const std::uint16_t rank : ranks)
      if (rank < of_unknown.size()) of_unknown[rank][colour / 64] |= std::uint64_t{1} << colour % 64;
  }
  std::stable_sort(visit.begin(), visit.end(),
                   [&](std::size_t a, std::size_t b) { return colour_of[a] < colour_of[b]; });
  take_to_front(visit, draft.cells, options);
  Draft sorted;
  for (const std::size_t c : visit) {
    sorted.cells.push_back(draft.cells[c]);
    sorted.colours.push_back(colour_of[c]);
    sorted.ranks.insert(sorted.ranks.end(), draft.ranks.begin() + static_cast<std::ptrdiff_t>(c * n),
                        draft.ranks.begin() + static_cast<std::ptrdiff_t>((c + 1) * n));
  }
  sorted.unknowns = std::move(draft.unknowns);
  draft = std::move(sorted);
  return true;
}

/// Puts the unknowns in the order in which neighbouring threads meet them, so that these find them at neighbouring
/// places of shared memory, in different banks: dof by dof of each group of slots, a thread per cell, or cell by cell.
void order_unknowns(Draft& draft, std::size_t n, PlaceLayout layout) {
  const std::size_t step = layout == PlaceLayout::interleaved ? CellPatches::group : 1, none = draft.unknowns.size();
  std::vector<std::int32_t> ordered;
  ordered.reserve(none);
  std::vector<std::uint16_t> new_rank(none + 1, static_cast<std::uint16_t>(none));
  for (std::size_t first = 0; first < draft.cells.size(); first += step)
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t c = first; c < std::min(first + step, draft.cells.size()); ++c)
        if (const std::uint16_t rank = draft.ranks[c * n + a]; new_rank[rank] == none && rank != none) {
          new_rank[rank] = static_cast<std::uint16_t>(ordered.size());
          ordered.push_back(draft.unknowns[rank]);
        }
  draft.unknowns = std::move(ordered);
  for (std::uint16_t& rank : draft.ranks) rank = new_rank[rank];
}

/// One patch of some cells, or two of half of them if they have too many unknowns or colours, and so on.
void draft_patches(const BilinearForm& form, std::span<const std::int32_t> cells, const PatchOptions& options,
                   std::vector<Draft>& drafts) {
  const auto n = static_cast<std::size_t>(form.dofs_per_cell());
  Draft draft = number_unknowns(form, cells);
  if (draft.unknowns.size() > static_cast<std::size_t>(options.unknowns) ||
      !(colour_cells<1>(draft, n, options) || colour_cells<most_colours / 64>(draft, n, options))) {
    draft_patches(form, cells.first(cells.size() / 2), options, drafts);
    draft_patches(form, cells.subspan(cells.size() / 2), options, drafts);
    return;
  }
  order_unknowns(draft, n, options.layout);
  drafts.push_back(std::move(draft));
}

std::vector<Draft> draft_all(const BilinearForm& form, const PatchOptions& options) {
  const std::vector<std::int32_t> order = mesh::cells_along_curve(form.space->mesh());
  const std::size_t step = static_cast<std::size_t>(options.cells), pieces = (order.size() + step - 1) / step;
  std::vector<std::vector<Draft>> of_piece(pieces);
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 16)
  for (std::size_t piece = 0; piece < pieces; ++piece)
    failure.guard(static_cast<std::int64_t>(piece), [&] {
      const std::size_t begin = piece * step;
      draft_patches(form, std::span(order).subspan(begin, std::min(step, order.size() - begin)), options,
                    of_piece[piece]);
    });
  failure.rethrow();
  std::vector<Draft> drafts;
  for (std::vector<Draft>& some : of_piece)
    for (Draft& draft : some) drafts.push_back(std::move(draft));
  return drafts;
}

/// How many patches have each unknown, and the first of them.
struct Uses {
  mesh::Array<std::int32_t> count, first;

  bool is_private(std::int32_t unknown) const { return count[unknown] == 1; }
  bool is_own(std::int32_t unknown, std::size_t patch) const {
    return first[unknown] == static_cast<std::int32_t>(patch);
  }
};

Uses count_uses(std::span<const Draft> drafts, std::int32_t unknowns) {
  Uses uses{mesh::array_of<std::int32_t>(unknowns), mesh::array_of(unknowns, std::numeric_limits<std::int32_t>::max())};
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p)
    for (const std::int32_t i : drafts[p].unknowns) {
      mesh::count_one(uses.count[i]);
      mesh::lower(uses.first[i], static_cast<std::int32_t>(p));
    }
  return uses;
}

/// Sizes, and where each patch's parts of the lists begin.
void lay_out(CellPatches& made, std::span<const Draft> drafts, const Uses& uses) {
  made.patches = Vector<CellPatch>(static_cast<std::int64_t>(drafts.size()));
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p) {
    CellPatch& patch = made.patches[static_cast<std::int64_t>(p)];
    const std::size_t cells = drafts[p].cells.size();
    constexpr std::size_t group = CellPatches::group;
    patch.cells = static_cast<std::uint16_t>(cells);
    patch.slots = static_cast<std::uint16_t>(
        made.layout == PlaceLayout::interleaved ? (cells + group - 1) / group * group : cells);
    const std::vector<std::int32_t>& unknowns = drafts[p].unknowns;
    patch.unknown_count = static_cast<std::uint16_t>(unknowns.size());
    patch.private_count = static_cast<std::uint16_t>(
        std::count_if(unknowns.begin(), unknowns.end(), [&](std::int32_t i) { return uses.is_private(i); }));
    patch.own_count = static_cast<std::uint16_t>(
        std::count_if(unknowns.begin(), unknowns.end(), [&](std::int32_t i) { return uses.is_own(i, p); }));
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
  made.places = Vector<std::uint16_t>(slots * made.places_per_slot());
  made.shared = Vector<std::int32_t>(contributions);
  made.contributions = Vector<std::uint32_t>(contributions);
}

/// Puts the unknowns in the order of the patches whose own they are, those of no patch last; returns where each is.
mesh::Array<std::int32_t> put_in_order(CellPatches& made, std::span<const Draft> drafts, const Uses& uses) {
  made.unknown_at = Vector<std::int32_t>(made.unknown_count);
  mesh::Array<std::int32_t> position = mesh::unset<std::int32_t>(made.unknown_count);
  const auto put = [&](std::int32_t unknown, std::int32_t at) {
    position[unknown] = at;
    made.unknown_at[at] = unknown;
  };
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p) {
    const CellPatch& patch = made.patches[static_cast<std::int64_t>(p)];
    std::int32_t next_private = patch.first_own, next_shared = patch.first_own + patch.private_count;
    for (const std::int32_t unknown : drafts[p].unknowns)
      if (uses.is_own(unknown, p)) put(unknown, uses.is_private(unknown) ? next_private++ : next_shared++);
  }
  std::int32_t next = drafts.empty() ? 0
                                     : made.patches[made.patches.size() - 1].first_own +
                                           made.patches[made.patches.size() - 1].own_count;
  for (std::int32_t unknown = 0; unknown < made.unknown_count && next < made.unknown_count; ++unknown)
    if (uses.count[unknown] == 0) put(unknown, next++);
  return position;
}

/// What a patch shares, and the cells and places of its slots.
void write_patch(CellPatches& made, std::size_t number, const Draft& draft, const Uses& uses,
                 std::span<const std::int32_t> position) {
  const CellPatch& patch = made.patches[static_cast<std::int64_t>(number)];
  std::vector<std::uint16_t> place_of_rank(draft.unknowns.size() + 1, patch.unknown_count);
  std::vector<std::pair<std::int32_t, std::size_t>> others;  // position and rank of what is not its own
  const auto put = [&](std::size_t rank, std::int32_t at, std::int32_t place) {
    place_of_rank[rank] = static_cast<std::uint16_t>(place);
    if (place >= patch.private_count) made.shared[patch.first_contribution + place - patch.private_count] = at;
  };
  for (std::size_t rank = 0; rank < draft.unknowns.size(); ++rank) {
    const std::int32_t unknown = draft.unknowns[rank], at = position[unknown];
    if (uses.is_own(unknown, number))
      put(rank, at, at - patch.first_own);
    else
      others.emplace_back(at, rank);
  }
  std::sort(others.begin(), others.end());
  for (std::size_t k = 0; k < others.size(); ++k)
    put(others[k].second, others[k].first, patch.own_count + static_cast<std::int32_t>(k));
  for (std::int64_t s = 0; s < patch.slots; ++s) {
    const bool filled = s < patch.cells;
    made.cell_of_slot[patch.first_slot + s] = filled ? draft.cells[s] : -1;
    made.colours[patch.first_slot + s] = filled ? draft.colours[s] : draft.colours.back();
    for (int a = 0; a < made.places_per_slot(); ++a)
      made.places[made.place_index(patch.first_slot + s, a)] =
          filled && a < made.dofs ? place_of_rank[draft.ranks[s * made.dofs + a]] : patch.unknown_count;
  }
}

/// The interface, and which contributions belong to each of its unknowns.
void link_contributions(CellPatches& made, const Uses& uses) {
  const auto uses_at = [&](std::int64_t position) { return uses.count[made.unknown_at[position]]; };
  const auto interface =
      mesh::collect<std::int32_t>(made.unknown_count, [&](std::int64_t i, std::vector<std::int32_t>& found) {
        if (uses_at(i) != 1) found.push_back(static_cast<std::int32_t>(i));
      });
  const auto count = static_cast<std::int64_t>(interface.size());
  made.interface = Vector<std::int32_t>(count);
  made.rim_offsets = Vector<std::uint32_t>(count + 1);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r) {
    made.interface[r] = interface[r];
    made.rim_offsets[r] = static_cast<std::uint32_t>(uses_at(interface[r]));
  }
  made.rim_offsets[count] = 0;
  mesh::sum_before(made.rim_offsets.span());
  Vector<std::uint32_t> next(made.unknown_count);  // the unknown's next free place among the contributions
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r) next[interface[r]] = made.rim_offsets[r];
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < made.patches.size(); ++p) {
    auto contribution = static_cast<std::uint32_t>(made.patches[p].first_contribution);
    for (const std::int32_t i : made.shared_of(made.patches[p])) {
      made.contributions[mesh::count_one(next[i])] = contribution++;
    }
  }
  // Threads came in any order.
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < count; ++r)
    std::sort(made.contributions.data() + made.rim_offsets[r], made.contributions.data() + made.rim_offsets[r + 1]);
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

/// Colours the patches, and lists for each who comes before it.
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
      for (std::uint32_t k = made.rim_offsets[r]; k < made.rim_offsets[r + 1]; ++k)
        if (const std::int32_t other = patch_of[made.contributions[k]]; colour_of[other] < colour_of[patch])
          to.push_back(other);
    }
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  };
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(static)
  for (std::int32_t k = 0; k < count; ++k) failure.guard(k, [&] { list(parts[k], earlier[k]); });
  failure.rethrow();
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

int cells_per_patch(const BilinearForm& form, int least, int most, bool resident) {
  constexpr int without_gpu = 132;  // for whoever asks what a GPU would have: an H200
  static const int multiprocessors = cuda_multiprocessors() > 0 ? cuda_multiprocessors() : without_gpu;
  const auto for_patches = [&](int patches) {
    const std::int64_t enough = (form.cells() + patches - 1) / patches;
    return std::max<std::int64_t>((enough + least - 1) / least, 1) * least;
  };
  const std::int64_t few = for_patches(multiprocessors);
  return static_cast<int>(resident && few <= most ? few : std::min<std::int64_t>(for_patches(1024), most));
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
  std::vector<Draft> drafts = draft_all(form, options);
  const Uses uses = count_uses(drafts, form.unknowns);
  lay_out(made, drafts, uses);
  const mesh::Array<std::int32_t> position = put_in_order(made, drafts, uses);
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(static)
  for (std::size_t p = 0; p < drafts.size(); ++p)
    failure.guard(static_cast<std::int64_t>(p), [&] {
      write_patch(made, p, drafts[p], uses, position);
      drafts[p] = {};  // given back by all threads, and before the lists below are made
    });
  failure.rethrow();
  link_contributions(made, uses);
  if (options.coloured) colour_patches(made);
  return made;
}

}  // namespace femcg::operators
