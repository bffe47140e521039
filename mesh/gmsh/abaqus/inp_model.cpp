#include "mesh/gmsh/abaqus/inp_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mesh/gmsh/abaqus/inp_elements.hpp"
#include "mesh/gmsh/abaqus/inp_lines.hpp"
#include "mesh/gmsh/check/msh_cursor.hpp"

namespace femcg::mesh {

namespace {

constexpr std::array<std::string_view, 10> makers{"NGEN",   "NFILL",  "NCOPY",   "NMAP",   "ELGEN",
                                                  "ELCOPY", "SYSTEM", "INCLUDE", "IMPORT", "SUBMODEL"};

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(text) {}

  InpModel read() {
    InpKeyword keyword;
    while (lines_.next_keyword(keyword)) {
      if (std::ranges::find(makers, keyword.name) != makers.end())
        InpLines::fail(keyword.line,
                       fmt::format("*{} is not read: give a file that has all nodes and elements in it", keyword.name));
      if (keyword.name == "NODE") read_nodes(keyword);
      if (keyword.name == "ELEMENT") read_elements(keyword);
      if (keyword.name == "ELSET") read_set(keyword);
      if (keyword.name == "SURFACE") read_surface(keyword);
      if (keyword.name == "SOLIDSECTION" && keyword.has("ELSET")) sections_.push_back(keyword);
      if (keyword.name == "NSET" && !keyword.has("INTERNAL")) model_.node_sets.insert(keyword.value("NSET"));
      if (keyword.name == "PART" && ++parts_ > 1)
        InpLines::fail(keyword.line, "a second *PART begins, but one part is read: join them first");
      if (keyword.name == "INSTANCE") check_instance(keyword);
    }
    if (model_.points.empty()) throw std::runtime_error("there is no *NODE in it");
    check_nodes_of_elements();
    for (const InpKeyword& section : sections_) set_named(section.value("ELSET"), section.line).rank = 0;
    return std::move(model_);
  }

 private:
  void check_instance(const InpKeyword& keyword) {
    std::vector<std::string_view> fields;
    if (++instances_ > 1) InpLines::fail(keyword.line, "a second *INSTANCE begins, but one is read: join them first");
    if (lines_.next_data(fields))
      InpLines::fail(lines_.line(), "the *INSTANCE is moved, which is not read: give its nodes where they are");
  }

  void read_nodes(const InpKeyword& keyword) {
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      if (fields.size() < 3) InpLines::fail(lines_.line(), "a node needs its number and 2 or 3 coordinates");
      const std::int64_t label = lines_.integer(fields[0]);
      if (!model_.node_numbers.emplace(label, model_.points.size() / 3 + 1).second)
        InpLines::fail(lines_.line(), fmt::format("node {} is defined twice", label));
      for (std::size_t axis = 1; axis < 4; ++axis)
        model_.points.push_back(axis < fields.size() && !fields[axis].empty() ? lines_.real(fields[axis]) : 0.0);
    }
    if (keyword.has("SYSTEM") && upper_case(keyword.value("SYSTEM")) != "R")
      InpLines::fail(keyword.line, "the nodes are not in rectangular coordinates");
  }

  void read_elements(const InpKeyword& keyword) {
    const std::string& name = keyword.value("TYPE");
    const std::optional<ElementType> type = inp_element_type(name);
    std::vector<std::string_view> fields;
    if (!type) {
      while (lines_.next_data(fields)) ++model_.left_out[upper_case(name)];
      return;
    }
    const auto known = std::ranges::find(model_.types, type->name, &ElementType::name);
    const auto number = static_cast<std::int32_t>(known - model_.types.begin());
    if (known == model_.types.end()) model_.types.push_back(*type);
    InpModel::Set* set = keyword.has("ELSET") ? &make_set(keyword, 2) : nullptr;
    while (lines_.next_data(fields)) {
      const std::size_t element = read_element(number, fields);
      if (set != nullptr) set->elements.push_back(element);
    }
  }

  /// An element may go on over several lines.
  std::size_t read_element(std::int32_t type, std::vector<std::string_view>& fields) {
    const std::size_t line = lines_.line(), nodes = static_cast<std::size_t>(model_.types[type].nodes);
    const std::int64_t label = lines_.integer(fields[0]);
    const std::size_t element = model_.elements.size(), first = model_.element_nodes.size();
    for (std::size_t f = 1; f < fields.size(); ++f) model_.element_nodes.push_back(lines_.integer(fields[f]));
    while (model_.element_nodes.size() < first + nodes && lines_.next_data(fields))
      for (const std::string_view field : fields) model_.element_nodes.push_back(lines_.integer(field));
    if (model_.element_nodes.size() != first + nodes)
      InpLines::fail(line, fmt::format("element {} has {} nodes, but {} has {}", label,
                                       model_.element_nodes.size() - first, model_.types[type].name, nodes));
    if (!model_.element_numbers.emplace(label, element).second)
      InpLines::fail(line, fmt::format("element {} is defined twice", label));
    model_.elements.push_back({type, first, line});
    return element;
  }

  InpModel::Set& make_set(const InpKeyword& keyword, int rank) {
    const std::string& name = keyword.value("ELSET");
    InpModel::Set& set =
        model_.sets.try_emplace(upper_case(name), InpModel::Set{name, rank, model_.sets.size(), false, {}})
            .first->second;
    set.rank = std::min(set.rank, rank);
    set.internal = set.internal || keyword.has("INTERNAL");
    return set;
  }

  InpModel::Set& set_named(std::string_view name, std::size_t line) {
    const auto found = model_.sets.find(upper_case(name));
    if (found == model_.sets.end())
      InpLines::fail(line, fmt::format("there is no element set '{}' before this", printable(name)));
    return found->second;
  }

  /// Elements by their labels that are none here were left out as they stood.
  void add_element(std::int64_t label, std::vector<std::size_t>& elements) {
    const auto found = model_.element_numbers.find(label);
    if (found != model_.element_numbers.end()) return elements.push_back(found->second);
    if (model_.left_out.empty())
      InpLines::fail(lines_.line(), fmt::format("there is no element {} before this", label));
  }

  static bool is_label(std::string_view field) {
    return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
  }

  void read_set(const InpKeyword& keyword) {
    InpModel::Set& set = make_set(keyword, 1);
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      if (keyword.has("GENERATE")) {
        add_range(fields, set.elements);
        continue;
      }
      for (const std::string_view field : fields) {
        if (is_label(field)) {
          add_element(lines_.integer(field), set.elements);
          continue;
        }
        const std::vector<std::size_t> other = set_named(field, lines_.line()).elements;
        set.elements.insert(set.elements.end(), other.begin(), other.end());
      }
    }
  }

  /// First, last, step: those of the range that exist, all of which must where there are few.
  void add_range(const std::vector<std::string_view>& fields, std::vector<std::size_t>& elements) {
    if (fields.size() < 2) InpLines::fail(lines_.line(), "a generated set needs the first and last element and a step");
    const std::int64_t first = lines_.integer(fields[0]), last = lines_.integer(fields[1]),
                       step = fields.size() > 2 ? lines_.integer(fields[2]) : 1;
    const auto elements_there = static_cast<std::int64_t>(model_.elements.size() + model_.left_out.size());
    if (step < 1 || last < first || first < 0 || (last - first) / step > elements_there * 1000 + 1000)
      InpLines::fail(lines_.line(), "a generated set needs the first and last element and a step");
    for (std::int64_t label = first; label <= last && label >= first; label += step) {
      add_element(label, elements);
      if (last - label < step) break;
    }
  }

  void read_surface(const InpKeyword& keyword) {
    if (keyword.has("TYPE") && upper_case(keyword.value("TYPE")) != "ELEMENT") return;
    InpModel::Surface surface{keyword.value("NAME"), {}};
    std::vector<std::string_view> fields;
    while (lines_.next_data(fields)) {
      std::vector<std::size_t> elements;
      if (is_label(fields[0]))
        add_element(lines_.integer(fields[0]), elements);
      else
        elements = set_named(fields[0], lines_.line()).elements;
      for (const std::size_t element : elements) surface.sides.push_back(side_of(element, fields));
    }
    if (!keyword.has("INTERNAL")) model_.surfaces.push_back(std::move(surface));
  }

  InpModel::Side side_of(std::size_t element, const std::vector<std::string_view>& fields) const {
    const std::string face = fields.size() > 1 ? upper_case(fields[1]) : "";
    const ElementType& type = model_.types[model_.elements[element].type];
    const auto count = static_cast<int>(inp_faces(type.dimension, type.corners).size());
    if (face.size() != 2 || (face[0] != 'S' && face[0] != 'E') || face[1] < '1' || face[1] >= '1' + count)
      InpLines::fail(lines_.line(),
                     fmt::format("'{}' is no face of {}, which has S1 to S{}", printable(face), type.name, count));
    return {element, face[1] - '1'};
  }

  void check_nodes_of_elements() const {
    for (const InpModel::Element& element : model_.elements)
      for (int n = 0; n < model_.types[element.type].nodes; ++n)
        if (!model_.node_numbers.contains(model_.element_nodes[element.first + n]))
          InpLines::fail(element.line, fmt::format("an element uses node {}, which does not exist",
                                                   model_.element_nodes[element.first + n]));
  }

  InpLines lines_;
  InpModel model_;
  std::vector<InpKeyword> sections_;
  int parts_ = 0, instances_ = 0;
};

}  // namespace

InpModel read_inp_model(std::string_view text) { return Reader(text).read(); }

}  // namespace femcg::mesh
