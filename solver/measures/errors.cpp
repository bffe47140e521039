#include "solver/measures/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "operators/backend/memory.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/programs/point_tables.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

using operators::CellLanes;

constexpr int most_points = 16;  // per direction

/// Exact solution on the regions of a mesh, with its gradient.
class ExactSolution {
 public:
  ExactSolution(const Field& exact, const mesh::Mesh& mesh) : field_(exact, "exact", mesh, std::nullopt), mesh_(&mesh) {
    for (const Expression& each : field_.by_region()) programs_.push_back(each.program_with_gradient());
  }

  std::span<const operators::PointProgram> programs() const { return programs_; }
  /// u, du/dx, du/dy and du/dz at points of a cell ([count][3]): [4][count].
  void evaluate(std::int32_t cell, std::span<const double> points, std::span<double> values) const {
    programs_[static_cast<std::size_t>(mesh_->cell_regions[cell])].evaluate(points, values);
    const auto wrong = std::ranges::find_if_not(values, [](double value) { return std::isfinite(value); });
    if (wrong == values.end()) return;
    const std::size_t count = values.size() / 4;
    const Expression& expression = field_.of_cell(cell);
    expression.evaluate(points, values.first(count));  // reports a non-finite u
    const double* point = points.data() + 3 * (static_cast<std::size_t>(wrong - values.begin()) % count);
    throw InputError(expression.placed(fmt::format("the gradient of {} is not finite at the point {}",
                                                   in_quotes(expression.text()), point_text(point))));
  }

 private:
  FieldOnRegions field_;
  const mesh::Mesh* mesh_;
  std::vector<operators::PointProgram> programs_;  ///< per region
};

/// Squared errors of a few cells at a time, one per vector lane. Has scratch memory: one per thread.
class CellErrors {
 public:
  CellErrors(const mesh::FunctionSpace& space, int quadrature, const ExactSolution& exact, std::span<const double> dofs)
      : space_(&space),
        exact_(&exact),
        dofs_(dofs),
        d_(space.mesh().dimension()),
        cells_(space.mesh(), quadrature),
        basis_(space.basis(), quadrature),
        scratch_(static_cast<std::size_t>(basis_.scratch_size())),
        coefficients_(static_cast<std::size_t>(basis_.functions())),
        values_(static_cast<std::size_t>(cells_.points())),
        slopes_(static_cast<std::size_t>(d_) * values_.size()),
        exact_values_(4 * values_.size()),
        of_lane_(exact_values_.size()) {}

  /// Adds the squared errors of the cells [first, last).
  void add(std::int32_t first, std::int32_t last, Errors& squares) {
    for (std::int32_t cell = first; cell < last; cell += operators::cell_lanes)
      add_lanes(cell, std::min<std::int32_t>(operators::cell_lanes, last - cell), squares);
  }

 private:
  void add_lanes(std::int32_t first, int count, Errors& squares) {
    cells_.move_to(first, count, true);
    for (int lane = 0; lane < count; ++lane) {
      exact_->evaluate(first + lane, cells_.positions(lane), of_lane_);
      for (std::size_t k = 0; k < of_lane_.size(); ++k) exact_values_[k][lane] = of_lane_[k];
    }
    for (int lane = 0; lane < operators::cell_lanes; ++lane) {
      const auto of_cell = space_->dofs(cells_.cell(lane));
      for (std::size_t a = 0; a < coefficients_.size(); ++a) coefficients_[a][lane] = dofs_[of_cell[a]];
    }
    basis_.values(coefficients_.data(), values_.data(), scratch_.data());
    basis_.gradients(coefficients_.data(), slopes_.data(), scratch_.data());
    d_ == 2 ? add_points<2>(count, squares) : add_points<3>(count, squares);
  }

  template <int d>
  void add_points(int count, Errors& squares) {
    CellLanes l2{}, h1{}, norm_l2{}, norm_h1{};
    const std::size_t points = values_.size();
    for (std::size_t q = 0; q < points; ++q) {
      CellLanes c[d][d];  // |J| J^-1
      const CellLanes determinant = cells_.cofactors(static_cast<int>(q), c);
      const CellLanes measure = cells_.weight(static_cast<int>(q)) * determinant;
      const CellLanes exact = exact_values_[q], error = values_[q] - exact;
      l2 += measure * error * error;
      norm_l2 += measure * exact * exact;
      for (int i = 0; i < d; ++i) {
        CellLanes slope{};
        for (int axis = 0; axis < d; ++axis) slope += c[axis][i] * slopes_[axis * points + q];
        const CellLanes exact_slope = exact_values_[(i + 1) * points + q],
                        difference = slope / determinant - exact_slope;
        h1 += measure * difference * difference;
        norm_h1 += measure * exact_slope * exact_slope;
      }
    }
    for (int lane = 0; lane < count; ++lane) {
      squares.l2 += l2[lane];
      squares.h1 += h1[lane];
      squares.norm_l2 += norm_l2[lane];
      squares.norm_h1 += norm_h1[lane];
    }
  }

  const mesh::FunctionSpace* space_;
  const ExactSolution* exact_;
  std::span<const double> dofs_;
  int d_;
  operators::CellsAtPoints cells_;
  operators::PointTables basis_;
  std::vector<CellLanes> scratch_, coefficients_;
  std::vector<CellLanes> values_, slopes_;  ///< of u_h: [points], and [reference axis][points]
  std::vector<CellLanes> exact_values_;     ///< [u, du/dx, du/dy, du/dz][points]
  std::vector<double> of_lane_;
};

bool takes_gpu(const operators::FunctionOnGpu* on_gpu, int quadrature, const ExactSolution& exact) {
  return on_gpu != nullptr && operators::cuda_takes(exact.programs()) &&
         operators::ErrorTables::bytes(on_gpu->space(), quadrature) <=
             operators::available_bytes(operators::Device::cuda);
}

constexpr std::int32_t block_cells = 256;

std::int32_t block_count(std::int32_t cells) { return cells / block_cells + (cells % block_cells > 0 ? 1 : 0); }

/// Squared errors of each block of cells.
std::vector<Errors> squares_on_host(const Problem& problem, int quadrature, const ExactSolution& exact,
                                    std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const std::int32_t cells = problem.form().cells();
  std::vector<Errors> parts(static_cast<std::size_t>(block_count(cells)));
  mesh::parallel_for(
      parts.size(), [&] { return CellErrors(space, quadrature, exact, dofs); },
      [&](CellErrors& errors, std::size_t block) {
        const auto first = static_cast<std::int32_t>(block) * block_cells;
        errors.add(first, first + std::min(block_cells, cells - first), parts[block]);
      });
  return parts;
}

std::vector<Errors> squares_on_gpu(const operators::FunctionOnGpu& u, int quadrature, const ExactSolution& exact) {
  const std::vector<double> of_cells =
      operators::cuda_error_squares(u, operators::ErrorTables(u.space(), quadrature), exact.programs());
  const std::int32_t cells = u.space().mesh().cell_count();
  std::vector<Errors> parts(static_cast<std::size_t>(block_count(cells)));
#pragma omp parallel for schedule(static)
  for (std::size_t block = 0; block < parts.size(); ++block) {
    const std::size_t first = block * block_cells, last = std::min<std::size_t>(first + block_cells, cells);
    for (std::size_t cell = first; cell < last; ++cell) {
      const double* of = of_cells.data() + 4 * cell;
      parts[block].l2 += of[0];
      parts[block].h1 += of[1];
      parts[block].norm_l2 += of[2];
      parts[block].norm_h1 += of[3];
    }
  }
  return parts;
}

std::array<double, 4> sums_of(const std::vector<Errors>& parts) {
  std::array<double, 4> squares{};
  for (const Errors& part : parts) {
    squares[0] += part.l2;
    squares[1] += part.h1;
    squares[2] += part.norm_l2;
    squares[3] += part.norm_h1;
  }
  return squares;
}

}  // namespace

/// Sums over blocks of cells, then over the blocks: the same for any number of threads.
Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs,
                      const operators::FunctionOnGpu* on_gpu) {
  const ExactSolution solution(exact, problem.form().space->mesh());
  const int quadrature = std::min(problem.form().quadrature + 2, most_points);
  const bool there = takes_gpu(on_gpu, quadrature, solution);
  std::array<double, 4> squares = sums_of(there ? squares_on_gpu(*on_gpu, quadrature, solution)
                                                : squares_on_host(problem, quadrature, solution, dofs));
  const auto finite = [](double square) { return std::isfinite(square); };
  if (there && !std::ranges::all_of(squares, finite))  // the host reports where
    squares = sums_of(squares_on_host(problem, quadrature, solution, dofs));
  problem.shared().sum(squares);
  return {std::sqrt(squares[0]), std::sqrt(squares[1]), std::sqrt(squares[2]), std::sqrt(squares[3])};
}

}  // namespace femcg::solver
