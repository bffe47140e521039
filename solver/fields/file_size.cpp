#include "solver/fields/file_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <streambuf>
#include <system_error>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

class CountingBuffer : public std::streambuf {
 public:
  std::int64_t count() const { return count_; }

 protected:
  int_type overflow(int_type character) override {
    pass(1);
    return traits_type::not_eof(character);
  }
  std::streamsize xsputn(const char*, std::streamsize size) override {
    pass(size);
    return size;
  }
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode) override {
    place_ = offset + (from == std::ios::beg ? 0 : from == std::ios::cur ? place_ : count_);
    return pos_type(place_);
  }
  pos_type seekpos(pos_type place, std::ios::openmode mode) override {
    return seekoff(off_type(place), std::ios::beg, mode);
  }

 private:
  void pass(std::int64_t bytes) {
    place_ += bytes;
    count_ = std::max(count_, place_);
  }

  std::int64_t place_ = 0, count_ = 0;
};

/// Number in [1, 2) with incompressible digits (the finaliser of splitmix64).
double without_pattern(std::uint64_t number) {
  number = (number + 1) * 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return std::bit_cast<double>((number ^ (number >> 31)) >> 12 | 0x3ff0000000000000U);
}

/// Runs of cells spread over the file, with a limited total number of nodes.
FileCells sample_of(const mesh::Mesh& mesh, const FileCells& cells) {
  constexpr std::int64_t most_nodes = 200'000, runs = 4;
  const std::int64_t of_cell = mesh::lattice_size(mesh.shape, cells.degree);
  const std::int64_t count = cells.count(mesh), length = std::max<std::int64_t>(1, most_nodes / of_cell / runs);
  if (count <= runs * length) return cells;
  std::vector<std::int32_t> numbers;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t first = (count - length) * run / (runs - 1);
    for (std::int64_t i = first; i < first + length; ++i) numbers.push_back(cells.number(i));
  }
  FileCells sample = cells;
  sample.numbers = std::make_shared<const std::vector<std::int32_t>>(std::move(numbers));
  return sample;
}

}  // namespace

std::int64_t bytes_by_sample(const mesh::Mesh& mesh, const FileCells& cells, int numbers, const WriteSample& write) {
  if (cells.count(mesh) == 0) return 0;
  const FileCells sample = sample_of(mesh, cells);
  const auto make = [numbers]() -> mesh::NodeValues {
    return [](std::int64_t cell, std::span<double> values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = without_pattern(static_cast<std::uint64_t>(cell) * values.size() + i);
    };
  };
  CountingBuffer buffer;
  std::ostream stream(&buffer);
  write(stream, sample, {.name = "sample", .make = make, .components = std::max(1, numbers)});
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(buffer.count()) * static_cast<double>(cells.count(mesh)) /
                static_cast<double>(sample.count(mesh))));
}

std::int64_t bytes_of_boundary(std::int64_t facets, int nodes, std::size_t loads) {
  const auto numbers = static_cast<std::int64_t>(3 + 2 * loads + 1);  // per node: point, fields, connectivity
  constexpr std::int64_t of_facet = 8 + 1 + 2 * 4;                    // offset, type, group and region
  return facets * (nodes * numbers * 8 + of_facet);
}

std::optional<std::int64_t> free_disk(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::path there = std::filesystem::absolute(directory, failure);
  while (!failure && !std::filesystem::exists(there, failure) && there.has_relative_path()) there = there.parent_path();
  const std::filesystem::space_info space = std::filesystem::space(there, failure);
  if (failure) return std::nullopt;
  return static_cast<std::int64_t>(std::min<std::uintmax_t>(space.available, INT64_MAX));
}

void require_disk(const std::filesystem::path& directory, std::int64_t bytes) {
  const std::optional<std::int64_t> there = free_disk(directory);
  if (!there || bytes <= *there) return;
  throw InputError(fmt::format(
      "the results need about {} in {}, where {} are free; output.degree and output.subset make files smaller, "
      "output.directory names another folder",
      scaled(static_cast<double>(bytes), "B"), in_quotes(directory.string()),
      scaled(static_cast<double>(*there), "B")));
}

}  // namespace femcg::solver
