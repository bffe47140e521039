#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>

#include "mesh/gmsh/decks/bdf_cards.hpp"

namespace femcg::mesh {

/// Coordinate frames of Nastran's bulk data (CORD1R, CORD1C, CORD1S, CORD2R, CORD2C, CORD2S), resolved to the basic
/// frame.
class BdfFrames {
 public:
  using Point = std::array<double, 3>;

  /// Adds a card whose name begins with CORD. Throws std::runtime_error if it does not define a frame.
  void add(const BdfCard& card);
  /// Transforms a point from a frame to the basic frame, number 0; `grid` returns the grid points that define a frame.
  /// Throws std::runtime_error, "line 12: ...", if the frame does not exist, depends on itself, or has collinear
  /// points.
  Point to_basic(std::int64_t frame, const Point& point, std::size_t line,
                 const std::function<Point(std::int64_t grid, std::size_t line)>& grid);

 private:
  struct Frame {
    char kind = 'R';      ///< R, C or S
    std::int64_t in = 0;  ///< frame in which the points are given
    bool by_grids = false;
    std::array<std::int64_t, 3> grids{};
    std::array<Point, 3> points{};  ///< origin, point on the z axis, point in the x-z plane
    std::size_t line = 0;
    enum class State { given, resolving, resolved } state = State::given;
    Point origin{};
    std::array<Point, 3> axes{};
  };
  void resolve(Frame& frame, const std::function<Point(std::int64_t, std::size_t)>& grid);

  std::map<std::int64_t, Frame> frames_;
};

}  // namespace femcg::mesh
