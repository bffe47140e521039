#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// The parts of an Abaqus input file that a mesh is made from, as they are written there.
struct InpModel {
  struct Element {
    std::int32_t type;        ///< index into types
    std::size_t first, line;  ///< of its nodes in element_nodes; where it stands
  };
  struct Set {
    std::string name;                   ///< as first written
    int rank = 2;                       ///< 0: of a section, 1: of *ELSET, 2: of *ELEMENT only
    std::size_t order = 0;              ///< in which the file begins its sets
    bool internal = false;              ///< made by a program for itself
    std::vector<std::size_t> elements;  ///< indices, perhaps repeated
  };
  struct Side {
    std::size_t element;
    int face;  ///< from 0
  };
  struct Surface {
    std::string name;
    std::vector<Side> sides;
  };

  std::vector<double> points;                                    ///< nodes x 3
  std::unordered_map<std::int64_t, std::uint64_t> node_numbers;  ///< from labels, numbers from 1
  std::vector<ElementType> types;
  std::vector<Element> elements;
  std::vector<std::int64_t> element_nodes;  ///< labels
  std::unordered_map<std::int64_t, std::size_t> element_numbers;
  std::map<std::string, Set> sets;  ///< by their names in upper case
  std::vector<Surface> surfaces;
  std::map<std::string, std::size_t> left_out;  ///< elements of types that are none here
  std::set<std::string> node_sets;
};

/// Throws std::runtime_error, "line 12: ...", as read_inp does.
InpModel read_inp_model(std::string_view text);

}  // namespace femcg::mesh
