#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace femcg::mesh {

/// Indices at the lattice nodes of one cell: a view of a stored list, which must outlive this object, or at most `most`
/// computed indices stored in this object.
template <std::size_t most>
class CellIndices {
 public:
  explicit CellIndices(std::span<const std::int32_t> explicit_indices)
      : first_(explicit_indices.data()), size_(explicit_indices.size()) {}
  /// write(indices) must write `size` indices.
  template <class Write>
  CellIndices(std::size_t size, const Write& write) : size_(size) {
    first_ = own_.data();
    write(own_.data());
  }
  CellIndices(const CellIndices&) = delete;
  CellIndices& operator=(const CellIndices&) = delete;

  const std::int32_t* data() const { return first_; }
  std::size_t size() const { return size_; }
  const std::int32_t* begin() const { return first_; }
  const std::int32_t* end() const { return first_ + size_; }
  std::int32_t operator[](std::size_t i) const { return first_[i]; }

 private:
  const std::int32_t* first_;
  std::size_t size_;
  std::array<std::int32_t, most> own_;
};

}  // namespace femcg::mesh
