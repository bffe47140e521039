#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "mesh/gmsh/check/msh_check.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

namespace {

using femcg::mesh::check_msh;
using namespace femcg::tests;

std::string error_of(const std::string& text) {
  try {
    check_msh(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string square_2 = R"($MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
1
2 10 "the plate"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
$EndNodes
$Elements
2
1 2 2 10 1 1 2 3
2 2 2 10 1 1 3 4
$EndElements
$Periodic
1
1 3 1
1
2 1
$EndPeriodic
)";

const std::string square_4 = R"($MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
1 0 1 0
1 0 0 0 0
1 0 0 0 1 1 0 1 10 0
$EndEntities
$Nodes
2 4 1 4
0 1 0 1
1
0 0 0
2 1 0 3
2
3
4
1 0 0
1 1 0
0 1 0
$EndNodes
$Elements
1 2 1 2
2 1 2 2
1 1 2 3
2 1 3 4
$EndElements
$Periodic
1
1 3 1
16 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1
1
2 1
$EndPeriodic
)";

template <class T>
void put(std::string& bytes, T value, bool swap) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  if (swap) std::reverse(raw, raw + sizeof(T));
  bytes.append(raw, sizeof(T));
}

struct Counts {
  int nodes = 4, elements = 2;
};

/// The square as binary file of format 2.2, with these counts.
std::string binary_2(Counts said, bool swap = false) {
  std::string text = "$MeshFormat\n2.2 1 8\n";
  put<int>(text, 1, swap);
  text += "\n$EndMeshFormat\n$Nodes\n" + std::to_string(said.nodes) + "\n";
  for (int node = 1; node <= 4; ++node) {
    put<int>(text, node, swap);
    for (const int x : {int{node == 2 || node == 3}, int{node > 2}, 0}) put<double>(text, x, swap);
  }
  text += "\n$EndNodes\n$Elements\n" + std::to_string(said.elements) + "\n";
  for (const int number : {2, 2, 2, 1, 10, 1, 1, 2, 3, 2, 10, 1, 1, 3, 4}) put<int>(text, number, swap);
  return text + "\n$EndElements\n";
}

/// The same in format 4.1.
std::string binary_4(Counts said, bool swap = false) {
  std::string text = "$MeshFormat\n4.1 1 8\n";
  put<int>(text, 1, swap);
  text += "\n$EndMeshFormat\n$Nodes\n";
  for (const int number : {1, said.nodes, 1, 4}) put<std::int64_t>(text, number, swap);
  for (const int number : {2, 1, 0}) put<int>(text, number, swap);
  put<std::int64_t>(text, said.nodes, swap);
  for (int node = 1; node <= 4; ++node) put<std::int64_t>(text, node, swap);
  for (int node = 1; node <= 4; ++node)
    for (const int x : {int{node == 2 || node == 3}, int{node > 2}, 0}) put<double>(text, x, swap);
  text += "\n$EndNodes\n$Elements\n";
  for (const int number : {1, said.elements, 1, 2}) put<std::int64_t>(text, number, swap);
  for (const int number : {2, 1, 2}) put<int>(text, number, swap);
  put<std::int64_t>(text, said.elements, swap);
  for (const int number : {1, 1, 2, 3, 2, 1, 3, 4}) put<std::int64_t>(text, number, swap);
  return text + "\n$EndElements\n";
}

struct Wrong {
  const char *from, *to, *sentence;
};

void check_sentences(const std::string& file, const std::vector<Wrong>& changes) {
  for (const Wrong& change : changes) {
    const std::string error = error_of(replaced(file, change.from, change.to));
    CAPTURE(change.from);
    CAPTURE(change.to);
    CAPTURE(error);
    CHECK(contains(error, change.sentence));
    CHECK(lines(error) == 0);
  }
}

}  // namespace

TEST_CASE("what is right passes, in text and binary, of either byte order, with a remark on what is left out") {
  for (const std::string& file : {square_2, square_4}) {
    const femcg::mesh::MshContents contents = check_msh(file);
    CHECK(contents.nodes == 4);
    REQUIRE(contents.warnings.size() == 1);
    CHECK(contains(contents.warnings[0], "$Periodic"));
  }
  for (const bool swap : {false, true})
    for (const std::string& file : {binary_2({}, swap), binary_4({}, swap)}) {
      CHECK(error_of(file) == "");
      CHECK(check_msh(file).nodes == 4);
    }
  CHECK(error_of("$NOD\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$ENDNOD\n$ELM\n1\n1 2 1 1 3 1 2 3\n$ENDELM\n") == "");
  CHECK(contains(check_msh(square_2 + "$Elementt\n1\n$EndElementt\n").warnings.at(0), "$Elementt"));
  CHECK(check_msh(square_2 + "$NodeData\n1\n\"u\"\n$EndNodeData\n").warnings.size() == 1);
}

TEST_CASE("counts of format 2.2 are those of what follows") {
  check_sentences(square_2, {{"\n4\n1 0", "\n3\n1 0", "line 9: $Nodes says 3 nodes, but 4 follow"},
                             {"\n4\n1 0", "\n5\n1 0", "line 9: $Nodes says 5 nodes, but 4 follow"},
                             {"\n4\n1 0", "\n9000000000000000000\n1 0", "says 9000000000000000000 nodes, but 4 follow"},
                             {"\n4\n1 0", "\n-1\n1 0", "line 9: $Nodes says -1 nodes"},
                             {"\n4\n1 0", "\n4.5\n1 0", "line 9: '4.5' is not a whole number"},
                             {"$Elements\n2", "$Elements\n1", "line 16: $Elements says 1 elements, but 2 follow"},
                             {"$Elements\n2", "$Elements\n3", "line 16: $Elements says 3 elements, but 2 follow"},
                             {"Names\n1", "Names\n0", "line 5: $PhysicalNames says 0 names, but 1 follow"},
                             {"Names\n1", "Names\n2", "line 5: $PhysicalNames says 2 names, but 1 follow"},
                             {"Periodic\n1", "Periodic\n2", "line 21: $Periodic says 2 links, but 1 follow"},
                             {"1\n2 1\n$", "3\n2 1\n$", "line 23: a link says 3 pairs of nodes, but 1 follow"}});
}

TEST_CASE("counts of format 4.1 are those of what follows") {
  check_sentences(square_4,
                  {{"2 4 1 4", "3 4 1 4", "line 10: $Nodes says 3 blocks, but 2 follow"},
                   {"2 4 1 4", "1 4 1 4", "line 10: $Nodes says 1 blocks, which end before line 14, but more follows"},
                   {"2 4 1 4", "2 5 1 4", "line 10: $Nodes says 5 nodes, but its blocks have 4"},
                   {"2 1 0 3", "2 1 0 4", "line 21: $EndNodes stands where $Nodes still lacks a number"},
                   {"2 1 0 3", "2 1 0 2", "line 10: $Nodes says 2 blocks, which end before line 19, but more follows"},
                   {"1 2 1 2\n", "1 1 1 2\n", "line 23: $Elements says 1 elements, but its blocks have 2"},
                   {"2 1 2 2\n", "2 1 2 3\n", "line 24: this block says 3 elements, but 2 follow"},
                   {"2 1 2 2\n", "2 1 2 1\n", "line 23: $Elements says 1 blocks, which end before line 26"},
                   {"1 0 1 0\n", "1 0 0 0\n", "line 5: $Entities says 0 volumes, but 1 follow"},
                   {"1 0 1 0\n", "1 0 2 0\n", "line 5: $Entities says 2 surfaces, but 1 follow"},
                   {"Periodic\n1", "Periodic\n2", "line 29: $Periodic says 2 links, but 1 follow"}});
}

TEST_CASE("counts of binary files are those of what follows") {
  for (const bool swap : {false, true})
    for (const int off : {-1, 1}) {
      CAPTURE(off);
      CHECK(contains(error_of(binary_2({4 + off, 2}, swap)), "byte"));
      CHECK(contains(error_of(binary_2({4, 2 + off}, swap)), "elements, but 2 follow"));
      CHECK_FALSE(error_of(binary_4({4 + off, 2}, swap)).empty());
      CHECK_FALSE(error_of(binary_4({4, 2 + off}, swap)).empty());
    }
  CHECK(contains(error_of(binary_2({2147483647, 2})), "byte"));
  CHECK(contains(error_of(binary_2({}).substr(0, 120)), "ends within $Nodes"));
}

TEST_CASE("tags, types and dimensions make sense before Gmsh sees them") {
  check_sentences(square_2,
                  {{"2 10 \"the", "-1 10 \"the", "line 6: a physical group has a dimension from 0 to 3, not -1"},
                   {"2 10 \"the", "2 -7 \"the", "tag from 1 to 2^31 - 1, not -7"},
                   {"plate\"", "plate", "line 6: the name of the physical group 10 must stand in double"},
                   {"4 0 1 0\n", "2147483648 0 1 0\n", "line 13: node 2147483648 has no tag"},
                   {"4 0 1 0\n", "3 0 1 0\n", "$Nodes has two nodes with the tag 3"},
                   {"4 0 1 0\n", "4 0 one 0\n", "line 13: 'one' is not a number"},
                   {"1 1 3 4\n", "1 1 3 5\n", "line 18: element 2 uses node 5, which $Nodes does not have"},
                   {"1 1 3 4\n", "1 1 3 -4\n", "line 18: element 2 uses node -4"},
                   {"2 2 2 10", "2 135 2 10", "line 18: 135 is no type of elements"},
                   {"2 2 2 10", "2 2 -2 10", "line 18: an element cannot have -2 tags"},
                   {"2.2 0 8", "3 0 8", "format 3 is not read"},
                   {"2.2 0 8", "2.2 4 8", "text (0) or binary (1), not 4"}});
  check_sentences(square_4, {{"2 1 2 2\n", "3 1 2 2\n", "elements of dimension 2 stand on an entity of dimension 3"},
                             {"2 1 0 3", "4 1 0 3", "line 14: 4 is no dimension"}});
}

TEST_CASE("sections are there once, in an order that can be read, and end") {
  CHECK(contains(error_of(square_2 + "$Nodes\n1\n1 0 0 0\n$EndNodes\n"), "line 26: a second $Nodes begins"));
  CHECK(contains(error_of(square_2 + "1 2 3\n"), "line 26: '1 2 3' stands outside of all sections"));
  check_sentences(square_2, {{"$EndNodes\n", "", "line 14: '$Elements' stands within $Nodes"},
                             {"$EndElements\n", "$EndElement\n", "line 19: '$EndElement' stands within $Elements"},
                             {"$Nodes", "$Elementt", "line 14: '$EndNodes' stands within $Elementt"},
                             {"$Nodes\n", "$Elements\n0\n$EndElements\n$Nodes\n", "line 8: $Elements comes before"},
                             {"$MeshFormat\n", "$PhysicalNames\n", "line 1: $PhysicalNames comes before $MeshFormat"}});
  CHECK(contains(error_of(square_2.substr(0, square_2.find("$Nodes"))), "no $Nodes"));
  CHECK(contains(error_of(square_2.substr(0, square_2.find("$Elements"))), "no $Elements"));
  const std::string part =
      replaced(replaced(square_2, "2 2 10 1 1 2 3", "2 4 10 1 1 2 1 2 3"), "2 2 10 1 1 3 4", "2 4 10 1 1 2 1 3 4");
  CHECK(contains(error_of(part), "all of its cells are in partition 2"));
  CHECK(error_of(replaced(part, "2 4 10 1 1 2 1 2 3", "2 4 10 1 1 1 1 2 3")) == "");
}

TEST_CASE("the program refuses a file whose counts are wrong" * needs_gmsh()) {
  for (const auto& [from, to, sentence] : std::vector<Wrong>{
           {"$Elements\n2", "$Elements\n1", "wrong.msh: line 16: $Elements says 1 elements, but 2 follow"},
           {"\n4\n1 0", "\n3\n1 0", "wrong.msh: line 9: $Nodes says 3 nodes, but 4 follow"}})
    check_refused(
        "run case.yaml", sentence,
        "cat > wrong.msh <<'end of file'\n" + replaced(square_2, from, to) +
            "end of file\n"
            "echo '{mesh: {file: wrong.msh}, equation: {source: 1}, boundary: {all: {value: 0}}}' > case.yaml");
}
