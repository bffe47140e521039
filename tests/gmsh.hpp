#pragma once

#include <doctest/doctest.h>

#include "mesh/gmsh/gmsh_reader.hpp"

namespace femcg::tests {

/// Skips cases that need Gmsh in a build without it.
inline doctest::skip needs_gmsh() { return doctest::skip(!mesh::gmsh_available()); }

}  // namespace femcg::tests
