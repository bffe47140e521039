#pragma once

#include <array>
#include <cstdint>

namespace femcg::mesh {

/// Dimension and number of nodes of an element type of the .msh format; 0 nodes if the number is not fixed or the type
/// does not exist.
struct MshElementType {
  int dimension, nodes;
};

/// Indexed by the type's number in the file, after Gmsh's GmshDefines.h.
inline constexpr std::array<MshElementType, 138> msh_element_types{
    {{0, 0},   {1, 2},   {2, 3},   {2, 4},   {3, 4},  {3, 8},   {3, 6},   {3, 5},   {1, 3},   {2, 6},   {2, 9},
     {3, 10},  {3, 27},  {3, 18},  {3, 14},  {0, 1},  {2, 8},   {3, 20},  {3, 15},  {3, 13},  {2, 9},   {2, 10},
     {2, 12},  {2, 15},  {2, 15},  {2, 21},  {1, 4},  {1, 5},   {1, 6},   {3, 20},  {3, 35},  {3, 56},  {3, 22},
     {3, 28},  {0, 0},   {0, 0},   {2, 16},  {2, 25}, {2, 36},  {2, 12},  {2, 16},  {2, 20},  {2, 28},  {2, 36},
     {2, 45},  {2, 55},  {2, 66},  {2, 49},  {2, 64}, {2, 81},  {2, 100}, {2, 121}, {2, 18},  {2, 21},  {2, 24},
     {2, 27},  {2, 30},  {2, 24},  {2, 28},  {2, 32}, {2, 36},  {2, 40},  {1, 7},   {1, 8},   {1, 9},   {1, 10},
     {1, 11},  {0, 0},   {0, 0},   {0, 0},   {0, 0},  {3, 84},  {3, 120}, {3, 165}, {3, 220}, {3, 286}, {0, 0},
     {0, 0},   {0, 0},   {3, 34},  {3, 40},  {3, 46}, {3, 52},  {3, 58},  {0, 0},   {0, 0},   {0, 0},   {0, 0},
     {0, 0},   {0, 0},   {0, 0},   {0, 0},   {3, 64}, {3, 125}, {3, 216}, {3, 343}, {3, 512}, {3, 729}, {3, 1000},
     {3, 32},  {3, 44},  {3, 56},  {3, 68},  {3, 80}, {3, 92},  {3, 104}, {0, 0},   {0, 0},   {0, 0},   {0, 0},
     {0, 0},   {0, 0},   {0, 0},   {0, 0},   {0, 0},  {0, 0},   {0, 0},   {0, 0},   {3, 30},  {3, 55},  {3, 91},
     {3, 140}, {3, 204}, {3, 285}, {3, 385}, {3, 21}, {3, 29},  {3, 37},  {3, 45},  {3, 53},  {3, 61},  {3, 69},
     {0, 0},   {0, 0},   {0, 0},   {0, 0},   {0, 0},  {3, 16}}};

inline MshElementType msh_element_type(std::int64_t type) {
  return type >= 0 && type < static_cast<std::int64_t>(msh_element_types.size()) ? msh_element_types[type]
                                                                                 : MshElementType{0, 0};
}

}  // namespace femcg::mesh
