#include "mesh/gmsh/decks/bdf_frames.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <cmath>
#include <numbers>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck.hpp"

namespace femcg::mesh {

void BdfFrames::add(const BdfCard& card) {
  const std::string& name = card.name;  // CORD2C
  if (name.size() != 6 || (name[4] != '1' && name[4] != '2') ||
      std::string_view("RCS").find(name[5]) == std::string_view::npos)
    fail_at_line(card.line,
                 fmt::format("the frame {} is not read, only CORD1R, C, S and CORD2R, C, S", printable(name)));
  const auto whole = [&](std::size_t f) { return card.field(f).empty() ? 0 : integer_at(card.line, card.field(f)); };
  const auto keep = [&](std::int64_t number, Frame frame) {
    frame.kind = name[5];
    frame.line = card.line;
    if (number < 1 || !frames_.emplace(number, frame).second)
      fail_at_line(card.line, fmt::format("the number {} of a frame is not positive, or defined twice", number));
  };
  Frame frame;
  frame.by_grids = name[4] == '1';
  if (frame.by_grids) {
    for (std::size_t first = 0; first < 8 && !card.field(first).empty(); first += 4) {
      for (std::size_t i = 0; i < 3; ++i) frame.grids[i] = whole(first + 1 + i);
      keep(whole(first), frame);
    }
    return;
  }
  frame.in = whole(1);
  for (std::size_t i = 0; i < 9; ++i)
    frame.points[i / 3][i % 3] = card.field(2 + i).empty() ? 0.0 : real_at(card.line, card.field(2 + i));
  keep(whole(0), frame);
}

void BdfFrames::resolve(Frame& frame, const std::function<Point(std::int64_t, std::size_t)>& grid) {
  if (frame.state == Frame::State::resolved) return;
  if (frame.state == Frame::State::resolving) fail_at_line(frame.line, "a frame is defined by itself");
  frame.state = Frame::State::resolving;
  std::array<Eigen::Vector3d, 3> p;
  for (std::size_t i = 0; i < 3; ++i) {
    const Point x =
        frame.by_grids ? grid(frame.grids[i], frame.line) : to_basic(frame.in, frame.points[i], frame.line, grid);
    p[i] = Eigen::Vector3d(x[0], x[1], x[2]);
  }
  const Eigen::Vector3d along = p[1] - p[0], z = along.normalized(), in_plane = p[2] - p[0], y = z.cross(in_plane);
  if (!(along.norm() > 0) || !(y.norm() > 1e-9 * in_plane.norm()))
    fail_at_line(frame.line, "the three points of a frame lie on a line");
  const std::array<Eigen::Vector3d, 3> axes{y.normalized().cross(z), y.normalized(), z};
  for (std::size_t i = 0; i < 3; ++i) {
    frame.origin[i] = p[0][static_cast<Eigen::Index>(i)];
    for (std::size_t a = 0; a < 3; ++a) frame.axes[a][i] = axes[a][static_cast<Eigen::Index>(i)];
  }
  frame.state = Frame::State::resolved;
}

BdfFrames::Point BdfFrames::to_basic(std::int64_t number, const Point& point, std::size_t line,
                                     const std::function<Point(std::int64_t, std::size_t)>& grid) {
  if (number == 0) return point;
  const auto found = frames_.find(number);
  if (found == frames_.end())
    fail_at_line(line, fmt::format("there is no frame {} (CORD2R or the like) for these coordinates", number));
  Frame& frame = found->second;
  resolve(frame, grid);
  const double degree = std::numbers::pi / 180;
  const auto [r, s, t] = point;
  Point local = point;
  if (frame.kind == 'C') local = {r * std::cos(s * degree), r * std::sin(s * degree), t};
  if (frame.kind == 'S')
    local = {r * std::sin(s * degree) * std::cos(t * degree), r * std::sin(s * degree) * std::sin(t * degree),
             r * std::cos(s * degree)};
  Point basic = frame.origin;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t i = 0; i < 3; ++i) basic[i] += local[a] * frame.axes[a][i];
  return basic;
}

}  // namespace femcg::mesh
