#include "solver/fields/system_files.hpp"

#include <ostream>
#include <span>
#include <vector>

#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/io/matrix_market.hpp"

namespace femcg::solver {

void add_system(const Problem& problem, mesh::FileGroup& group) {
  const operators::CsrMatrix<double> matrix =
      operators::assemble<double>(problem.form(), operators::assemble_element_matrices(problem.form()));
  group.add(matrix_file, [&](std::ostream& stream) { operators::write_matrix_market(stream, matrix); });
  std::vector<std::span<const double>> columns;
  for (const Load& load : problem.loads()) columns.emplace_back(load.values());
  group.add(load_file, [&](std::ostream& stream) { operators::write_matrix_market(stream, columns); });
}

std::int64_t bytes_of_system(const Problem& problem) {
  constexpr std::int64_t of_value = 23, of_number = 8;  // including the following blank or line end
  const operators::MatrixRows<double> counted(problem.form());
  const std::int64_t rows = counted.offsets().rows, entries = (counted.offsets().nonzeros() + rows) / 2;
  return entries * (2 * of_number + of_value) + rows * std::ssize(problem.loads()) * of_value;
}

}  // namespace femcg::solver
