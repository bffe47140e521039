#include "operators/cellwise/cell_loops/patch_drafts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/dofs/space_filling_curve.hpp"

namespace femcg::operators {

namespace {

constexpr int most_colours = 256;  // 8-bit numbers

/// Numbers distinct unknowns in the order of their first appearance. The numbers are in pages of neighbouring unknowns,
/// allocated on demand: this needs no branch on whether an unknown is new, which could not be predicted.
class MetUnknowns {
 public:
  explicit MetUnknowns(std::int32_t unknowns) : page_of_(static_cast<std::size_t>(unknowns) / page + 1, none) {}

  /// Forgets all unknowns, and makes room for `most`.
  void clear(std::size_t most) {
    for (const std::int32_t met : pages_) page_of_[met] = none;
    pages_.clear();
    numbers_.clear();
    unknowns_.resize(std::max(unknowns_.size(), most + 1));  // one more may be written
    count_ = 0;
  }
  std::int32_t number_of(std::int32_t unknown) {
    const std::int32_t place = unknown / page;
    if (page_of_[place] == none) add_page(place);
    std::int32_t& number = numbers_[std::size_t(page_of_[place]) * page + unknown % page];
    const bool is_new = number < 0;
    number = is_new ? count_ : number;
    unknowns_[count_] = unknown;
    count_ += is_new ? 1 : 0;
    return number;
  }
  std::span<const std::int32_t> unknowns() const { return {unknowns_.data(), std::size_t(count_)}; }

 private:
  static constexpr std::int32_t page = 256, none = -1;

  void add_page(std::int32_t place) {
    page_of_[place] = static_cast<std::int32_t>(pages_.size());
    pages_.push_back(place);
    numbers_.resize(numbers_.size() + page, none);
  }

  std::vector<std::int32_t> page_of_;   ///< index among the allocated pages
  std::vector<std::int32_t> pages_;     ///< allocated pages
  std::vector<std::int32_t> numbers_;   ///< in the allocated pages
  std::vector<std::int32_t> unknowns_;  ///< in the order of their numbers
  std::int32_t count_ = 0;
};

/// A set of colours.
template <std::size_t words>
using Colours = std::array<std::uint64_t, words>;

/// The first colour not in `taken`; the number of colours if all are.
template <std::size_t words>
int first_free(const Colours<words>& taken) {
  std::size_t word = 0;
  while (word < taken.size() && taken[word] == ~std::uint64_t{0}) ++word;
  return static_cast<int>(64 * word) + (word < taken.size() ? std::countr_one(taken[word]) : 0);
}

/// Makes drafts of patches, with memory that is reused: one object a thread.
class Drafter {
 public:
  Drafter(const BilinearForm& form, const PatchOptions& options)
      : form_(form), options_(options), n_(static_cast<std::size_t>(form.dofs_per_cell())), met_(form.unknowns) {}

  /// Makes one patch of the cells, or, recursively, two of half of them if they have too many unknowns or colours.
  void draft(std::span<const std::int32_t> cells, std::vector<PatchDraft>& drafts) {
    if (!number_unknowns(cells) || !(colour_cells<1>(cells) || colour_cells<most_colours / 64>(cells))) {
      draft(cells.first(cells.size() / 2), drafts);
      draft(cells.subspan(cells.size() / 2), drafts);
      return;
    }
    order_cells(cells);
    drafts.push_back(ordered_draft(cells));
  }

 private:
  /// Numbers the unknowns of the cells in the order of first appearance; returns false if they are too many.
  bool number_unknowns(std::span<const std::int32_t> cells) {
    met_.clear(cells.size() * n_);
    numbers_.resize(cells.size() * n_);
    // First loads all unknowns, whose latency is long, without branches.
    const std::int32_t* const unknown_of_dof = form_.unknown_of_dof.data();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const mesh::CellDofs dofs = form_.space->dofs(cells[c]);
      for (std::size_t a = 0; a < n_; ++a) numbers_[c * n_ + a] = unknown_of_dof[dofs[a]];
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      for (std::size_t a = 0; a < n_; ++a)
        if (std::int32_t& number = numbers_[c * n_ + a]; number >= 0) number = met_.number_of(number);
      if (met_.unknowns().size() > static_cast<std::size_t>(options_.unknowns)) return false;
    }
    return true;
  }

  /// Greedy colouring in the order of the mesh, which gives the least number of colours for rows of cells of a box.
  /// Returns false if there are more colours than fit in `words` words.
  template <std::size_t words>
  bool colour_cells(std::span<const std::int32_t> cells) {
    visit_.resize(cells.size());
    std::iota(visit_.begin(), visit_.end(), std::size_t{0});
    std::sort(visit_.begin(), visit_.end(), [&](std::size_t a, std::size_t b) { return cells[a] < cells[b]; });
    taken_.assign(met_.unknowns().size() * words, 0);
    colour_of_.resize(cells.size());
    for (const std::size_t c : visit_) {
      const std::span<const std::int32_t> numbers(numbers_.data() + c * n_, n_);
      Colours<words> taken{};
      for (const std::int32_t number : numbers)
        if (number >= 0)
          for (std::size_t word = 0; word < words; ++word) taken[word] |= taken_[number * words + word];
      const int colour = first_free(taken);
      if (colour == static_cast<int>(64 * words)) return false;
      colour_of_[c] = static_cast<std::uint8_t>(colour);
      for (const std::int32_t number : numbers)
        if (number >= 0) taken_[number * words + colour / 64] |= std::uint64_t{1} << colour % 64;
    }
    return true;
  }

  /// Sorts the cells by colour, and moves whole waves of the cells that come first to the front, keeping the order
  /// among these and among the others.
  void order_cells(std::span<const std::int32_t> cells) {
    std::stable_sort(visit_.begin(), visit_.end(),
                     [&](std::size_t a, std::size_t b) { return colour_of_[a] < colour_of_[b]; });
    if (options_.first.empty()) return;
    const auto comes_first = [&](std::size_t c) { return options_.first[static_cast<std::size_t>(cells[c])] != 0; };
    const auto wave = static_cast<std::size_t>(options_.wave);
    const std::size_t count = static_cast<std::size_t>(std::ranges::count_if(visit_, comes_first)) / wave * wave;
    std::vector<std::size_t> front, others;
    for (const std::size_t c : visit_) (front.size() < count && comes_first(c) ? front : others).push_back(c);
    std::ranges::copy(others, std::ranges::copy(front, visit_.begin()).out);
  }

  /// The draft with cells in sorted order, and unknowns in the order in which adjacent threads use them, so that these
  /// access adjacent shared memory, in different banks: dof by dof of each group of slots, for one thread a cell, or
  /// cell by cell.
  PatchDraft ordered_draft(std::span<const std::int32_t> cells) {
    const std::span<const std::int32_t> unknowns = met_.unknowns();
    const std::size_t count = cells.size(), none = unknowns.size(),
                      step = options_.layout == CellLayout::interleaved ? CellPatches::group : 1;
    PatchDraft draft;
    draft.cells.resize(count);
    draft.colours.resize(count);
    for (std::size_t slot = 0; slot < count; ++slot) {
      draft.cells[slot] = cells[visit_[slot]];
      draft.colours[slot] = colour_of_[visit_[slot]];
    }
    draft.unknowns.reserve(none);
    draft.ranks.resize(count * n_);
    rank_of_.assign(none, static_cast<std::uint16_t>(none));
    for (std::size_t first = 0; first < count; first += step)
      for (std::size_t a = 0; a < n_; ++a)
        for (std::size_t slot = first; slot < std::min(first + step, count); ++slot) {
          const std::int32_t number = numbers_[visit_[slot] * n_ + a];
          std::uint16_t rank = static_cast<std::uint16_t>(none);
          if (number >= 0) {
            rank = rank_of_[number];
            if (rank == none) {
              rank = rank_of_[number] = static_cast<std::uint16_t>(draft.unknowns.size());
              draft.unknowns.push_back(unknowns[number]);
            }
          }
          draft.ranks[slot * n_ + a] = rank;
        }
    draft.ties.resize(none);
    return draft;
  }

  const BilinearForm& form_;
  const PatchOptions& options_;
  std::size_t n_;
  MetUnknowns met_;
  std::vector<std::int32_t> numbers_;  ///< [cells][dofs]: number of the dof's unknown; -1 for none
  std::vector<std::uint64_t> taken_;   ///< colours of each unknown's cells
  std::vector<std::uint8_t> colour_of_;
  std::vector<std::size_t> visit_;  ///< order of the cells
  std::vector<std::uint16_t> rank_of_;
};

}  // namespace

std::vector<PatchDraft> draft_patches(const BilinearForm& form, const PatchOptions& options) {
  std::vector<std::int32_t> order;
  if (const mesh::Mesh& mesh = form.space->mesh(); mesh.follows_curve) {
    order = mesh::filled<std::int32_t>(static_cast<std::size_t>(mesh.cell_count()));
    std::iota(order.begin(), order.end(), 0);
  } else {
    order = mesh::cells_along_curve(mesh);
  }
  const std::size_t step = static_cast<std::size_t>(options.cells), pieces = (order.size() + step - 1) / step;
  std::vector<std::vector<PatchDraft>> of_piece(pieces);
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::optional<Drafter> drafter;
    failure.guard(mesh::FirstFailure::preparation, [&] { drafter.emplace(form, options); });
#pragma omp for schedule(dynamic, 16)
    for (std::size_t piece = 0; piece < pieces; ++piece)
      failure.guard(static_cast<std::int64_t>(piece), [&] {
        const std::size_t begin = piece * step;
        drafter->draft(std::span(order).subspan(begin, std::min(step, order.size() - begin)), of_piece[piece]);
      });
  }
  failure.rethrow();
  std::vector<PatchDraft> drafts;
  for (std::vector<PatchDraft>& some : of_piece)
    for (PatchDraft& draft : some) drafts.push_back(std::move(draft));
  return drafts;
}

}  // namespace femcg::operators
