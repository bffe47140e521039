#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "mesh/improve/vector3.hpp"

namespace femcg::mesh {

/// Quality of a flat or inverted tetrahedron.
inline constexpr double inverted = -2;

/// Quality of the corner between three tangents: minus the largest |cosine| of the three dihedral angles between the
/// planes that two of the tangents span.
inline double corner_quality(const Vector3& a, const Vector3& b, const Vector3& c) {
  const std::array<Vector3, 3> normals{cross(c, b), cross(a, c), cross(b, a)};
  if (!(dot(a, normals[0]) < 0)) return inverted;
  double largest = 0;
  for (int i = 0; i < 3; ++i) {
    const Vector3 &n = normals[i], &m = normals[(i + 1) % 3];
    largest = std::max(largest, std::abs(dot(n, m)) / (norm(n) * norm(m)));
  }
  return -largest;
}

/// Quality of a tetrahedron with straight edges, from its six dihedral angles: -max |cosine|, at best -1/3. A quality
/// of -cos(t) means that all angles lie between t and 180 degrees - t, so that it measures both the smallest and the
/// largest angle (the sine of Freitag & Ollivier-Gooch 1997).
inline double tetrahedron_quality(const std::array<Vector3, 4>& x) {
  const Vector3 a = x[1] - x[0], b = x[2] - x[0], c = x[3] - x[0];
  std::array<Vector3, 4> normals{cross(c, b), cross(a, c), cross(b, a), {}};
  if (!(dot(a, normals[0]) < 0)) return inverted;
  normals[3] = normals[0] + normals[1] + normals[2];
  for (Vector3& n : normals) n = unit(n);
  double largest = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) largest = std::max(largest, std::abs(dot(normals[i], normals[j])));
  return -largest;
}

}  // namespace femcg::mesh
