#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "mesh/dofs/function_space.hpp"

namespace femcg::mesh {

/// A file that write_vtu wrote: one piece, appended raw data, zlib-compressed blocks.
class VtuFile {
 public:
  /// Reads what comes before the arrays. Throws std::runtime_error where the file cannot be read or is another one.
  explicit VtuFile(std::filesystem::path file);

  /// Names of the point fields with one number a point.
  std::vector<std::string> point_fields() const;

  /// Coefficients in the basis of the space of each of these fields of point data, on the same mesh: the same cells in
  /// the same order, at any degree, whose nodes lie where this mesh has them to 1e-9 of its extent. Throws
  /// std::runtime_error where that is not so, where there is no such field, it is not finite, or the file is damaged.
  std::vector<std::vector<double>> coefficients(std::span<const std::string> fields, const FunctionSpace& space) const {
    return coefficients(fields, space, {{}, space.mesh().cell_count()});
  }
  /// The same where the mesh has some of the cells only.
  struct PartOfCells {
    std::span<const std::int32_t> numbers;  ///< of each in the file; empty where that is its own
    std::int64_t all;                       ///< cells that the file should have
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
  std::uint64_t size_ = 0;   ///< of the file
  std::uint64_t begin_ = 0;  ///< where offsets count from
  std::int64_t points_ = 0, cells_ = 0;
  std::vector<Array> arrays_;
};

}  // namespace femcg::mesh
