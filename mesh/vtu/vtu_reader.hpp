#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"

namespace femcg::mesh {

/// A file written by write_vtu: one piece, appended raw data, zlib-compressed blocks.
class VtuFile {
 public:
  /// Reads the header. Throws std::runtime_error if the file cannot be read or was not written by write_vtu.
  explicit VtuFile(std::filesystem::path file);

  /// Names of the scalar point fields.
  std::vector<std::string> point_fields() const;

  /// Coefficients of point fields in the basis of the space. The file must have the same mesh: the same cells in the
  /// same order, of any degree, whose nodes agree with the mesh's to 1e-9 of its extent. Throws std::runtime_error if
  /// it does not, if a field is missing or not finite, or if the file is damaged.
  std::vector<std::vector<double>> coefficients(std::span<const std::string> fields, const FunctionSpace& space) const {
    return coefficients(fields, space, {{}, space.mesh().cell_count()});
  }
  /// The same if the mesh has only some of the cells.
  struct PartOfCells {
    std::span<const std::int32_t> numbers;  ///< number of each cell in the file; empty if equal to its own
    std::int64_t all;                       ///< number of cells that the file should have
  };
  std::vector<std::vector<double>> coefficients(std::span<const std::string> fields, const FunctionSpace& space,
                                                const PartOfCells& part) const;

 private:
  struct Array {
    std::string section, type, name;
    int components;
    std::uint64_t offset;
  };

  void read_tag(const std::string& tag, std::string& section);
  const Array* find(const std::string& section, const std::string& name) const;
  template <class T>
  std::vector<T> read(const std::string& section, const std::string& name, const std::string& type, int components,
                      std::int64_t count) const;
  int nodes_of_cells(CellShape shape) const;

  std::filesystem::path file_;
  std::uint64_t size_ = 0;   ///< bytes of the file
  std::uint64_t begin_ = 0;  ///< origin of the offsets
  std::int64_t points_ = 0, cells_ = 0;
  std::vector<Array> arrays_;
};

}  // namespace femcg::mesh
