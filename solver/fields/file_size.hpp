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

/// Estimated bytes of a file of these cells with `numbers` values at each point: those of a sample of runs of cells
/// spread over the file, with incompressible values, scaled to all cells.
std::int64_t bytes_by_sample(const mesh::Mesh& mesh, const FileCells& cells, int numbers, const WriteSample& write);

/// Uncompressed bytes of boundary.vtu with `facets` facets of `nodes` nodes, and two fields per load.
std::int64_t bytes_of_boundary(std::int64_t facets, int nodes, std::size_t loads);

/// Throws InputError if `bytes` bytes do not fit on the disk of a folder, or of its nearest existing parent.
void require_disk(const std::filesystem::path& directory, std::int64_t bytes);
/// Free bytes of a directory's file system; empty if unknown.
std::optional<std::int64_t> free_disk(const std::filesystem::path& directory);

}  // namespace femcg::solver
