#include "solver/compare/matrix_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "operators/stored/io/matrix_market.hpp"
#include "operators/stored/io/matrix_statistics.hpp"
#include "operators/stored/io/reorder.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/stopwatch.hpp"

namespace femcg::solver {

operators::CsrMatrix<double> read_matrix(const std::filesystem::path& file) try {
  return operators::read_matrix_market(file).matrix;
} catch (const operators::MatrixMarketError& error) {
  throw InputError(fmt::format("{}:{}{}", file.string(), error.line() > 0 ? "" : " ", error.what()));
}

namespace {

std::vector<double> row_sums(const operators::CsrMatrix<double>& matrix) {
  std::vector<double> sums(static_cast<std::size_t>(matrix.rows));
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) sums[row] += matrix.values[k];
  return sums;
}

std::string why_no_cg(const operators::MatrixStatistics& matrix, const std::vector<double>& load) {
  if (!matrix.symmetric_to_rounding()) return "the matrix is not symmetric";
  if (!matrix.positive_diagonal()) return "its diagonal is not positive throughout";
  const auto zero = [](double value) { return value == 0; };
  if (std::ranges::all_of(load, zero)) return "A times ones, the right-hand side, is zero";
  return "";
}

}  // namespace

MatrixInput read_matrix_input(const MatrixChoice& choice, Progress& progress) {
  MatrixInput input;
  Record& common = input.common;
  progress.step("reading " + choice.file.filename().string());
  common.command = "matrix";
  common.case_file = choice.file.string();
  common.title = choice.file.filename().string();
  common.started = timestamp();
  common.machine = this_machine();
  input.matrix = timed(common.seconds.mesh, [&] { return read_matrix(choice.file); });
  input.source = std::make_shared<MatrixSource>();
  input.source->name = choice.file.filename().string();
  if (choice.reorder) {
    progress.step("reordering");
    input.source->ordering = "reverse-cuthill-mckee";
    input.source->bandwidth_before = operators::statistics(input.matrix).bandwidth;
    input.matrix = timed(common.seconds.space, [&] {
      return operators::permute(input.matrix, operators::reverse_cuthill_mckee(input.matrix));
    });
  }
  input.statistics = std::make_shared<const operators::MatrixStatistics>(operators::statistics(input.matrix));
  input.source->symmetric = input.statistics->symmetric_to_rounding();
  common.problem.unknowns = input.matrix.rows;
  input.load = row_sums(input.matrix);
  input.why_no_cg = why_no_cg(*input.statistics, input.load);
  return input;
}

std::string products_only(const std::string& why_no_cg) {
  return fmt::format("note: products only, no CG: {}\n", why_no_cg);
}

}  // namespace femcg::solver
