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

/// The fields of solution.vtu, which output.fields names.
///
/// Cells share points as far as all fields are continuous: everywhere with u alone, within regions with recovered
/// fields. With grad u or the flux -kappa grad u, which are what each cell has, every cell has points of its own.
/// Vectors have their magnitudes beside them. What cells it has, and at what degree, is FileCells'; all fields are then
/// what they are at the nodes of these cells.
class SolutionFile {
 public:
  /// All must outlive it. Throws InputError where the diffusion is not finite at a node at which the flux
  /// is to be written, the fields can surely not be recovered in the memory that is free, or no cell is to be written.
  SolutionFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem);

  /// Computes what the solutions (of the first loads, one after the other) must have before they are written; they must
  /// be there as long as this. Throws MachineError.
  void prepare(std::span<const std::vector<double>> solutions);
  /// With the solutions that were prepared.
  void write(std::ostream& stream) const;

  /// Bytes that the file will have, from a sample of its cells that is compressed with values that have no pattern:
  /// that of the solution may make it smaller. Known before anything is solved; 0 where there is to be no file.
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
  std::vector<double> exact_, error_;              ///< coefficients, where there is an exact solution
};

/// The bytes that solution.vtu and boundary.vtu, as far as the case wants them, are expected to have.
std::int64_t bytes_of_files(const OutputChoice& output, const Problem& problem, const SolutionFile& solution);

}  // namespace femcg::solver
