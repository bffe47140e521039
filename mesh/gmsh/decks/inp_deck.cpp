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

namespace femcg::mesh {

namespace {

/// Keywords that are read, with the parameters that are understood, each between commas.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> read_keywords{
    {{"NODE", ",NSET,SYSTEM,"},
     {"ELEMENT", ",TYPE,ELSET,SOLID ELEMENT NUMBERING,"},
     {"ELSET", ",ELSET,GENERATE,INTERNAL,INSTANCE,UNSORTED,"},
     {"NSET", ",NSET,GENERATE,INTERNAL,INSTANCE,UNSORTED,ELSET,"},
     {"SURFACE", ",NAME,TYPE,INTERNAL,INSTANCE,REGION TYPE,"},
     {"SOLIDSECTION",
      ",ELSET,MATERIAL,CONTROLS,ORIENTATION,NODAL THICKNESS,REF NODE,STACK DIRECTION,COMPOSITE,LAYUP,"
      "SYMMETRIC,"},
     {"PART", ",NAME,"},
     {"INSTANCE", ",NAME,PART,INSTANCE,LIBRARY,"}}};

/// Keywords that say nothing about a mesh: materials, sections, interactions, loads, output. All that end in SECTION
/// belong to them, and whatever stands within a step, but for what changes the model there.
constexpr std::string_view harmless_keywords =
    " HEADING PREPRINT RESTART ASSEMBLY ENDASSEMBLY ENDPART ENDINSTANCE STEP ENDSTEP AMPLITUDE ORIENTATION TRANSFORM "
    "DISTRIBUTION DISTRIBUTIONTABLE PARAMETER PHYSICALCONSTANTS NORMAL NODALTHICKNESS INITIALCONDITIONS BOUNDARY "
    "MATERIAL ELASTIC DENSITY CONDUCTIVITY SPECIFICHEAT EXPANSION PLASTIC CREEP VISCOELASTIC VISCO VISCOUS "
    "HYPERELASTIC "
    "HYPERFOAM HYPOELASTIC DAMPING DEPVAR USERMATERIAL USERDEFINEDFIELD USEROUTPUTVARIABLES DAMAGEINITIATION "
    "DAMAGEEVOLUTION DAMAGESTABILIZATION ELECTRICALCONDUCTIVITY MAGNETICPERMEABILITY DIELECTRIC PIEZOELECTRIC "
    "LATENTHEAT "
    "JOULEHEATFRACTION INELASTICHEATFRACTION HEATGENERATION CYCLICHARDENING RATEDEPENDENT POTENTIAL DRUCKERPRAGER "
    "DRUCKERPRAGERHARDENING MOHRCOULOMB MOHRCOULOMBHARDENING CAPPLASTICITY CAPHARDENING CLAYPLASTICITY CLAYHARDENING "
    "CONCRETE TENSIONSTIFFENING CONCRETEDAMAGEDPLASTICITY CONCRETECOMPRESSIONHARDENING CONCRETETENSIONSTIFFENING "
    "CONCRETECOMPRESSIONDAMAGE CONCRETETENSIONDAMAGE CRUSHABLEFOAM CRUSHABLEFOAMHARDENING EOS FAILSTRAIN FAILSTRESS "
    "FLUIDCONSTANTS DEFORMATIONPLASTICITY MULLINSEFFECT PERMEABILITY SWELLING NOCOMPRESSION NOTENSION UNIAXIALTESTDATA "
    "BIAXIALTESTDATA PLANARTESTDATA SOLUBILITY DIFFUSIVITY ANNEALTEMPERATURE SHEARFAILURE TENSILEFAILURE "
    "ACOUSTICMEDIUM "
    "SURFACEINTERACTION SURFACEBEHAVIOR FRICTION CHANGEFRICTION CONTACT CONTACTINCLUSIONS CONTACTEXCLUSIONS "
    "CONTACTPROPERTYASSIGNMENT CONTACTINITIALIZATIONDATA CONTACTINITIALIZATIONASSIGNMENT CONTACTCONTROLS "
    "CONTACTCONTROLSASSIGNMENT CONTACTFORMULATION CONTACTINTERFERENCE CONTACTDAMPING CONTACTSTABILIZATION CLEARANCE "
    "SURFACEPROPERTYASSIGNMENT GAPCONDUCTANCE GAPHEATGENERATION GAPRADIATION GAPELECTRICALCONDUCTANCE COHESIVEBEHAVIOR "
    "COUPLING KINEMATIC DISTRIBUTING KINEMATICCOUPLING DISTRIBUTINGCOUPLING RIGIDBODY MPC EQUATION FASTENERPROPERTY "
    "CONNECTORBEHAVIOR CONNECTORELASTICITY CONNECTORDAMPING CONNECTORSTOP CONNECTORFRICTION "
    "CONNECTORCONSTITUTIVEREFERENCE "
    "SPRING DASHPOT MASS ROTARYINERTIA GAP HEATCAP NONSTRUCTURALMASS USERELEMENT UELPROPERTY IMPERFECTION "
    "FILMPROPERTY FILM SFILM CFILM RADIATE SRADIATE CRADIATE DFLUX DSFLUX CFLUX DLOAD DSLOAD CLOAD TEMPERATURE FIELD "
    "RADIATIONFILE VALUESATINFINITY TIMEPOINTS FILTER CONTROLS SOLVERCONTROLS CONSTRAINTCONTROLS MODALDAMPING SPECTRUM "
    "OUTPUT NODEOUTPUT ELEMENTOUTPUT CONTACTOUTPUT ENERGYOUTPUT INTEGRATEDOUTPUT NODEPRINT ELPRINT NODEFILE ELFILE "
    "ELEMENTFILE CONTACTPRINT CONTACTFILE FILEFORMAT FILEOUTPUT MONITOR PRINT SECTIONPRINT ENERGYPRINT ENERGYFILE "
    "DESIGNVARIABLES DESIGNRESPONSE ";

/// Keywords by which cells are joined that share no nodes.
constexpr std::string_view joining_keywords =
    " TIE CONTACTPAIR EMBEDDEDELEMENT CYCLICSYMMETRYMODEL SHELLTOSOLIDCOUPLING ";

/// Keywords that make or move what a mesh consists of.
constexpr std::string_view making_keywords =
    " NGEN NFILL NCOPY NMAP ELGEN ELCOPY SYSTEM INCLUDE IMPORT SUBMODEL MODELCHANGE ";

/// Families of elements, a longer prefix before those that it begins with.
constexpr std::array<std::pair<std::string_view, int>, 19> families{{{"AC3D", 3},
                                                                     {"C3D", 3},
                                                                     {"Q3D", 3},
                                                                     {"F3D", 3},
                                                                     {"SFM3D", 2},
                                                                     {"AC2D", 2},
                                                                     {"CPEG", 2},
                                                                     {"CPE", 2},
                                                                     {"CPS", 2},
                                                                     {"C2D", 2},
                                                                     {"STRI", 2},
                                                                     {"M3D", 2},
                                                                     {"R3D", 2},
                                                                     {"T2D", 1},
                                                                     {"T3D", 1},
                                                                     {"C1D", 1},
                                                                     {"AC1D", 1},
                                                                     {"R2D", 1},
                                                                     {"S", 2}}};

/// Families of elements that are neither cells nor facets, which a warning counts.
constexpr std::array<std::string_view, 21> left_out_families{
    "B2",     "B3",    "PIPE", "ELBOW", "FRAME", "SPRING", "DASHPOT", "MASS", "ROTARYI", "HEATCAP", "CONN",
    "JOINTC", "DCOUP", "GAP",  "DGAP",  "RB2D",  "RB3D",   "ITT",     "ITS",  "LS3S",    "LS6"};

bool lists(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

/// The number of nodes that the digits say: 10 of "10M", 6 of STRI65 and 8 of S8R5, whose last digit is something else.
int node_count(std::string_view family, std::string_view digits) {
  int count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || count > 99) break;
    count = 10 * count + (c - '0');
  }
  return family == "STRI" && count == 65 ? 6 : count;
}

/// The geometry of an element by its type (C3D10M, DC2D4, S3R, T3D2, ...): nothing where it is left out. Throws for
/// what is not known.
std::optional<ElementType> inp_element_type(std::string_view type, std::size_t line) {
  const std::string name = upper_case(type);
  std::string_view rest = name;
  if (name == "D" || std::ranges::any_of(left_out_families, [&](auto family) { return rest.starts_with(family); }))
    return std::nullopt;
  if (rest.find("AX") != std::string_view::npos)
    fail_at_line(line,
                 fmt::format("elements of type {} are axisymmetric, which no cell of femcg is: give the solid, or "
                             "write the radius into the coefficients of a plane mesh",
                             printable(name)));
  if (rest.starts_with("DC") || rest.starts_with("DS")) rest.remove_prefix(1);  // for heat transfer
  for (const auto& [prefix, dimension] : families) {
    if (!rest.starts_with(prefix)) continue;
    const int nodes = node_count(prefix, rest.substr(prefix.size()));
    if (auto made = deck_element_type(dimension, nodes, name)) return made;
    break;
  }
  fail_at_line(line,
               fmt::format("elements of type {} are not read: take them out, or mesh with others", printable(name)));
}

/// Elements of a set or surface as the file names them: a range of labels, or another set.
struct Members {
  std::int64_t first = 0, last = 0, step = 1;
  std::string_view set;   ///< where it is not empty
  std::string_view face;  ///< of a surface
  std::size_t line = 0;
};

/// Reads keyword by keyword, and finds what sets and surfaces name when all of the file is known.
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
    if (lists(making_keywords, name))
      fail_at_line(keyword.line,
                   fmt::format("*{} is not read: give a file that has all nodes and elements in it", name));
    const auto known = std::ranges::find(read_keywords, name, [](const auto& entry) { return entry.first; });
    if (known == read_keywords.end()) return pass_over(keyword);
    for (const auto& [parameter, value] : keyword.parameters)
      if (!parameter.empty() && known->second.find("," + parameter + ",") == std::string_view::npos)
        fail_at_line(keyword.line, fmt::format("{} of *{} is not read: {}", printable(parameter), name,
                                               parameter == "INPUT" ? "put what that file says in its place"
                                                                    : "give a file without it"));
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

  void pass_over(const InpKeyword& keyword) {
    const std::string& name = keyword.name;
    if (name == "STEP") in_step_ = true;
    if (name == "ENDSTEP") in_step_ = false;
    if (keyword.has("INPUT")) fail_at_line(keyword.line, "INPUT is not read: put what that file says in its place");
    if (lists(joining_keywords, name))
      deck_.warnings.push_back(fmt::format(
          "line {}: *{} joins nothing here: nothing flows between cells that share no nodes", keyword.line, name));
    else if (!in_step_ && !name.ends_with("SECTION") && !lists(harmless_keywords, name))
      fail_at_line(keyword.line, fmt::format("*{} is not known: take it out if it says nothing about nodes, elements, "
                                             "sets and surfaces",
                                             printable(name)));
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

  /// An element may go on over several lines.
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

  /// Throws where there is none. A set of an instance may be named with it: Part-1-1.Set-1.
  std::size_t set_named(std::string_view name, std::size_t line) const {
    auto found = set_numbers_.find(upper_case(name));
    if (const std::size_t dot = name.rfind('.'); found == set_numbers_.end() && dot != std::string_view::npos)
      found = set_numbers_.find(upper_case(name.substr(dot + 1)));
    if (found == set_numbers_.end()) fail_at_line(line, fmt::format("there is no element set '{}'", printable(name)));
    return found->second;
  }

  /// Elements that were left out are in no set.
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

  /// The side with a label, or without one all that are free. A shell is one side.
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

  /// How many cells have a face.
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
  std::map<std::string, std::size_t> set_numbers_;  ///< by names in upper case
  std::vector<std::vector<Members>> set_members_, surface_members_;
  std::vector<std::pair<std::string, std::size_t>> sections_;  ///< sets, and lines
  std::unordered_set<std::int64_t> left_out_;
  std::map<FaceKey, int> faces_;
  int parts_ = 0, instances_ = 0;
  bool in_step_ = false;
};

}  // namespace

Deck read_inp_deck(std::string_view text) { return InpReader(text).read(); }

}  // namespace femcg::mesh
