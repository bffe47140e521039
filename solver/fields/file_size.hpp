#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>

#include "mesh/vtu/vtu.hpp"
#include "solver/case/case.hpp"
#include "solver/fields/file_cells.hpp"

namespace femcg::solver {

/// Writes a sample of the cells of a file with one field.
using WriteSample =
    std::function<void(std::ostream& stream, const FileCells& sample, const mesh::CellwiseField& field)>;

/// Bytes of a file of these cells with so many numbers at each point: those of runs of cells from all over the file,
/// with numbers whose digits have no pattern, times how many more cells there are.
std::int64_t bytes_by_sample(const mesh::Mesh& mesh, const FileCells& cells, int numbers, const WriteSample& write);

/// Uncompressed bytes of boundary.vtu: so many facets with so many nodes, and two fields for each load.
std::int64_t bytes_of_boundary(std::int64_t facets, int nodes, std::size_t loads);

/// Throws InputError where files of so many bytes do not fit on the disk of a folder, or of the nearest above it that
/// is there.
void require_disk(const std::filesystem::path& directory, std::int64_t bytes);
/// Free bytes of a directory's file system; nothing where that is unknown.
std::optional<std::int64_t> free_disk(const std::filesystem::path& directory);

}  // namespace femcg::solver
