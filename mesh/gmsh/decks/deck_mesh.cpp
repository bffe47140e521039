#include "mesh/gmsh/decks/deck_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/decks/deck.hpp"
#include "mesh/gmsh/decks/deck_elements.hpp"
#include "mesh/gmsh/decks/deck_readers.hpp"
#include "mesh/gmsh/decks/whole_deck.hpp"
#include "mesh/gmsh/raw/counted.hpp"

namespace femcg::mesh {

namespace {

constexpr std::array<std::string_view, 4> deck_endings{".inp", ".bdf", ".nas", ".unv"};

/// Owns the arrays that the spans of a raw mesh refer to.
struct Storage {
  std::vector<double> points;
  std::deque<std::vector<std::uint64_t>> nodes;
};

/// Numbers the combinations of sets that elements belong to: a partition of the elements, refined set by set.
class Combinations {
 public:
  explicit Combinations(std::size_t elements) : of_element_(elements, 0), in_set_(elements, -1), sets_(1) {}

  void refine(int set, const std::vector<std::size_t>& elements) {
    std::map<int, int> refined;
    for (const std::size_t element : elements) {
      if (in_set_[element] == set) continue;  // repeated
      in_set_[element] = set;
      const auto [entry, is_new] = refined.try_emplace(of_element_[element], static_cast<int>(sets_.size()));
      if (is_new) {
        sets_.push_back(sets_[of_element_[element]]);
        sets_.back().push_back(set);
      }
      of_element_[element] = entry->second;
    }
  }
  int of(std::size_t element) const { return of_element_[element]; }
  const std::vector<int>& sets(int combination) const { return sets_[combination]; }

 private:
  std::vector<int> of_element_, in_set_;
  std::vector<std::vector<int>> sets_;
};

class Converter {
 public:
  Converter(const Deck& deck, double factor) : deck_(&deck), storage_(std::make_shared<Storage>()) {
    storage_->points = deck.points;
    for (double& x : storage_->points) x *= factor;
    raw_.points = storage_->points;
    raw_.owner = storage_;
    for (const Deck::Element& element : deck.elements)
      raw_.dimension = std::max(raw_.dimension, deck.types[element.type].dimension);
    raw_.dimension = std::max(raw_.dimension, 2);
    for (std::size_t t = 0; t < deck.types.size(); ++t) raw_.types[static_cast<int>(t)] = deck.types[t];
  }

  RawMesh convert() {
    add_elements();
    add_surfaces();
    warning();
    return std::move(raw_);
  }

 private:
  std::vector<const Deck::Set*> sets_by_rank() const {
    std::vector<const Deck::Set*> sets;
    for (const Deck::Set& set : deck_->sets)
      if (!set.internal) sets.push_back(&set);
    std::ranges::stable_sort(sets, {}, &Deck::Set::rank);
    return sets;
  }

  /// Tag for the elements of one property in the same sets: the first such combination gets the property's number.
  int new_tag(int dimension, std::int32_t property) {
    if (property > 0 && used_[dimension].insert(property).second) return property;
    return ++last_tag_[dimension];
  }

  std::vector<std::uint64_t>& block(int dimension, int entity, int type) {
    const auto [entry, is_new] = blocks_.try_emplace({dimension, entity, type}, nullptr);
    if (is_new) entry->second = &storage_->nodes.emplace_back();
    return *entry->second;
  }

  void add_elements() {
    const std::vector<const Deck::Set*> sets = sets_by_rank();
    Combinations combinations(deck_->elements.size());
    for (std::size_t s = 0; s < sets.size(); ++s) combinations.refine(static_cast<int>(s), sets[s]->elements);
    for (const Deck::Element& element : deck_->elements) {
      int& last = last_tag_[deck_->types[element.type].dimension];
      last = std::max(last, element.property);
    }
    std::map<std::tuple<int, std::int32_t, int>, int> tags;  // by dimension, property and combination
    std::map<std::pair<int, int>, PhysicalGroup> groups;     // by set and dimension, in the order of the sets
    for (std::size_t e = 0; e < deck_->elements.size(); ++e) {
      const Deck::Element& element = deck_->elements[e];
      const ElementType& type = deck_->types[element.type];
      const int dimension = type.dimension, combination = combinations.of(e);
      const auto [tag, is_new] = tags.try_emplace({dimension, element.property, combination}, 0);
      if (is_new) {
        tag->second = new_tag(dimension, element.property);
        for (const int set : combinations.sets(combination)) {
          PhysicalGroup& group =
              groups.try_emplace({set, dimension}, PhysicalGroup{dimension, set + 1, sets[set]->name, {}})
                  .first->second;
          group.entities.push_back(tag->second);
        }
      }
      std::vector<std::uint64_t>& nodes = block(dimension, tag->second, element.type);
      for (int n = 0; n < type.nodes; ++n)
        nodes.push_back(deck_->node_numbers.at(deck_->element_nodes[element.first + n]));
    }
    for (auto& [key, group] : groups) raw_.groups.push_back(std::move(group));
    for (auto& [key, nodes] : blocks_) {
      const auto [dimension, entity, type] = key;
      if (dimension == raw_.dimension) add_block(raw_.cells, entity, type, *nodes);
      if (dimension == raw_.dimension - 1) add_block(raw_.facets, entity, type, *nodes);
    }
  }

  void add_block(std::vector<ElementBlock>& to, int entity, int type, const std::vector<std::uint64_t>& nodes) {
    if (!nodes.empty())
      to.push_back({entity, type, raw_.types[type].nodes, raw_.types[type].corners, std::span(nodes)});
  }

  /// Adds the faces of cells; each surface becomes an entity and a group of its own.
  void add_surfaces() {
    const int dimension = raw_.dimension - 1;
    for (const Deck::Surface& surface : deck_->surfaces) {
      std::map<std::size_t, std::vector<std::uint64_t>> by_corners;
      for (const Deck::Side& side : surface.sides) {
        const Deck::Element& element = deck_->elements[side.element];
        const ElementType& type = deck_->types[element.type];
        const bool whole = side.face == Deck::Side::whole;
        if (type.dimension != (whole ? dimension : raw_.dimension)) continue;
        std::vector<int> corners(static_cast<std::size_t>(type.corners));
        std::iota(corners.begin(), corners.end(), 0);
        if (!whole) corners = deck_faces(type.dimension, type.corners)[side.face];
        std::vector<std::uint64_t>& nodes = by_corners[corners.size()];
        for (const int corner : corners)
          nodes.push_back(deck_->node_numbers.at(deck_->element_nodes[element.first + corner]));
      }
      const int entity = ++last_tag_[dimension];
      for (auto& [corners, nodes] : by_corners) {
        const int type = static_cast<int>(raw_.types.size());
        raw_.types[type] = *deck_element_type(dimension, static_cast<int>(corners), "face");
        add_block(raw_.facets, entity, type, storage_->nodes.emplace_back(std::move(nodes)));
      }
      raw_.groups.push_back({dimension, entity, surface.name, {entity}});
    }
  }

  void warning() {
    raw_.warnings = deck_->warnings;
    for (const auto& [type, count] : deck_->left_out)
      raw_.warnings.push_back(fmt::format("left out {} of type {}, which {} no cell or facet",
                                          counted(count, "element"), type, count == 1 ? "is" : "are"));
    if (!deck_->node_sets.empty())
      raw_.warnings.push_back(
          fmt::format("left out the node sets, which have no use here: {}", fmt::join(deck_->node_sets, ", ")));
  }

  const Deck* deck_;
  std::shared_ptr<Storage> storage_;
  RawMesh raw_;
  std::map<std::tuple<int, int, int>, std::vector<std::uint64_t>*> blocks_;
  std::map<int, int> last_tag_;        ///< by dimension
  std::map<int, std::set<int>> used_;  ///< properties used as tags
};

}  // namespace

RawMesh read_inp(std::string_view text, double factor) { return Converter(read_inp_deck(text), factor).convert(); }

RawMesh read_bdf(std::string_view text, double factor) { return Converter(read_bdf_deck(text), factor).convert(); }

RawMesh read_unv(std::string_view text, double factor) { return Converter(read_unv_deck(text), factor).convert(); }

bool is_deck(const std::filesystem::path& file) {
  return std::ranges::find(deck_endings, ending_of(file)) != deck_endings.end();
}

RawMesh read_deck(const std::filesystem::path& file, double factor) {
  const WholeDeck deck(file);
  const std::string ending = ending_of(file);
  try {
    RawMesh raw = (ending == ".inp" ? read_inp : ending == ".unv" ? read_unv : read_bdf)(deck.text(), factor);
    for (std::string& warning : raw.warnings) warning = deck.in_words_of_files(warning);
    return raw;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(deck.in_words_of_files(error.what()));
  }
}

}  // namespace femcg::mesh
