#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck_elements.hpp"
#include "mesh/gmsh/decks/deck_mesh.hpp"
#include "mesh/gmsh/decks/deck_readers.hpp"

namespace femcg::mesh {

namespace {

// Datasets that are read: 164 units; 2411, 781, 15 nodes; 2412, 780 elements; 2467, 2477, 2452, 2435, 2432, 2430, 2429
// groups; 2420 coordinate systems, which must be the part's.

/// Datasets without meaning for a mesh: headers, materials, properties, loads, results, trace lines.
constexpr int harmless_datasets[]{55,  56,  57,  58,   82,   83,   151,  754,  755,  757, 758,
                                  770, 771, 772, 773,  775,  776,  777,  778,  779,  788, 789,
                                  790, 791, 792, 1700, 1703, 1710, 2400, 2414, 2437, 2448};

/// Element descriptors and their dimensions; the number of nodes is written with each element.
constexpr std::pair<int, int> descriptors[]{
    {11, 1}, {21, 1},  {22, 1},  {23, 1},  {24, 1},  {41, 2},  {42, 2},  {44, 2},  {45, 2},  {51, 2},  {52, 2}, {54, 2},
    {55, 2}, {61, 2},  {62, 2},  {64, 2},  {65, 2},  {71, 2},  {72, 2},  {74, 2},  {75, 2},  {91, 2},  {92, 2}, {94, 2},
    {95, 2}, {111, 3}, {112, 3}, {113, 3}, {115, 3}, {116, 3}, {118, 3}, {101, 3}, {102, 3}, {104, 3}, {105, 3}};

/// Elements that are neither cells nor facets (rigid, springs, dampers, masses, gaps); a warning counts them.
constexpr int left_out_descriptors[]{121, 122, 136, 137, 138, 139, 141, 142, 151, 152, 161};

/// Index in Abaqus's order of each node of a dataset, which lists midpoints between the vertices.
std::vector<int> places(const ElementType& type) {
  if (type.dimension == 2 && type.nodes == 6) return {0, 3, 1, 4, 2, 5};
  if (type.dimension == 2 && type.nodes == 8) return {0, 4, 1, 5, 2, 6, 3, 7};
  if (type.dimension == 3 && type.nodes == 10) return {0, 4, 1, 5, 2, 6, 7, 8, 9, 3};
  if (type.dimension == 3 && type.nodes == 20)
    return {0, 8, 1, 9, 2, 10, 3, 11, 16, 17, 18, 19, 4, 12, 5, 13, 6, 14, 7, 15};
  if (type.dimension == 1 && type.nodes == 3) return {0, 2, 1};
  std::vector<int> same(static_cast<std::size_t>(type.nodes));
  for (int n = 0; n < type.nodes; ++n) same[static_cast<std::size_t>(n)] = n;
  return same;
}

/// Cursor over the datasets of a universal file.
class UnvLines {
 public:
  explicit UnvLines(std::string_view text) : text_(text) {}

  /// Skips the rest of the current dataset and returns the number of the next one; empty at the end.
  std::optional<int> next_dataset() {
    std::string_view line;
    while (inside_ && next(line)) {
    }
    while (next_line(line)) {
      if (trimmed(line).empty()) continue;
      if (trimmed(line) != "-1")
        fail_at_line(number_,
                     fmt::format("'{}' stands outside of all datasets, which begin and end with -1", printable(line)));
      if (!next_line(line)) break;
      inside_ = true;
      const std::string_view word = trimmed(line).substr(0, trimmed(line).find_first_of(" \t"));
      if (word.ends_with('b') || word.ends_with('B'))
        fail_at_line(number_, "binary datasets are not read: save the file as text");
      return static_cast<int>(std::clamp<std::int64_t>(integer_at(number_, word), 0, 1 << 20));
    }
    return std::nullopt;
  }

  /// Next line of this dataset; false at its end. Throws if the file ends within it.
  bool next(std::string_view& line) {
    if (!inside_) return false;
    if (!next_line(line)) throw std::runtime_error("the file is cut short: its last dataset has no end (-1)");
    if (trimmed(line) == "-1") inside_ = false;
    return inside_;
  }

  /// Words of the next line; empty at the end of the dataset.
  std::vector<std::string_view> words() {
    std::string_view line;
    return next(line) ? split(line) : std::vector<std::string_view>();
  }
  /// The same; throws if the dataset ends or the line has fewer words than `least`.
  std::vector<std::string_view> words(std::size_t least) {
    std::vector<std::string_view> found = words();
    if (found.size() < least) fail_at_line(number_, fmt::format("a line with {} numbers is missing here", least));
    return found;
  }
  std::size_t number() const { return number_; }

 private:
  static std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> found;
    for (std::size_t begin = line.find_first_not_of(" \t\r"); begin != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
      found.push_back(line.substr(begin, end - begin));
      begin = line.find_first_not_of(" \t\r", end);
    }
    return found;
  }
  bool next_line(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
  bool inside_ = false;
};

/// Reads dataset 164 (units): returns the length of its unit in metres, 1 / factor.
double metres(UnvLines& lines) {
  lines.words(1);
  const double factor = real_at(lines.number(), lines.words(1)[0]);
  if (!(factor > 0) || !std::isfinite(1 / factor))
    fail_at_line(lines.number(), "the factor of lengths must be above 0");
  return 1 / factor;
}

class UnvReader {
 public:
  explicit UnvReader(std::string_view text) : lines_(text) {}

  Deck read() {
    while (const auto dataset = lines_.next_dataset()) read_dataset(*dataset);
    deck_.check();
    for (std::size_t s = 0; s < deck_.sets.size(); ++s)
      for (const auto& [label, line] : members_[s])
        if (const auto element = deck_.element_numbers.find(label); element != deck_.element_numbers.end())
          deck_.sets[s].elements.push_back(element->second);
        else if (deck_.left_out.empty())
          fail_at_line(line, fmt::format("a group has element {}, which does not exist", label));
    return std::move(deck_);
  }

 private:
  void read_dataset(int dataset) {
    switch (dataset) {
      case 164: {
        const std::size_t line = lines_.number();
        metres(lines_);
        if (std::exchange(has_units_, true)) fail_at_line(line, "a second dataset 164 begins, but a mesh has one unit");
        return;
      }
      case 15:
        return read_nodes(1);
      case 781:
      case 2411:
        return read_nodes(2);
      case 780:
        return read_elements(8);
      case 2412:
        return read_elements(6);
      case 2429:
      case 2430:
      case 2432:
        return read_groups(2);
      case 2435:
      case 2452:
      case 2467:
      case 2477:
        return read_groups(4);
      case 2420:
        return check_systems();
      default:
        if (std::ranges::find(harmless_datasets, dataset) == std::end(harmless_datasets))
          fail_at_line(lines_.number(),
                       fmt::format("dataset {} is not known: take it out if it says nothing about nodes, "
                                   "elements and groups",
                                   dataset));
    }
  }

  /// Reads nodes with `lines` lines each: coordinates on the same line, or on a second one.
  void read_nodes(int lines) {
    for (auto words = lines_.words(); !words.empty(); words = lines_.words()) {
      if (words.size() < 4)
        fail_at_line(lines_.number(), "a node needs its number and three more, of systems and a colour");
      const std::int64_t label = integer_at(lines_.number(), words[0]);
      if (lines == 1 && integer_at(lines_.number(), words[1]) > 1)
        fail_at_line(lines_.number(),
                     fmt::format("node {} is given in a coordinate system of its own, which is not read", label));
      if (lines == 2)
        words = lines_.words(3);
      else
        words.erase(words.begin(), words.begin() + 4);
      if (words.size() < 3) fail_at_line(lines_.number(), "a node needs three coordinates");
      std::array<double, 3> point{};
      for (std::size_t axis = 0; axis < 3; ++axis) point[axis] = real_at(lines_.number(), words[axis]);
      deck_.add_node(label, point, lines_.number());
    }
  }

  /// Reads elements. Element line: number, descriptor, property (third, or fourth of eight), ..., number of nodes.
  void read_elements(std::size_t numbers) {
    for (auto words = lines_.words(); !words.empty(); words = lines_.words()) {
      const std::size_t line = lines_.number();
      if (words.size() < numbers) fail_at_line(line, fmt::format("an element needs {} numbers", numbers));
      const std::int64_t label = integer_at(line, words[0]), descriptor = integer_at(line, words[1]),
                         property = integer_at(line, words[numbers == 8 ? 3 : 2]),
                         count = integer_at(line, words[numbers - 1]);
      if (count < 1 || count > 100) fail_at_line(line, fmt::format("an element cannot have {} nodes", count));
      // Beams have an extra line with orientation and ends first; rods have it in some files only.
      const bool beam = 21 <= descriptor && descriptor <= 24, rod = descriptor == 11;
      words = lines_.words(1);
      if (beam || (rod && std::ssize(words) == count + 1)) words = lines_.words(1);
      std::vector<std::int64_t> nodes;
      for (;; words = lines_.words(1)) {
        for (const std::string_view word : words) nodes.push_back(integer_at(lines_.number(), word));
        if (std::ssize(nodes) >= count) break;
      }
      if (std::ssize(nodes) > count)
        fail_at_line(lines_.number(),
                     fmt::format("element {} has {} nodes, but {} follow", label, count, nodes.size()));
      add_element(label, static_cast<int>(std::clamp<std::int64_t>(descriptor, 0, 1 << 20)), property, nodes, line);
    }
  }

  void add_element(std::int64_t label, int descriptor, std::int64_t property, const std::vector<std::int64_t>& nodes,
                   std::size_t line) {
    if (std::ranges::find(left_out_descriptors, descriptor) != std::end(left_out_descriptors)) {
      ++deck_.left_out[std::to_string(descriptor)];
      return;
    }
    const auto known = std::ranges::find(descriptors, descriptor, [](const auto& entry) { return entry.first; });
    std::optional<ElementType> type;
    if (known != std::end(descriptors))
      type = deck_element_type(known->second, static_cast<int>(nodes.size()),
                               fmt::format("{} with {} nodes", descriptor, nodes.size()));
    if (!type)
      fail_at_line(line,
                   fmt::format("elements of descriptor {} with {} nodes are not read: take them out, or mesh with "
                               "others",
                               descriptor, nodes.size()));
    const std::vector<int> place = places(*type);
    std::vector<std::int64_t> in_order(nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) in_order[static_cast<std::size_t>(place[n])] = nodes[n];
    if (property < 0 || property > std::numeric_limits<std::int32_t>::max()) property = 0;
    deck_.add_element(label, deck_.type_number(*type), static_cast<std::int32_t>(property), in_order, line);
  }

  /// Reads groups: eight numbers, the last of which counts the members, then the name, then the members with `each`
  /// numbers, of which the first two are kind and label.
  void read_groups(std::size_t each) {
    constexpr std::int64_t nodes = 7, elements = 8;
    for (auto words = lines_.words(); !words.empty(); words = lines_.words()) {
      if (words.size() < 8) fail_at_line(lines_.number(), "a group needs eight numbers");
      const std::int64_t count = integer_at(lines_.number(), words[7]);
      const std::string number(words[0]);
      std::string_view line;
      if (!lines_.next(line)) fail_at_line(lines_.number(), "a group needs its name");
      const std::string name(trimmed(line).empty() ? number : trimmed(line));
      std::size_t set = deck_.sets.size();
      bool has_nodes = false;
      for (std::int64_t read = 0; read < count;) {
        words = lines_.words(each);
        for (std::size_t w = 0; w + each <= words.size() && read < count; w += each, ++read) {
          const std::int64_t kind = integer_at(lines_.number(), words[w]),
                             label = integer_at(lines_.number(), words[w + 1]);
          has_nodes = has_nodes || kind == nodes;
          if (kind != elements) continue;
          if (set == deck_.sets.size()) set = set_named(name);
          members_[set].emplace_back(label, lines_.number());
        }
      }
      if (has_nodes) deck_.node_sets.insert(name);
    }
  }

  std::size_t set_named(const std::string& name) {
    const auto known = std::ranges::find(deck_.sets, name, &Deck::Set::name);
    if (known != deck_.sets.end()) return static_cast<std::size_t>(known - deck_.sets.begin());
    deck_.sets.push_back({name, 0, false, {}});
    members_.emplace_back();
    return deck_.sets.size() - 1;
  }

  /// Throws unless all systems are Cartesian and are the part's.
  void check_systems() {
    lines_.words(1);  // the part's number
    std::string_view line;
    lines_.next(line);  // its name
    for (auto words = lines_.words(); !words.empty(); words = lines_.words()) {
      if (words.size() < 2) fail_at_line(lines_.number(), "a coordinate system needs its number and kind");
      bool same = integer_at(lines_.number(), words[1]) == 0;
      const std::size_t at = lines_.number();
      const std::string label(words[0]);
      lines_.next(line);  // its name
      for (std::size_t row = 0; row < 4; ++row) {
        words = lines_.words(3);
        for (std::size_t axis = 0; axis < 3; ++axis)
          same = same && std::abs(real_at(lines_.number(), words[axis]) - (row == axis ? 1 : 0)) < 1e-12;
      }
      if (!same)
        fail_at_line(at,
                     fmt::format("coordinate system {} is not that of the part, and only that is read: give all nodes "
                                 "in global coordinates",
                                 printable(label)));
    }
  }

  UnvLines lines_;
  Deck deck_;
  std::vector<std::vector<std::pair<std::int64_t, std::size_t>>> members_;  ///< labels and lines of each set's members
  bool has_units_ = false;
};

}  // namespace

std::optional<double> unv_metres(std::string_view text) {
  UnvLines lines(text);
  while (const auto dataset = lines.next_dataset())
    if (*dataset == 164) return metres(lines);
  return std::nullopt;
}

Deck read_unv_deck(std::string_view text) { return UnvReader(text).read(); }

}  // namespace femcg::mesh
