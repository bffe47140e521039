#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck_elements.hpp"
#include "mesh/gmsh/decks/deck_readers.hpp"
#include "mesh/gmsh/decks/inp_lines.hpp"
#include "mesh/gmsh/decks/inp_names.hpp"

namespace femcg::mesh {

namespace {

/// Elements of a set or surface as written in the file: a range of labels, or another set.
struct Members {
  std::int64_t first = 0, last = 0, step = 1;
  std::string_view set;   ///< if not empty: a set instead of labels
  std::string_view face;  ///< of a surface
  std::size_t line = 0;
};

/// Reads keyword by keyword; resolves the members of sets and surfaces after the whole file is read.
class InpReader {
 public:
  explicit InpReader(std::string_view text) : lines_(text) {}

  Deck read() {
    InpKeyword keyword;
    while (lines_.next_keyword(keyword)) read_keyword(keyword);
    deck_.check();
    for (std::size_t s = 0; s < deck_.sets.size(); ++s) resolve_set(s);
    for (const auto& [name, line] : sections_) deck_.sets[set_named(name, line)].rank = 0;
    for (std::size_t s = 0; s < deck_.surfaces.size(); ++s) resolve_surface(s);
    return std::move(deck_);
  }

 private:
  void read_keyword(const InpKeyword& keyword) {
    const std::string& name = keyword.name;
    if (name == "STEP") in_step_ = true;
    if (name == "ENDSTEP") in_step_ = false;
    if (std::string warning = check_keyword(keyword, in_step_); !warning.empty())
      deck_.warnings.push_back(std::move(warning));
    if (name == "NODE") read_nodes(keyword);
    if (name == "ELEMENT") read_elements(keyword);
    if (name == "ELSET") read_set(keyword);
    if (name == "NSET" && !keyword.has("INTERNAL")) deck_.node_sets.insert(keyword.value("NSET"));
    if (name == "SURFACE") read_surface(keyword);
    if (name == "SOLIDSECTION" && keyword.has("ELSET")) sections_.emplace_back(keyword.value("ELSET"), keyword.line);
    if (name == "PART" && ++parts_ > 1)
      fail_at_line(keyword.line, "a second *PART begins, but one part is read: join them first");
    if (name == "INSTANCE") check_instance(keyword);
  }

  void check_instance(const InpKeyword& keyword) {
    std::vector<std::string_view> fields;
    if (++instances_ > 1) fail_at_line(keyword.line, "a second *INSTANCE begins, but one is read: join them first");
    if (lines_.next_data(fields))
      fail_at_line(lines_.line(), "the *INSTANCE is moved, which is not read: give its nodes where they are");
  }

  void read_nodes(const InpKeyword& keyword) {
    if (keyword.has("SYSTEM") && upper_case(keyword.value("SYSTEM")) != "R")
      fail_at_line(keyword.line, "the nodes are not in rectangular coordinates");
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      if (fields.size() < 3) fail_at_line(lines_.line(), "a node needs its number and 2 or 3 coordinates");
      std::array<double, 3> point{};
      for (std::size_t axis = 1; axis < 4; ++axis)
        if (axis < fields.size() && !fields[axis].empty()) point[axis - 1] = real_at(lines_.line(), fields[axis]);
      deck_.add_node(integer_at(lines_.line(), fields[0]), point, lines_.line());
    }
  }

  void read_elements(const InpKeyword& keyword) {
    const std::string& name = keyword.value("TYPE");
    const std::optional<ElementType> type = inp_element_type(name, keyword.line);
    std::vector<std::string_view> fields;
    if (!type) {
      for (; lines_.next_data(fields); ++deck_.left_out[upper_case(name)])
        left_out_.insert(integer_at(lines_.line(), fields[0]));
      if (keyword.has("ELSET")) make_set(keyword, 2);
      return;
    }
    const std::int32_t number = deck_.type_number(*type);
    std::vector<std::size_t> elements;
    while (lines_.next_data(fields)) elements.push_back(read_element(number, fields));
    if (!keyword.has("ELSET")) return;
    Deck::Set& set = make_set(keyword, 2);
    set.elements.insert(set.elements.end(), elements.begin(), elements.end());
  }

  /// Reads an element, which may extend over several lines.
  std::size_t read_element(std::int32_t type, std::vector<std::string_view>& fields) {
    const std::size_t line = lines_.line(), count = static_cast<std::size_t>(deck_.types[type].nodes);
    const std::int64_t label = integer_at(line, fields[0]);
    std::vector<std::int64_t> nodes;
    for (std::size_t f = 1; f < fields.size(); ++f) nodes.push_back(integer_at(line, fields[f]));
    while (nodes.size() < count && lines_.next_data(fields))
      for (const std::string_view field : fields) nodes.push_back(integer_at(lines_.line(), field));
    if (nodes.size() != count)
      fail_at_line(line, fmt::format("element {} has {} nodes, but {} has {}", label, nodes.size(),
                                     deck_.types[type].name, count));
    return deck_.add_element(label, type, 0, nodes, line);
  }

  Deck::Set& make_set(const InpKeyword& keyword, int rank) {
    const std::string& name = keyword.value("ELSET");
    const auto [entry, is_new] = set_numbers_.try_emplace(upper_case(name), deck_.sets.size());
    if (is_new) {
      deck_.sets.push_back({name, rank, false, {}});
      set_members_.emplace_back();
    }
    Deck::Set& set = deck_.sets[entry->second];
    set.rank = std::min(set.rank, rank);
    set.internal = set.internal || keyword.has("INTERNAL");
    return set;
  }

  static bool is_label(std::string_view field) {
    return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Members members_of(std::string_view field) const {
    Members members;
    members.line = lines_.line();
    if (is_label(field))
      members.first = members.last = integer_at(members.line, field);
    else
      members.set = field;
    return members;
  }

  void read_set(const InpKeyword& keyword) {
    std::vector<Members>& members = set_members_[&make_set(keyword, 1) - deck_.sets.data()];
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      if (!keyword.has("GENERATE")) {
        for (const std::string_view field : fields)
          if (!field.empty()) members.push_back(members_of(field));
        continue;
      }
      const std::size_t line = lines_.line();
      Members range;
      range.line = line;
      if (fields.size() > 1) {
        range.first = integer_at(line, fields[0]);
        range.last = integer_at(line, fields[1]);
        range.step = fields.size() > 2 ? integer_at(line, fields[2]) : 1;
      }
      if (fields.size() < 2 || range.step < 1 || range.last < range.first || range.first < 0)
        fail_at_line(line, "a generated set needs the first and last element and a step");
      members.push_back(range);
    }
  }

  void read_surface(const InpKeyword& keyword) {
    const std::string& name = keyword.value("NAME");
    const std::string type = keyword.has("TYPE") ? upper_case(keyword.value("TYPE")) : "ELEMENT";
    if (type == "NODE") {
      deck_.node_sets.insert(name);
      return;
    }
    if (type != "ELEMENT")
      fail_at_line(keyword.line, fmt::format("a surface of type {} is not read, only of ELEMENT", printable(type)));
    std::vector<Members> members;
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      members.push_back(members_of(fields[0]));
      if (fields.size() > 1) members.back().face = fields[1];
    }
    if (keyword.has("INTERNAL")) return;
    deck_.surfaces.push_back({name, {}});
    surface_members_.push_back(std::move(members));
  }

  /// Index of a set. Throws if there is none. A name may carry its instance: Part-1-1.Set-1.
  std::size_t set_named(std::string_view name, std::size_t line) const {
    auto found = set_numbers_.find(upper_case(name));
    if (const std::size_t dot = name.rfind('.'); found == set_numbers_.end() && dot != std::string_view::npos)
      found = set_numbers_.find(upper_case(name.substr(dot + 1)));
    if (found == set_numbers_.end()) fail_at_line(line, fmt::format("there is no element set '{}'", printable(name)));
    return found->second;
  }

  /// Adds the members of a set, without elements that were skipped.
  void add_members(const Members& members, std::vector<std::size_t>& elements) {
    if (!members.set.empty()) {
      const std::size_t other = set_named(members.set, members.line);
      resolve_set(other);
      const std::vector<std::size_t> copied = deck_.sets[other].elements;
      elements.insert(elements.end(), copied.begin(), copied.end());
      return;
    }
    const std::int64_t there = static_cast<std::int64_t>(deck_.elements.size() + left_out_.size());
    for (std::int64_t label = members.first, missing = 0;; label += members.step) {
      if (const auto found = deck_.element_numbers.find(label); found != deck_.element_numbers.end())
        elements.push_back(found->second);
      else if (!left_out_.contains(label) && (members.first == members.last || ++missing > 1000 * there + 1000))
        fail_at_line(members.line, fmt::format("there is no element {}", label));
      if (members.last - label < members.step) break;
    }
  }

  void resolve_set(std::size_t number) {
    const std::vector<Members> members = std::exchange(set_members_[number], {});
    for (const Members& each : members) add_members(each, deck_.sets[number].elements);
  }

  void resolve_surface(std::size_t number) {
    for (const Members& members : surface_members_[number]) {
      std::vector<std::size_t> elements;
      add_members(members, elements);
      for (const std::size_t element : elements) add_sides(element, members, deck_.surfaces[number].sides);
    }
  }

  const ElementType& type_of(std::size_t element) const { return deck_.types[deck_.elements[element].type]; }

  /// Adds the side with the given label, or all free sides without a label. A shell is one side.
  void add_sides(std::size_t element, const Members& members, std::vector<Deck::Side>& sides) {
    const std::string face = upper_case(members.face);
    const ElementType& type = type_of(element);
    const auto count = static_cast<int>(deck_faces(type.dimension, type.corners).size());
    const bool of_shell = face == "SPOS" || face == "SNEG" || (face.empty() && type.dimension < cell_dimension());
    if (of_shell && type.dimension == 2) {
      sides.push_back({element, Deck::Side::whole});
    } else if (face.empty() && type.dimension == cell_dimension()) {
      for (int f = 0; f < count; ++f)
        if (free_faces()[face_key(element, f)] == 1) sides.push_back({element, f});
    } else if (face.size() == 2 && (face[0] == 'S' || face[0] == 'E') && face[1] >= '1' && face[1] < '1' + count) {
      sides.push_back({element, face[1] - '1'});
    } else {
      fail_at_line(members.line,
                   fmt::format("'{}' is no face of {}, which has S1 to S{}", printable(face), type.name, count));
    }
  }

  int cell_dimension() const {
    int dimension = 0;
    for (const ElementType& type : deck_.types) dimension = std::max(dimension, type.dimension);
    return dimension;
  }

  using FaceKey = std::array<std::int64_t, 4>;
  FaceKey face_key(std::size_t element, int face) const {
    const ElementType& type = type_of(element);
    FaceKey key{-1, -1, -1, -1};
    int k = 0;
    for (const int corner : deck_faces(type.dimension, type.corners)[face])
      key[k++] = deck_.element_nodes[deck_.elements[element].first + corner];
    std::ranges::sort(key);
    return key;
  }

  /// Number of cells at each face.
  std::map<FaceKey, int>& free_faces() {
    if (!faces_.empty()) return faces_;
    for (std::size_t e = 0; e < deck_.elements.size(); ++e) {
      const ElementType& type = type_of(e);
      if (type.dimension != cell_dimension()) continue;
      for (int f = 0; f < static_cast<int>(deck_faces(type.dimension, type.corners).size()); ++f)
        ++faces_[face_key(e, f)];
    }
    return faces_;
  }

  InpLines lines_;
  Deck deck_;
  std::map<std::string, std::size_t> set_numbers_;  ///< by name in upper case
  std::vector<std::vector<Members>> set_members_, surface_members_;
  std::vector<std::pair<std::string, std::size_t>> sections_;  ///< sets and lines
  std::unordered_set<std::int64_t> left_out_;
  std::map<FaceKey, int> faces_;
  int parts_ = 0, instances_ = 0;
  bool in_step_ = false;
};

}  // namespace

Deck read_inp_deck(std::string_view text) { return InpReader(text).read(); }

}  // namespace femcg::mesh
