#include "solver/inspection/drafted_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "mesh/element/reference_cell.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"

namespace femcg::solver {

namespace {

using Eigen::Vector3d;

/// Flat triangles of a face, with outward normals scaled by their area; and its vertices, which lie on the geometry.
struct Surface {
  std::vector<Vector3d> points, normals, centres;
  double area = 0;
};

Surface surface_of(const mesh::Mesh& mesh, const std::vector<mesh::BoundaryFacet>& facets) {
  const mesh::Lattice lattice(mesh.shape, mesh.order);
  const std::vector<int> vertices = lattice.vertex_nodes();
  Surface made;
  for (const mesh::BoundaryFacet& facet : facets) {
    const auto nodes = mesh.nodes(facet.cell);
    const auto point = [&](int vertex) { return Vector3d(mesh.point(nodes[vertices[vertex]]).data()); };
    Vector3d inside = Vector3d::Zero(), centre = Vector3d::Zero();
    for (std::size_t v = 0; v < vertices.size(); ++v) inside += point(static_cast<int>(v));
    inside /= static_cast<double>(vertices.size());
    const auto& of_facet = mesh::facets(mesh.shape)[facet.facet].vertices;
    std::vector<Vector3d> corners;
    for (const int vertex : of_facet) corners.push_back(point(vertex));
    for (const Vector3d& corner : corners) centre += corner / static_cast<double>(corners.size());
    Vector3d normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]) / 2;
    if (corners.size() == 4) normal *= 2;
    if (normal.dot(centre - inside) < 0) normal = -normal;
    made.area += normal.norm();
    made.points.insert(made.points.end(), corners.begin(), corners.end());
    made.normals.push_back(normal);
    made.centres.push_back(centre);
  }
  return made;
}

/// Unit normal of a plane face; empty for a curved one.
std::optional<Vector3d> plane_of(const Surface& face) {
  constexpr double flat = 1e-6;
  Vector3d sum = Vector3d::Zero();
  for (const Vector3d& normal : face.normals) sum += normal;
  if (sum.norm() < (1 - flat) * face.area) return std::nullopt;
  return sum.normalized();
}

/// Circle that points lie on, seen along an axis, and the distance of each point from it.
struct Circle {
  Vector3d axis, centre;
  double radius;
  Eigen::VectorXd distances;

  Vector3d outwards(const Vector3d& point) const {
    const Vector3d from = point - centre;
    return from - from.dot(axis) * axis;
  }
};

/// Least-squares circle (Kasa 1976), with lengths scaled by the face's size.
Circle circle_along(const Surface& face, const Vector3d& axis) {
  const Vector3d across = axis.unitOrthogonal(), other = axis.cross(across);
  const Vector3d origin = face.points.front();  // a nearby origin avoids cancellation
  double size = 0;
  for (const Vector3d& point : face.points) size = std::max(size, (point - origin).norm());
  Eigen::Matrix3d products = Eigen::Matrix3d::Zero();
  Vector3d right = Vector3d::Zero();
  for (const Vector3d& point : face.points) {
    const double a = (point - origin).dot(across) / size, b = (point - origin).dot(other) / size;
    const Vector3d row(2 * a, 2 * b, 1);
    products += row * row.transpose();
    right += (a * a + b * b) * row;
  }
  const Vector3d found = products.fullPivLu().solve(right);
  Circle circle{axis, origin + size * (found[0] * across + found[1] * other),
                size * std::sqrt(found[2] + found[0] * found[0] + found[1] * found[1]),
                Eigen::VectorXd(std::ssize(face.points))};
  for (std::ptrdiff_t i = 0; i < circle.distances.size(); ++i)
    circle.distances[i] = circle.outwards(face.points[i]).norm() - circle.radius;
  return circle;
}

/// Axis along which the points are nearest to a circle, by the Gauss-Newton method from an approximate axis.
Circle nearest_circle(const Surface& face, const Vector3d& axis) {
  constexpr double step = 1e-6;
  constexpr int iterations = 6;
  Circle circle = circle_along(face, axis);
  for (int k = 0; k < iterations; ++k) {
    const Vector3d across = circle.axis.unitOrthogonal(), other = circle.axis.cross(across);
    const auto slope = [&](const Vector3d& to) -> Eigen::VectorXd {
      return (circle_along(face, (circle.axis + step * to).normalized()).distances - circle.distances) / step;
    };
    const Eigen::VectorXd u = slope(across), v = slope(other);
    const Eigen::Matrix2d products{{u.dot(u), u.dot(v)}, {u.dot(v), v.dot(v)}};
    const Eigen::Vector2d turn =
        -products.fullPivLu().solve(Eigen::Vector2d(u.dot(circle.distances), v.dot(circle.distances)));
    const Circle next = circle_along(face, (circle.axis + turn[0] * across + turn[1] * other).normalized());
    if (!(next.distances.norm() < circle.distances.norm())) break;
    circle = next;
  }
  return circle;
}

struct Cylinder {
  double radius;
  bool hole;
};

/// Tries a coordinate axis, and the direction in which the normals have the least components, as initial axes.
std::optional<Cylinder> cylinder_of(const Surface& face) {
  constexpr double round = 1e-4, aslant = 0.3;
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const Vector3d& normal : face.normals) spread += normal * normal.transpose() / normal.norm();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> directions(spread);
  for (const Circle& circle :
       {circle_along(face, Vector3d::UnitZ()), circle_along(face, Vector3d::UnitX()),
        circle_along(face, Vector3d::UnitY()), nearest_circle(face, directions.eigenvectors().col(0))}) {
    if (!(circle.distances.cwiseAbs().maxCoeff() < round * circle.radius)) continue;
    // A sphere or a cone also has rings of points at one distance.
    double along = 0;
    for (const Vector3d& normal : face.normals) along += std::abs(normal.dot(circle.axis));
    if (along > aslant * face.area) continue;
    double turned = 0;
    for (std::size_t k = 0; k < face.normals.size(); ++k)
      turned += face.normals[k].dot(circle.outwards(face.centres[k]));
    return Cylinder{circle.radius, turned < 0};
  }
  return std::nullopt;
}

/// A length in metres as a part of a name: 4.25 mm is 4_25mm.
std::string in_millimetres(double length) {
  std::string text = fmt::format("{:.4g}mm", 1000 * length);
  std::ranges::replace(text, '.', '_');
  std::ranges::replace(text, '-', 'm');
  return text;
}

/// Groups in the order of their first part.
class Draft {
 public:
  void add(const std::string& name, int dimension, int tag, const std::string& about, double measure) {
    const auto found = std::ranges::find(groups_, name, &DraftedGroup::name);
    if (found == groups_.end()) {
      groups_.push_back({name, dimension, {tag}, about});
      measures_.push_back(measure);
    } else {
      found->tags.push_back(tag);
      measures_[static_cast<std::size_t>(found - groups_.begin())] += measure;
    }
  }
  std::vector<DraftedGroup> finish() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      DraftedGroup& group = groups_[i];
      std::ranges::sort(group.tags);
      const std::string count = group.tags.size() > 1 ? fmt::format("{} faces, ", group.tags.size()) : "";
      group.about += fmt::format(", {}{} {:.4g}", count, group.dimension == 3 ? "volume" : "area", measures_[i]);
    }
    return std::move(groups_);
  }
  /// Keeps at most the first `count` groups.
  void keep(std::size_t count) {
    groups_.resize(std::min(count, groups_.size()));
    measures_.resize(groups_.size());
  }
  void append(const Draft& other) {
    groups_.insert(groups_.end(), other.groups_.begin(), other.groups_.end());
    measures_.insert(measures_.end(), other.measures_.begin(), other.measures_.end());
  }

 private:
  std::vector<DraftedGroup> groups_;
  std::vector<double> measures_;
};

}  // namespace

std::string name_of_part(const mesh::Entity& part, const std::string& kind, std::set<std::string>& taken) {
  std::string name;
  const bool is_made_up = part.name.starts_with("Open CASCADE STEP translator");
  for (const char c : is_made_up ? std::string() : part.name)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  // Avoids numbers and words with a meaning in YAML or a case.
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 || name.size() < 4)
    name = fmt::format("{}_{}", kind, part.tag);
  if (!taken.insert(name).second) {
    name = fmt::format("{}_{}", name, part.tag);
    taken.insert(name);
  }
  return name;
}

std::vector<DraftedGroup> drafted_groups(const mesh::EntityMesh& by_entity, const Inspection& inspection) {
  if (inspection.dimension != 3) return {};
  constexpr std::array<std::array<const char*, 2>, 3> ends{{{"left", "right"}, {"front", "back"}, {"bottom", "top"}}};
  constexpr std::size_t most_cylinders = 8, most_others = 6;
  const mesh::Mesh& mesh = by_entity.mesh;
  Draft draft, planes, cylinders, others;
  std::set<std::string> taken;
  if (inspection.regions.size() > 1)
    for (const MeasuredEntity& region : inspection.regions)
      draft.add(name_of_part(region.entity, "solid", taken), 3, region.entity.tag, "solid", region.measure);
  Vector3d low = Vector3d::Constant(std::numeric_limits<double>::infinity()), high = -low;
  for (const MeasuredEntity& region : inspection.regions)
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], region.low[axis]);
      high[axis] = std::max(high[axis], region.high[axis]);
    }
  const double near = 1e-6 * (high - low).maxCoeff();
  std::vector<std::size_t> by_area;
  for (std::size_t f = 0; f < inspection.faces.size(); ++f)
    if (!inspection.faces[f].inside) by_area.push_back(f);
  std::ranges::stable_sort(by_area, std::greater(), [&](std::size_t f) { return inspection.faces[f].measure; });
  int curved = 0, inclined = 0;
  for (const std::size_t f : by_area) {
    const MeasuredEntity& face = inspection.faces[f];
    const Surface surface = surface_of(mesh, mesh.boundaries[f].facets);
    const int tag = face.entity.tag;
    if (const auto normal = plane_of(surface)) {
      int axis = 0;
      normal->cwiseAbs().maxCoeff(&axis);
      const double at = std::abs(face.centre[axis]) < near ? 0 : face.centre[axis];
      const std::string about = fmt::format("plane {} = {:.4g}", "xyz"[axis], at);
      if (std::abs((*normal)[axis]) < 1 - 1e-9)
        others.add(fmt::format("inclined_{}", ++inclined), 2, tag, "inclined plane", face.measure);
      else if (std::abs(at - ((*normal)[axis] < 0 ? low : high)[axis]) < near)
        planes.add(ends[axis][(*normal)[axis] < 0 ? 0 : 1], 2, tag, about, face.measure);
      else
        others.add(fmt::format("plane_{}_{}", "xyz"[axis], in_millimetres(at)), 2, tag, about, face.measure);
    } else if (const auto cylinder = cylinder_of(surface)) {
      cylinders.add(
          fmt::format("{}_r{}", cylinder->hole ? "holes" : "cylinders", in_millimetres(cylinder->radius)), 2, tag,
          fmt::format("{} of radius {:.4g}", cylinder->hole ? "hollow cylinder" : "cylinder", cylinder->radius),
          face.measure);
    } else {
      others.add(fmt::format("curved_{}", ++curved), 2, tag, "curved face", face.measure);
    }
  }
  cylinders.keep(most_cylinders);
  others.keep(most_others);
  for (const Draft* part : {&planes, &cylinders, &others}) draft.append(*part);
  return draft.finish();
}

std::string line_of(const DraftedGroup& group) {
  return fmt::format("{}: {{dimension: {}, tags: [{}]}}   # {}", group.name, group.dimension,
                     fmt::join(group.tags, ", "), group.about);
}

bool suggests_groups(const std::filesystem::path& file) {
  return !mesh::has_mesh_ending(file) && mesh::ending_of(file) != ".geo";
}

}  // namespace femcg::solver
