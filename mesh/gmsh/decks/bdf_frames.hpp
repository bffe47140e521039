#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>

#include "mesh/gmsh/decks/bdf_cards.hpp"

namespace femcg::mesh {

/// The coordinate frames of Nastran's bulk data (CORD1R, CORD1C, CORD1S, CORD2R, CORD2C, CORD2S), in the basic one.
class BdfFrames {
 public:
  using Point = std::array<double, 3>;

  /// Takes a card whose name begins with CORD. Throws std::runtime_error for one that is no frame.
  void add(const BdfCard& card);
  /// A point with coordinates in a frame, 0 being the basic one; `grid` is asked for the points that a frame is defined
  /// by. Throws std::runtime_error, "line 12: ...", for a frame that does not exist, is defined by itself, or whose
  /// three points lie on a line.
  Point to_basic(std::int64_t frame, const Point& point, std::size_t line,
                 const std::function<Point(std::int64_t grid, std::size_t line)>& grid);

 private:
  struct Frame {
    char kind = 'R';      ///< R, C or S
    std::int64_t in = 0;  ///< frame of the points
    bool by_grids = false;
    std::array<std::int64_t, 3> grids{};
    std::array<Point, 3> points{};  ///< origin, on the z axis, in the plane of x and z
    std::size_t line = 0;
    enum class State { given, resolving, resolved } state = State::given;
    Point origin{};
    std::array<Point, 3> axes{};
  };
  void resolve(Frame& frame, const std::function<Point(std::int64_t, std::size_t)>& grid);

  std::map<std::int64_t, Frame> frames_;
};

}  // namespace femcg::mesh
