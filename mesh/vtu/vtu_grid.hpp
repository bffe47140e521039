#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "mesh/base/first_failure.hpp"

namespace femcg::mesh {

/// Compresses a block of an array with zlib, favouring speed over size. `to` has room for the worst case
/// (compressBound). Returns the size, or 0 on failure.
std::size_t deflated(std::span<Bytef> to, std::span<const Bytef> from);

/// One array in the file's layout: number of blocks, block size, size of an incomplete last block, compressed sizes,
/// and compressed blocks.
class CompressedArray {
 public:
  /// `fill(first, values)` writes the entries from `first` on of an array of `count`; called in parallel.
  template <class T, class Fill>
  static CompressedArray make(std::int64_t count, const Fill& fill) {
    constexpr std::int64_t block = block_bytes / sizeof(T);
    CompressedArray array;
    array.resize(count * std::int64_t{sizeof(T)});
    FirstFailure failure;
#pragma omp parallel
    {
      std::vector<T> values;
      failure.guard(FirstFailure::preparation, [&] { values.resize(block); });
#pragma omp for schedule(dynamic)
      for (std::int64_t b = 0; b < array.blocks(); ++b)
        failure.guard(b, [&] {
          const std::size_t size = std::min(block, count - b * block);
          fill(b * block, std::span(values.data(), size));
          // The output has room, so that zlib can only fail for lack of memory.
          if (!array.compress(b, values.data(), size * sizeof(T))) throw std::bad_alloc();
        });
    }
    failure.rethrow();
    return array;
  }

  std::uint64_t size() const {
    std::uint64_t bytes = header_.size() * sizeof(std::uint64_t);
    for (std::int64_t b = 0; b < blocks(); ++b) bytes += header_[3 + b];
    return bytes;
  }
  void write(std::ostream& stream) const {
    stream.write(reinterpret_cast<const char*>(header_.data()), header_.size() * sizeof(std::uint64_t));
    for (std::int64_t b = 0; b < blocks(); ++b)
      stream.write(reinterpret_cast<const char*>(data_.get() + b * stride_), header_[3 + b]);
  }

 private:
  static constexpr std::int64_t block_bytes = 1 << 18;

  std::int64_t blocks() const { return static_cast<std::int64_t>(header_.size()) - 3; }

  void resize(std::int64_t bytes) {
    const std::int64_t blocks = (bytes + block_bytes - 1) / block_bytes;
    header_.resize(3 + blocks);
    header_[0] = blocks;
    header_[1] = block_bytes;
    header_[2] = bytes % block_bytes;
    // Room for the worst case; unused pages are never touched.
    stride_ = compressBound(block_bytes);
    data_ = std::make_unique_for_overwrite<Bytef[]>(blocks * stride_);
  }
  /// False on failure.
  bool compress(std::int64_t block, const void* source, std::size_t bytes) {
    header_[3 + block] = deflated({data_.get() + block * stride_, static_cast<std::size_t>(stride_)},
                                  {static_cast<const Bytef*>(source), bytes});
    return header_[3 + block] != 0;
  }

  std::vector<std::uint64_t> header_;
  std::int64_t stride_ = 0;
  std::unique_ptr<Bytef[]> data_;
};

/// Points and cells of a .vtu file: its arrays, and the XML that describes them. Each array is made while the previous
/// one is written.
class VtuGrid {
 public:
  VtuGrid(std::int64_t points, std::int64_t cells) : points_(points), cells_(cells) {}

  /// Adds a list of texts for the whole grid.
  void add_texts(const std::string& name, std::span<const std::string> texts);
  /// Opens a section; `scalars` names the array that a viewer shows first.
  void open(const std::string& section, const std::string& scalars = "");
  void close(const std::string& section);
  /// Adds an array, computed by `make`, to the open section. `unit` may be empty.
  void add(const std::string& type, const std::string& name, int components, std::function<CompressedArray()> make,
           const std::string& unit = "");
  /// Writes file version 2.2 with appended raw data. The stream must be able to seek back to its current position,
  /// because the head holds the offsets of the arrays.
  void write(std::ostream& stream) const;

 private:
  struct Array {
    std::size_t place;  ///< position of its offset in the XML
    std::function<CompressedArray()> make;
  };
  void write_head(std::ostream& stream, std::span<const std::uint64_t> offsets) const;

  std::int64_t points_, cells_;
  std::string texts_, xml_;
  std::vector<Array> arrays_;
};

/// An array of the pieces of a grid; members as in VtuGrid::add.
struct PieceArray {
  std::string type, name;
  int components = 1;
  std::string unit = {};
};

/// Writes a .pvtu file, which joins .vtu files in its directory to one grid.
void write_pieces(std::ostream& stream, std::span<const PieceArray> of_points, std::span<const PieceArray> of_cells,
                  std::span<const std::string> pieces);

}  // namespace femcg::mesh
