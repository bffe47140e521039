#include "mesh/gmsh/check/msh_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "mesh/gmsh/check/file_bytes.hpp"
#include "mesh/gmsh/check/msh_sections.hpp"

namespace femcg::mesh {

namespace {

/// Sections without meaning for the geometry of a mesh, or whose numbers Gmsh checks itself.
constexpr std::array<std::string_view, 8> passed_over{
    "Comments",         "NodeData",      "ElementData",        "ElementNodeData", "InterpolationScheme",
    "Parametrizations", "GhostElements", "PartitionedEntities"};

void read_format(MshReading& file) {
  const std::size_t place = file.cursor.place();
  const std::string_view number = file.cursor.word();
  const bool read =
      std::from_chars(number.data(), number.data() + number.size(), file.version).ptr == number.data() + number.size();
  const auto is = [&](std::initializer_list<double> versions) {
    return std::find(versions.begin(), versions.end(), file.version) != versions.end();
  };
  if (!read || !is({2, 2.1, 2.2, 4, 4.1}))
    file.cursor.fail(place,
                     fmt::format("format {} is not read; save the mesh in format 2.2 or 4.1", printable(number)));
  const std::int64_t kind = file.cursor.text_integer(), bytes = file.cursor.text_integer();
  if (kind != 0 && kind != 1) file.cursor.fail(place, fmt::format("a file is text (0) or binary (1), not {}", kind));
  if (kind == 0) return;
  if (bytes != 8) file.cursor.fail(place, fmt::format("numbers of {} bytes are not read, only of 8", bytes));
  file.cursor.rest_of_line();
  MshCursor& cursor = file.cursor;
  cursor.become_binary(false);
  constexpr std::int64_t one = 1, swapped_one = 1 << 24;
  const std::int64_t mark = cursor.integer(4);
  if (mark != one && mark != swapped_one)
    cursor.fail(place, fmt::format("a binary file has the number 1 after its format, not {}", mark));
  cursor.become_binary(mark == swapped_one);
}

/// Reads a section whose records are counted; returns false for any other section.
bool read_counted(MshReading& file, std::string_view name) {
  const bool blocks = file.version >= 4;
  if (name == "PhysicalNames") {
    read_physical_names(file);
  } else if (name == "Nodes" || name == "NOD") {
    if (blocks)
      read_nodes_4(file);
    else
      read_nodes_2(file, false);
  } else if (name == "ParametricNodes") {
    read_nodes_2(file, true);
  } else if (name == "Elements" || name == "ELM") {
    if (blocks)
      read_elements_4(file);
    else if (file.version < 2)
      read_elements_1(file);
    else
      read_elements_2(file);
  } else if (name == "Entities") {
    read_entities_4(file);
  } else if (name == "Periodic" && !(file.version == 4 && file.cursor.binary())) {
    read_periodic(file);
  } else {
    return false;
  }
  return true;
}

/// Sections of a file, read one after the other.
class MshFile {
 public:
  explicit MshFile(std::string_view bytes) : file_{MshCursor(bytes), 0, {}, 0, 0, 0} {}

  MshContents read() {
    while (!file_.cursor.at_end()) read_section();
    if (!seen_.contains("Nodes")) throw std::runtime_error("the file has no $Nodes");
    if (!seen_.contains("Elements")) throw std::runtime_error("the file has no $Elements, and so no cells");
    if (file_.partition > 0)
      throw std::runtime_error(
          fmt::format("all of its cells are in partition {}: this is one part of a partitioned "
                      "mesh, which cannot be solved alone; give the whole mesh, saved without "
                      "partitions",
                      file_.partition));
    if (file_.periodic_links > 0)
      contents_.warnings.push_back(
          "left out $Periodic: there are no periodic conditions here, and the nodes that it pairs stay apart");
    contents_.nodes = file_.node_count;
    return contents_;
  }

 private:
  void read_section() {
    const std::size_t place = file_.cursor.place();
    const std::string_view title = file_.cursor.rest_of_line();
    if (!title.starts_with('$'))
      file_.cursor.fail(place,
                        fmt::format("'{}' stands outside of all sections, after the end of one", printable(title)));
    const std::string_view name = title.substr(1);
    file_.cursor.enter(name);
    check_order(place, name);
    if (name == "MeshFormat") {
      read_format(file_);
    } else if (name == "PartitionedEntities") {
      contents_.partitions = static_cast<std::size_t>(read_count(file_, "partitions").said);
      file_.cursor.skip_to_mark();
    } else if (!read_counted(file_, name)) {
      if (std::find(passed_over.begin(), passed_over.end(), name) == passed_over.end())
        contents_.warnings.push_back(fmt::format("left out ${}, which is no section of a mesh", printable(name)));
      file_.cursor.skip_to_mark();
    }
    expect_end(name);
  }

  /// Throws if a section must not come at this point.
  void check_order(std::size_t place, std::string_view name) {
    if (file_.version == 0 && (name == "NOD" || name == "ELM")) file_.version = 1;
    if (file_.version == 0 && name != "MeshFormat" && name != "Comments")
      file_.cursor.fail(place, fmt::format("${} comes before $MeshFormat", printable(name)));
    const bool nodes = name == "Nodes" || name == "NOD" || name == "ParametricNodes";
    const bool elements = name == "Elements" || name == "ELM";
    const bool once = nodes || elements || name == "MeshFormat" || name == "PhysicalNames" || name == "Entities" ||
                      name == "Periodic" || name == "PartitionedEntities";
    const std::string key(nodes ? "Nodes" : elements ? "Elements" : name);
    if (once && !seen_.insert(key).second)
      file_.cursor.fail(place, fmt::format("a second ${} begins, but a mesh has one", name));
    if (elements && !seen_.contains("Nodes")) file_.cursor.fail(place, fmt::format("${} comes before the nodes", name));
  }

  void expect_end(std::string_view name) {
    if (file_.cursor.at_end()) file_.cursor.fail_at_end();
    const std::size_t place = file_.cursor.place();
    const std::string_view mark = file_.cursor.rest_of_line();
    if (mark != fmt::format("{}{}", file_.version == 1 ? "$END" : "$End", name))
      file_.cursor.fail(place, fmt::format("'{}' stands within ${}", printable(mark), printable(name)));
  }

  MshReading file_;
  MshContents contents_;
  std::set<std::string> seen_;
};

}  // namespace

MshContents check_msh(std::string_view bytes) { return MshFile(bytes).read(); }

MshContents check_msh_file(const std::filesystem::path& file) { return check_msh(FileBytes(file).view()); }

}  // namespace femcg::mesh
