#pragma once

#include <array>
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

/// The parts of an input file of Abaqus, of Nastran or of a universal file that a mesh is made from.
struct Deck {
  struct Element {
    std::int32_t type;        ///< index into types
    std::int32_t property;    ///< number of its property, which becomes the tag of an entity; 0: none
    std::size_t first, line;  ///< of its nodes in element_nodes; of the file
  };
  struct Set {
    std::string name;                   ///< as first written
    int rank = 2;                       ///< names of a region are taken in this order, then in that of the file
    bool internal = false;              ///< made by a program for itself
    std::vector<std::size_t> elements;  ///< indices, perhaps repeated
  };
  /// One face of an element, from 0; `whole`: the element itself, as a side of a shell.
  struct Side {
    static constexpr int whole = -1;
    std::size_t element;
    int face;
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
  std::vector<Set> sets;  ///< in the order of the file
  std::vector<Surface> surfaces;
  std::map<std::string, std::size_t> left_out;  ///< elements by types that are neither cells nor facets
  std::set<std::string> node_sets;              ///< left out
  std::vector<std::string> warnings;

  /// Throw std::runtime_error, "line 12: ...", for a label that is there already.
  void add_node(std::int64_t label, const std::array<double, 3>& point, std::size_t line);
  std::size_t add_element(std::int64_t label, std::int32_t type, std::int32_t property,
                          const std::vector<std::int64_t>& nodes, std::size_t line);
  std::int32_t type_number(const ElementType& type);
  /// Throws where there are no nodes, or an element uses one that does not exist.
  void check() const;
};

/// Throws std::runtime_error, "line 12: " and the sentence.
[[noreturn]] void fail_at_line(std::size_t line, const std::string& sentence);

/// In upper case, as names are compared.
std::string upper_case(std::string_view text);
/// Without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

/// Throw where a field is no whole or no finite number; a real may have Fortran's exponents (1.D-3) and those of
/// Nastran (1.-3).
std::int64_t integer_at(std::size_t line, std::string_view field);
double real_at(std::size_t line, std::string_view field);

}  // namespace femcg::mesh
