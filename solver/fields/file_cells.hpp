#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/vtu/vtu.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// The cells of a mesh that .vtu files contain, and their degree (output.subset and output.degree).
struct FileCells {
  /// Throws InputError if a region does not exist in the mesh, or if no cell of any process is selected. Collective if
  /// several processes have parts of the mesh.
  FileCells(const OutputChoice& output, int degree_of_solution, const mesh::Mesh& mesh,
            const operators::SharedDofs& shared = {});
  /// All cells, with degree `asked`.
  explicit FileCells(int asked) : degree(asked), linear(asked == 1) {}

  std::int64_t count(const mesh::Mesh& mesh) const { return numbers ? std::ssize(*numbers) : mesh.cell_count(); }
  /// Number in the mesh of cell i of the file.
  std::int32_t number(std::int64_t i) const { return numbers ? (*numbers)[i] : static_cast<std::int32_t>(i); }
  mesh::CellKind kind() const { return linear ? mesh::CellKind::linear : mesh::CellKind::lagrange; }
  std::vector<std::int32_t> regions(const mesh::Mesh& mesh) const;

  int degree;                                                ///< at most the solution's
  bool linear;                                               ///< linear cells, because degree 1 was asked for
  std::shared_ptr<const std::vector<std::int32_t>> numbers;  ///< ascending; null if the file has all cells
};

/// Points that these cells share in a file: a space of their degree on these cells only.
class FilePoints {
 public:
  /// `space`: space on the mesh, which must outlive this object.
  FilePoints(const mesh::FunctionSpace& space, const FileCells& cells);
  FilePoints(const FilePoints&) = delete;
  FilePoints& operator=(const FilePoints&) = delete;

  const mesh::FunctionSpace& space() const { return own_ ? *own_ : *given_; }

 private:
  const mesh::FunctionSpace* given_;
  mesh::Mesh part_;  ///< empty if the file has all cells
  std::optional<mesh::FunctionSpace> own_;
};

}  // namespace femcg::solver
