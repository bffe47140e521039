// Cells are processed window by window, each thread having a contiguous part of a window. A thread immediately adds the
// terms of dofs that no earlier cell has; terms of other dofs it keeps in lists, one for each range of these dofs, and
// at the end of the window each thread adds up one range, list after list. So every dof gets its terms in the order of
// the cells, the sums have the same bits for any number of threads, and most terms are added where they were computed.

#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t window_entries = std::int64_t{1} << 23;  // of the first window
constexpr std::int64_t most_terms = window_entries;             // kept in a window, at most
constexpr std::int32_t chunk_cells = 64;                        // whose vectors a thread computes at a time
constexpr int samples_per_share = 64;

/// A term of the sum at a dof.
struct Term {
  std::int32_t dof;
  double value;
};

/// The threads' shared data of a window.
class Window {
 public:
  Window(const mesh::FunctionSpace& space, int most_threads)
      : space_(&space),
        cells_(std::max<std::int64_t>(window_entries / space.dofs_per_cell() / chunk_cells, 1) * chunk_cells) {
    use(most_threads);
  }

  void use(int threads) {
    shares_.resize(static_cast<std::size_t>(threads));
    limits_.resize(static_cast<std::size_t>(threads), std::numeric_limits<std::int32_t>::max());
  }
  std::int64_t cells() const { return cells_; }
  /// Range of a thread's cells in the window that begins at `first`.
  std::pair<std::int32_t, std::int32_t> share(std::int64_t first, int thread) const {
    const std::int64_t count = std::min(cells_, space_->mesh().cell_count() - first), threads = std::ssize(shares_);
    const std::int64_t chunks = (count + chunk_cells - 1) / chunk_cells;
    const auto begin_of = [&](std::int64_t t) {
      return static_cast<std::int32_t>(first + std::min(chunks * t / threads * chunk_cells, count));
    };
    return {begin_of(thread), begin_of(thread + 1)};
  }

  /// Step 1, all threads: determines the greatest dof of the thread's cells.
  void begin(std::int64_t first, int thread) {
    const auto [begin, end] = share(first, thread);
    shares_[static_cast<std::size_t>(thread)].greatest = space_->greatest_dof(begin, end);
  }
  /// Step 2, one thread: divides the dofs of earlier cells into ranges with about equally many terms.
  void divide(std::int64_t first) {
    std::vector<std::int32_t> some;
    for (std::size_t t = 0; t < shares_.size(); ++t) {
      shares_[t].fresh = greatest_ + 1;
      greatest_ = std::max(greatest_, shares_[t].greatest);
      const auto [begin, end] = share(first, static_cast<int>(t));
      const std::int64_t n = space_->dofs_per_cell(), dofs = (end - begin) * n;
      const std::int64_t step = std::max<std::int64_t>(dofs / samples_per_share, 1);
      for (std::int64_t i = step / 2; i < dofs; i += step)
        if (const std::int32_t dof = space_->dofs(static_cast<std::int32_t>(begin + i / n))[i % n];
            dof < shares_[t].fresh)
          some.push_back(dof);
    }
    std::ranges::sort(some);
    for (std::size_t part = 1; part < shares_.size(); ++part)
      limits_[part - 1] = some.empty() ? 0 : some[some.size() * part / shares_.size()];
  }
  /// Step 3, all threads: adds the terms of some of the thread's cells, or keeps them.
  void add(int thread, std::int32_t begin, std::int32_t end, const double* values, double* sum) {
    Share& mine = shares_[static_cast<std::size_t>(thread)];
    for (std::int32_t cell = begin; cell < end; ++cell)
      for (const std::int32_t dof : space_->dofs(cell)) {
        const double value = *values++;
        if (value == 0) continue;  // true of most where few cells are wanted
        if (dof >= mine.fresh)
          sum[dof] += value;
        else
          mine.terms[static_cast<std::size_t>(std::ranges::upper_bound(limits_, dof) - limits_.begin())].push_back(
              {dof, value});
      }
  }
  void clear(int thread) {
    std::vector<std::vector<Term>>& terms = shares_[static_cast<std::size_t>(thread)].terms;
    terms.resize(shares_.size());
    for (std::vector<Term>& of_part : terms) of_part.clear();
  }
  /// Step 4, all threads: adds up the kept terms of one range.
  void add_part(int part, double* sum) const {
    for (const Share& share : shares_)
      for (const Term& term : share.terms[static_cast<std::size_t>(part)]) sum[term.dof] += term.value;
  }
  /// Doubles the next window if few terms were kept: larger parts have fewer dofs in common.
  void choose_next() {
    std::size_t terms = 0;
    for (const Share& share : shares_)
      for (const std::vector<Term>& of_part : share.terms) terms += of_part.size();
    if (2 * static_cast<std::int64_t>(terms) <= most_terms) cells_ = std::min(2 * cells_, most_cells);
  }

 private:
  struct Share {
    std::int32_t greatest = -1, fresh = 0;  ///< greatest dof; first dof beyond those of all earlier cells
    std::vector<std::vector<Term>> terms;   ///< kept, for each range
  };

  static constexpr std::int64_t most_cells = std::int64_t{1} << 31;

  const mesh::FunctionSpace* space_;
  std::int64_t cells_;
  std::int32_t greatest_ = -1;        ///< dof, of all cells so far
  std::vector<Share> shares_;         ///< of the threads
  std::vector<std::int32_t> limits_;  ///< end of each range
};

}  // namespace

mesh::Array<double> sum_over_cell_ranges(const mesh::FunctionSpace& space, const std::function<CellRangeWork()>& make) {
  mesh::Array<double> sum = mesh::array_of<double>(space.dof_count());
  Window window(space, omp_get_max_threads());
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
    CellRangeWork work;
    std::vector<double> values;
    failure.guard(mesh::FirstFailure::preparation, [&] {
      work = make();
      values.resize(static_cast<std::size_t>(chunk_cells) * space.dofs_per_cell());
    });
#pragma omp single
    window.use(omp_get_num_threads());
    for (std::int64_t first = 0, next; first < space.mesh().cell_count(); first = next) {
      next = first + window.cells();
      window.begin(first, thread);
#pragma omp barrier
#pragma omp single
      failure.guard(mesh::FirstFailure::preparation, [&] { window.divide(first); });
      const auto [begin, end] = window.share(first, thread);
      failure.guard(mesh::FirstFailure::preparation, [&] { window.clear(thread); });
      for (std::int32_t cell = begin; cell < end; cell += chunk_cells)
        failure.guard(cell, [&, last = std::min(cell + chunk_cells, end)] {
          if (work(cell, last, values.data())) window.add(thread, cell, last, values.data(), sum.data());
        });
#pragma omp barrier
      failure.guard(first, [&] { window.add_part(thread, sum.data()); });
#pragma omp barrier
#pragma omp single
      window.choose_next();
    }
  }
  failure.rethrow();
  return sum;
}

mesh::Array<double> sum_over_cells(const BilinearForm& form,
                                   const std::function<void(CellEvaluator&, std::int32_t, std::span<double>)>& work) {
  return sum_over_cell_ranges(*form.space, [&]() -> CellRangeWork {
    const auto evaluator = std::make_shared<CellEvaluator>(form);
    const auto dofs = static_cast<std::size_t>(form.dofs_per_cell());
    return [&work, evaluator, dofs](std::int32_t first, std::int32_t last, double* values) {
      for (std::int32_t cell = first; cell < last; ++cell, values += dofs) {
        evaluator->move_to(cell);
        work(*evaluator, cell, {values, dofs});
      }
      return true;
    };
  });
}

}  // namespace femcg::operators
