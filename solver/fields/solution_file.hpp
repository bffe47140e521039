#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "mesh/vtu.hpp"
#include "solver/case/case.hpp"
#include "solver/fields/recovery.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The fields of solution.vtu, which output.fields names.
///
/// Cells share points as far as all fields are continuous: everywhere with u alone, within regions with recovered
/// fields. With grad u or the flux -kappa grad u, which are what each cell has, every cell has points of its own.
/// Vectors have their magnitudes beside them.
class SolutionFile {
 public:
  /// Case and problem must outlive it. Throws InputError where the diffusion is not finite at a node at which the flux
  /// is to be written, or the fields can surely not be recovered in the memory that is free.
  SolutionFile(const Case& resolved, const Problem& problem);

  /// Computes what the solutions (of the first loads, one after the other) must have before anything is written.
  /// Throws MachineError.
  void prepare(std::span<const std::vector<double>> solutions);
  /// Of the same solutions, which must be there still.
  void write(std::ostream& stream) const;

 private:
  struct Recovered {
    OutputField field;
    std::vector<std::vector<double>> components;  ///< coefficients in Recovery::space()
  };

  bool wants(OutputField field) const;
  bool jumps() const;
  void check_diffusion_at_nodes() const;
  std::vector<Recovered> recover(std::span<const double> solution);
  std::vector<mesh::TextField> names() const;
  std::vector<mesh::PointField> solutions_at_dofs() const;
  std::vector<mesh::CellwiseField> all_fields() const;
  void add_load(std::size_t load, std::vector<mesh::CellwiseField>& fields) const;

  const Case* case_;
  const Problem* problem_;
  std::unique_ptr<Recovery> recovery_;
  std::span<const std::vector<double>> solutions_;
  std::vector<std::vector<Recovered>> recovered_;  ///< by load
  std::vector<double> exact_, error_;              ///< coefficients, where there is an exact solution
};

}  // namespace femcg::solver
