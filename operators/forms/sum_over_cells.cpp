// Cells are worked on in parallel, windows of them one after the other, and then each thread adds up what these have
// for its share of the dofs, in the order of the cells. So the sums are the same to the bit for any number of threads,
// and what is kept of the cells fits in a cache.

#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "mesh/first_failure.hpp"
#include "mesh/pages.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t window_entries = std::int64_t{1} << 22;
constexpr std::int32_t chunk_cells = 64;
constexpr int samples_per_part = 64;

/// Some cells in succession: their vectors, and the dofs that they lie between.
struct Chunk {
  std::int32_t first_cell, last_cell;  ///< [first, last)
  std::int32_t least_dof, greatest_dof;
};

/// What the cells of a window have for the dofs.
class Window {
 public:
  explicit Window(const mesh::FunctionSpace& space)
      : space_(&space),
        dofs_(space.dofs_per_cell()),
        cells_(std::max<std::int64_t>(window_entries / dofs_ / chunk_cells, 1) * chunk_cells),
        values_(std::min<std::int64_t>(cells_, space.mesh().cell_count()) * dofs_) {}

  std::int64_t cells() const { return cells_; }
  const std::vector<Chunk>& chunks() const { return chunks_; }
  double* of_cell(std::int32_t cell) { return values_.data() + (cell - first_) * std::int64_t{dofs_}; }

  void begin_at(std::int64_t first) {
    first_ = first;
    chunks_.clear();
    const std::int64_t last = std::min<std::int64_t>(first + cells_, space_->mesh().cell_count());
    for (std::int64_t cell = first; cell < last; cell += chunk_cells)
      chunks_.push_back({static_cast<std::int32_t>(cell),
                         static_cast<std::int32_t>(std::min<std::int64_t>(cell + chunk_cells, last)), 0, 0});
  }

  void find_dofs(std::size_t chunk) {
    const std::span<const std::int32_t> dofs = dofs_of(chunks_[chunk]);
    const auto [least, greatest] = std::minmax_element(dofs.begin(), dofs.end());
    chunks_[chunk].least_dof = *least;
    chunks_[chunk].greatest_dof = *greatest;
  }

  /// Dofs at which to divide the window's entries in about equal parts: part p is [p], [p + 1].
  std::vector<std::int32_t> shares(int parts) const {
    const std::span<const std::int32_t> all(
        space_->cell_dofs().data() + first_ * dofs_,
        static_cast<std::size_t>((chunks_.back().last_cell - first_) * std::int64_t{dofs_}));
    std::vector<std::int32_t> some;
    const std::size_t step = std::max<std::size_t>(all.size() / (std::size_t(parts) * samples_per_part), 1);
    for (std::size_t i = step / 2; i < all.size(); i += step) some.push_back(all[i]);
    std::sort(some.begin(), some.end());
    std::vector<std::int32_t> begins{0};
    for (int part = 1; part < parts; ++part) begins.push_back(some.empty() ? 0 : some[some.size() * part / parts]);
    begins.push_back(std::numeric_limits<std::int32_t>::max());
    return begins;
  }

  void add(std::int32_t begin, std::int32_t end, double* sum) const {
    for (const Chunk& chunk : chunks_) {
      if (chunk.greatest_dof < begin || chunk.least_dof >= end) continue;
      const std::span<const std::int32_t> dofs = dofs_of(chunk);
      const double* values = values_.data() + (chunk.first_cell - first_) * dofs_;
      if (chunk.least_dof >= begin && chunk.greatest_dof < end) {
        for (std::size_t i = 0; i < dofs.size(); ++i) sum[dofs[i]] += values[i];
      } else {
        for (std::size_t i = 0; i < dofs.size(); ++i)
          if (dofs[i] >= begin && dofs[i] < end) sum[dofs[i]] += values[i];
      }
    }
  }

 private:
  std::span<const std::int32_t> dofs_of(const Chunk& chunk) const {
    return {space_->cell_dofs().data() + std::int64_t{chunk.first_cell} * dofs_,
            static_cast<std::size_t>(chunk.last_cell - chunk.first_cell) * dofs_};
  }

  const mesh::FunctionSpace* space_;
  int dofs_;
  std::int64_t cells_, first_ = 0;
  Vector<double> values_;  ///< cells x dofs
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<double> sum_over_cell_ranges(const mesh::FunctionSpace& space, const std::function<CellRangeWork()>& make) {
  std::vector<double> sum = mesh::filled<double>(space.dof_count());
  Window window(space);
  std::vector<std::int32_t> shares{0};  // ends of the parts
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    CellRangeWork work;
    failure.guard(mesh::FirstFailure::preparation, [&] { work = make(); });
    for (std::int64_t first = 0; first < space.mesh().cell_count(); first += window.cells()) {
#pragma omp single
      failure.guard(first, [&] {
        window.begin_at(first);
        shares = window.shares(omp_get_num_threads());
      });
#pragma omp for schedule(static)
      for (std::size_t c = 0; c < window.chunks().size(); ++c) {
        const Chunk& chunk = window.chunks()[c];
        window.find_dofs(c);
        failure.guard(chunk.first_cell,
                      [&] { work(chunk.first_cell, chunk.last_cell, window.of_cell(chunk.first_cell)); });
      }
#pragma omp for schedule(static)
      for (std::size_t part = 0; part < shares.size() - 1; ++part)
        window.add(shares[part], shares[part + 1], sum.data());
    }
  }
  failure.rethrow();
  return sum;
}

std::vector<double> sum_over_cells(const BilinearForm& form,
                                   const std::function<void(CellEvaluator&, std::int32_t, std::span<double>)>& work) {
  return sum_over_cell_ranges(*form.space, [&]() -> CellRangeWork {
    const auto evaluator = std::make_shared<CellEvaluator>(form);
    const auto dofs = static_cast<std::size_t>(form.dofs_per_cell());
    return [&work, evaluator, dofs](std::int32_t first, std::int32_t last, double* values) {
      for (std::int32_t cell = first; cell < last; ++cell, values += dofs) {
        evaluator->move_to(cell);
        work(*evaluator, cell, {values, dofs});
      }
    };
  });
}

}  // namespace femcg::operators
