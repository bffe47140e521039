#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "mesh/vtu/vtu.hpp"
#include "solver/case/case.hpp"
#include "solver/fields/cell_fields.hpp"
#include "solver/fields/file_cells.hpp"
#include "solver/fields/recovery.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Writes solution.vtu with the fields in output.fields.
///
/// Cells share points as far as all fields are continuous: everywhere if u is the only field, within regions with
/// recovered fields. With grad u or the flux -kappa grad u, which are discontinuous, cells share no points. Vector
/// fields are accompanied by their magnitudes. FileCells determines cells and degree; all fields are evaluated at the
/// nodes of these cells.
class SolutionFile {
 public:
  /// All arguments must outlive this object. Throws InputError if the diffusion is not finite at a node at which the
  /// flux is to be written, if recovering the fields certainly exceeds the free memory, or if no cell is to be written.
  SolutionFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem);

  /// Computes derived fields of the solutions (of the first loads, one after the other), which must outlive this
  /// object. Throws MachineError.
  void prepare(std::span<const std::vector<double>> solutions);
  /// Writes the prepared solutions.
  void write(std::ostream& stream) const;

  /// Expected bytes of the file, from a compressed sample of its cells with incompressible values; the actual solution
  /// may compress better. Available before solving; 0 if no file is wanted.
  std::int64_t expected_bytes() const;

 private:
  struct Recovered {
    OutputField field;
    std::vector<std::vector<double>> components;  ///< coefficients in Recovery::space()
  };

  bool wants(OutputField field) const;
  bool jumps() const;
  void check_diffusion_at_nodes() const;
  std::vector<Recovered> recover(std::span<const double> solution);
  bool has_exact() const;
  std::vector<mesh::PointField> fields_at_dofs() const;
  std::vector<mesh::CellwiseField> all_fields() const;
  std::function<mesh::NodeValues()> values_of(OutputField field, std::size_t load, const CellFields& make) const;
  const mesh::FunctionSpace& space_of_points() const;
  void write_cells(std::ostream& stream, const FileCells& cells, std::span<const mesh::CellwiseField> fields) const;

  const OutputChoice* output_;
  const SolutionLabel* label_;
  const Problem* problem_;
  FileCells cells_;
  std::unique_ptr<Recovery> recovery_;
  std::span<const std::vector<double>> solutions_;
  std::vector<std::vector<Recovered>> recovered_;  ///< by load
  std::vector<double> exact_, error_;              ///< coefficients, if there is an exact solution
};

/// Expected bytes of solution.vtu and boundary.vtu, as far as the case wants them.
std::int64_t bytes_of_files(const OutputChoice& output, const Problem& problem, const SolutionFile& solution);

}  // namespace femcg::solver
