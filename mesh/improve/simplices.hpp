#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace femcg::mesh {

/// Dynamic set of simplices of K vertices, each on an entity of the geometry. Numbers are reused only after undo().
template <std::size_t K>
class Simplices {
 public:
  using Vertices = std::array<std::int32_t, K>;

  explicit Simplices(std::size_t vertices) : at_(vertices) {}

  std::int32_t add(const Vertices& vertices, int entity) {
    const auto number = static_cast<std::int32_t>(vertices_.size());
    vertices_.push_back(vertices);
    entities_.push_back(entity);
    present_.push_back(1);
    for (const std::int32_t v : vertices) at_[v].push_back(number);
    return number;
  }
  void remove(std::int32_t number) {
    for (const std::int32_t v : vertices_[number]) std::erase(at_[v], number);
    present_[number] = 0;
    removed_.push_back(number);
  }
  /// Adds a vertex without simplices.
  void add_vertex() { at_.emplace_back(); }

  /// State that undo() can return to.
  struct State {
    std::int32_t end;
    std::size_t removed, vertices;
  };
  State state() const { return {end(), removed_.size(), at_.size()}; }
  /// Numbers of the simplices that existed at a state and have been removed since.
  std::vector<std::int32_t> removed_since(const State& state) const {
    std::vector<std::int32_t> found;
    std::copy_if(removed_.begin() + state.removed, removed_.end(), std::back_inserter(found),
                 [&](std::int32_t number) { return number < state.end; });
    return found;
  }
  void undo(const State& state) {
    for (std::int32_t number = end(); number-- > state.end;)
      if (contains(number)) remove(number);
    for (const std::int32_t number : removed_since(state)) {
      present_[number] = 1;
      for (const std::int32_t v : vertices_[number]) at_[v].insert(std::ranges::upper_bound(at_[v], number), number);
    }
    vertices_.resize(state.end);
    entities_.resize(state.end);
    present_.resize(state.end);
    removed_.resize(state.removed);
    at_.resize(state.vertices);
  }

  /// One more than the largest number.
  std::int32_t end() const { return static_cast<std::int32_t>(vertices_.size()); }
  bool contains(std::int32_t number) const { return present_[number] != 0; }
  /// Vertices, also of removed simplices.
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
  std::vector<Vertices> vertices_;
  std::vector<int> entities_;
  std::vector<char> present_;
  std::vector<std::int32_t> removed_;  ///< in order of removal
  std::vector<std::vector<std::int32_t>> at_;
};

}  // namespace femcg::mesh
