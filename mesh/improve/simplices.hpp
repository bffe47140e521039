#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace femcg::mesh {

/// Simplices of K vertices, each on an entity of the geometry, that come and go. Numbers are not used again.
template <std::size_t K>
class Simplices {
 public:
  using Vertices = std::array<std::int32_t, K>;

  explicit Simplices(std::size_t vertices) : at_(vertices) {}

  std::int32_t add(const Vertices& vertices, int entity) {
    const auto number = static_cast<std::int32_t>(vertices_.size());
    vertices_.push_back(vertices);
    entities_.push_back(entity);
    for (const std::int32_t v : vertices) at_[v].push_back(number);
    return number;
  }
  void remove(std::int32_t number) {
    for (const std::int32_t v : vertices_[number]) std::erase(at_[v], number);
    vertices_[number][0] = removed;
  }

  /// One more than the largest number.
  std::int32_t end() const { return static_cast<std::int32_t>(vertices_.size()); }
  bool contains(std::int32_t number) const { return vertices_[number][0] != removed; }
  const Vertices& vertices(std::int32_t number) const { return vertices_[number]; }
  int entity(std::int32_t number) const { return entities_[number]; }
  /// Numbers of the simplices with this vertex, ascending.
  const std::vector<std::int32_t>& at(std::int32_t vertex) const { return at_[vertex]; }
  /// Numbers of the simplices with all of these vertices, ascending.
  std::vector<std::int32_t> around(std::initializer_list<std::int32_t> all) const {
    std::vector<std::int32_t> found;
    for (const std::int32_t number : at_[*all.begin()])
      if (std::ranges::all_of(all, [&](std::int32_t v) { return std::ranges::count(vertices_[number], v) > 0; }))
        found.push_back(number);
    return found;
  }

 private:
  static constexpr std::int32_t removed = -1;

  std::vector<Vertices> vertices_;
  std::vector<int> entities_;
  std::vector<std::vector<std::int32_t>> at_;
};

}  // namespace femcg::mesh
