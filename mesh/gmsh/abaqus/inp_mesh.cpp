#include "mesh/gmsh/abaqus/inp_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

#include "mesh/gmsh/abaqus/inp_elements.hpp"
#include "mesh/gmsh/abaqus/inp_model.hpp"
#include "mesh/gmsh/raw/counted.hpp"

namespace femcg::mesh {

namespace {

/// What the spans of a raw mesh lie in.
struct Storage {
  std::vector<double> points;
  std::deque<std::vector<std::uint64_t>> nodes;
};

/// Numbers the combinations of sets that elements are in: a partition of the elements, refined set by set.
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
  Converter(const InpModel& model, double factor) : model_(&model), storage_(std::make_shared<Storage>()) {
    storage_->points = model.points;
    for (double& x : storage_->points) x *= factor;
    raw_.points = storage_->points;
    raw_.owner = storage_;
    for (const InpModel::Element& element : model.elements)
      raw_.dimension = std::max(raw_.dimension, model.types[element.type].dimension);
    raw_.dimension = std::max(raw_.dimension, 2);
    for (std::size_t t = 0; t < model.types.size(); ++t) raw_.types[static_cast<int>(t)] = model.types[t];
  }

  RawMesh convert() {
    add_elements();
    add_surfaces();
    warning();
    return std::move(raw_);
  }

 private:
  std::vector<const InpModel::Set*> sets_by_rank() const {
    std::vector<const InpModel::Set*> sets;
    for (const auto& [name, set] : model_->sets)
      if (!set.internal) sets.push_back(&set);
    std::ranges::sort(sets, {}, [](const InpModel::Set* set) { return std::pair(set->rank, set->order); });
    return sets;
  }

  std::vector<std::uint64_t>& block(int dimension, int entity, int type) {
    const auto [entry, is_new] = blocks_.try_emplace({dimension, entity, type}, nullptr);
    if (is_new) entry->second = &storage_->nodes.emplace_back();
    return *entry->second;
  }

  void add_elements() {
    const std::vector<const InpModel::Set*> sets = sets_by_rank();
    Combinations combinations(model_->elements.size());
    for (std::size_t s = 0; s < sets.size(); ++s) combinations.refine(static_cast<int>(s), sets[s]->elements);
    std::map<std::pair<int, int>, int> tags;              // of dimension and combination
    std::map<std::pair<int, int>, PhysicalGroup> groups;  // by set and dimension, in the order of the sets
    for (std::size_t e = 0; e < model_->elements.size(); ++e) {
      const InpModel::Element& element = model_->elements[e];
      const ElementType& type = model_->types[element.type];
      const int dimension = type.dimension, combination = combinations.of(e);
      const auto [tag, is_new] = tags.try_emplace({dimension, combination}, last_tag_[dimension] + 1);
      if (is_new) {
        ++last_tag_[dimension];
        for (const int set : combinations.sets(combination)) {
          PhysicalGroup& group =
              groups.try_emplace({set, dimension}, PhysicalGroup{dimension, set + 1, sets[set]->name, {}})
                  .first->second;
          group.entities.push_back(tag->second);
        }
      }
      std::vector<std::uint64_t>& nodes = block(dimension, tag->second, element.type);
      for (int n = 0; n < type.nodes; ++n)
        nodes.push_back(model_->node_numbers.at(model_->element_nodes[element.first + n]));
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

  /// The faces of cells, each surface an entity and a group of its own.
  void add_surfaces() {
    const int dimension = raw_.dimension - 1;
    for (const InpModel::Surface& surface : model_->surfaces) {
      std::map<std::size_t, std::vector<std::uint64_t>> by_corners;
      for (const InpModel::Side& side : surface.sides) {
        const InpModel::Element& element = model_->elements[side.element];
        const ElementType& type = model_->types[element.type];
        if (type.dimension != raw_.dimension) continue;
        const std::vector<int>& corners = inp_faces(type.dimension, type.corners)[side.face];
        std::vector<std::uint64_t>& nodes = by_corners[corners.size()];
        for (const int corner : corners)
          nodes.push_back(model_->node_numbers.at(model_->element_nodes[element.first + corner]));
      }
      const int entity = ++last_tag_[dimension];
      for (auto& [corners, nodes] : by_corners) {
        const int type = static_cast<int>(raw_.types.size());
        raw_.types[type] = inp_facet_type(dimension, static_cast<int>(corners));
        add_block(raw_.facets, entity, type, storage_->nodes.emplace_back(std::move(nodes)));
      }
      raw_.groups.push_back({dimension, entity, surface.name, {entity}});
    }
  }

  void warning() {
    for (const auto& [type, count] : model_->left_out)
      raw_.warnings.push_back(fmt::format("left out {} of type {}, which {} no cell or facet",
                                          counted(count, "element"), type, count == 1 ? "is" : "are"));
    if (!model_->node_sets.empty())
      raw_.warnings.push_back(
          fmt::format("left out the node sets, which have no use here: {}", fmt::join(model_->node_sets, ", ")));
  }

  const InpModel* model_;
  std::shared_ptr<Storage> storage_;
  RawMesh raw_;
  std::map<std::tuple<int, int, int>, std::vector<std::uint64_t>*> blocks_;
  std::map<int, int> last_tag_;
};

}  // namespace

RawMesh read_inp(std::string_view text, double factor) {
  const InpModel model = read_inp_model(text);
  return Converter(model, factor).convert();
}

}  // namespace femcg::mesh
