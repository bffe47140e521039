#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <unordered_map>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/bdf_cards.hpp"
#include "mesh/gmsh/decks/bdf_frames.hpp"
#include "mesh/gmsh/decks/deck_elements.hpp"
#include "mesh/gmsh/decks/deck_readers.hpp"

namespace femcg::mesh {

namespace {

/// Element cards that are read, in addition to GRID, GRDSET and CORD1R to CORD2S. An element has its vertices only, or
/// its vertices and the midpoints of all edges.
struct BdfElement {
  std::string_view name;
  int dimension;
  std::size_t corners, nodes;
};
constexpr std::array<BdfElement, 11> read_elements{{{"CTETRA", 3, 4, 10},
                                                    {"CHEXA", 3, 8, 20},
                                                    {"CPENTA", 3, 6, 15},
                                                    {"CPYRAM", 3, 5, 13},
                                                    {"CPYRA", 3, 5, 13},
                                                    {"CTRIA3", 2, 3, 3},
                                                    {"CTRIAR", 2, 3, 3},
                                                    {"CTRIA6", 2, 3, 6},
                                                    {"CQUAD4", 2, 4, 4},
                                                    {"CQUADR", 2, 4, 4},
                                                    {"CQUAD8", 2, 4, 8}}};

/// Elements that are neither cells nor facets; a warning counts them.
constexpr std::string_view left_out_cards =
    " CBAR CBEAM CBEAM3 CBEND CROD CONROD CTUBE CELAS1 CELAS2 CELAS3 CELAS4 CDAMP1 CDAMP2 CDAMP3 CDAMP4 CDAMP5 CMASS1 "
    "CMASS2 CMASS3 CMASS4 CONM1 CONM2 CBUSH CBUSH1D CBUSH2D CGAP CVISC CFAST CWELD CSEAM CSHEAR GENEL RBE1 RBE2 RBE3 "
    "RBAR "
    "RBAR1 RROD RTRPLT RTRPLT1 RSPLINE RJOINT RSSCON PLOTEL CHBDYE CHBDYG CHBDYP CHACAB CHACBR CAABSF ";

/// Prefixes of the names of cards without meaning for a mesh: materials, properties, loads, tables, requests.
constexpr std::string_view harmless_cards[]{
    "MAT",    "P",      "TABLE",  "TEMP",   "SPC",   "MPC",    "EIG",    "DLOAD",  "LOAD",  "TLOAD",  "RLOAD",
    "ACSRCE", "FORCE",  "MOMENT", "GRAV",   "ACCEL", "RFORCE", "QVOL",   "QBDY",   "QHBDY", "QVECT",  "QSET",
    "CONV",   "VIEW",   "RAD",    "SUPORT", "ASET",  "BSET",   "CSET",   "OMIT",   "USET",  "SET",    "BC",
    "BSURF",  "BLSEG",  "BGSET",  "BEDGE",  "DAREA", "DELAY",  "DPHASE", "DMI",    "FREQ",  "TSTEP",  "NLPARM",
    "NLPCI",  "NOLIN",  "TIC",    "TF",     "DEF",   "DES",    "DRESP",  "DCON",   "DOPT",  "DVPREL", "DVMREL",
    "DVCREL", "DVGRID", "DTABLE", "DEQATN", "DLINK", "TOPVAR", "AERO",   "AE",     "CAERO", "SPLINE", "FLUTTER",
    "FLFACT", "MKAERO", "TRIM",   "GUST",   "SLOAD", "NSM",    "SEQGP",  "ECHO",   "BAROR", "BEAMOR", "NXSTRAT",
    "MDLPRM", "MONPNT", "LSEQ",   "RAND",   "CREEP", "SPOINT", "EPOINT", "THERMAL"};

/// Cards that join parts without shared nodes: equations, glue, contact.
constexpr std::string_view joining_cards = " MPC BGSET BCTABLE BCTABL1 BCONNECT BCONP ";

/// Index in Abaqus's node order of a node in Nastran's order. They differ for hexahedra with midpoints: Nastran lists
/// the vertical edges before those of the upper face.
std::size_t place_of(const BdfElement& element, std::size_t node, std::size_t count) {
  if (element.corners != 8 || count != 20 || node < 12) return node;
  return node < 16 ? node + 4 : node - 4;
}

class BdfReader {
 public:
  explicit BdfReader(std::string_view text) : cards_(text) {}

  Deck read() {
    for (BdfCard card; cards_.next(card);) read_card(card);
    for (const auto& [label, line] : grid_order_) deck_.add_node(label, point_of(label, line), line);
    deck_.check();
    if (cards_.lacks_end())
      deck_.warnings.push_back("the file has no ENDDATA: where it has been cut short, cells are missing");
    return std::move(deck_);
  }

 private:
  void read_card(const BdfCard& card) {
    const std::string& name = card.name;
    const auto element = std::ranges::find(read_elements, name, &BdfElement::name);
    if (name == "GRID") {
      read_grid(card);
    } else if (name == "GRDSET") {
      default_frame_ = card.field(1).empty() ? 0 : integer_at(card.line, card.field(1));
    } else if (name.starts_with("CORD")) {
      frames_.add(card);
    } else if (element != read_elements.end()) {
      read_element(*element, card);
    } else if (left_out_cards.find(" " + name + " ") != std::string_view::npos) {
      ++deck_.left_out[name];
    } else if (joining_cards.find(" " + name + " ") != std::string_view::npos) {
      if (joining_.insert(name).second)
        deck_.warnings.push_back(fmt::format(
            "line {}: {} joins nothing here: nothing flows between cells that share no nodes", card.line, name));
    } else if (std::ranges::none_of(harmless_cards, [&](std::string_view known) { return name.starts_with(known); })) {
      fail_at_line(card.line, fmt::format("the card {} is not known: take it out if it says nothing about nodes and "
                                          "elements",
                                          printable(name)));
    }
  }

  void read_grid(const BdfCard& card) {
    const std::int64_t label = integer_at(card.line, card.field(0));
    Grid grid;
    grid.line = card.line;
    grid.has_frame = !card.field(1).empty();
    if (grid.has_frame) grid.frame = integer_at(card.line, card.field(1));
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!card.field(2 + axis).empty()) grid.given[axis] = real_at(card.line, card.field(2 + axis));
    const auto [there, is_new] = grids_.try_emplace(label, grid);
    if (is_new)
      grid_order_.emplace_back(label, card.line);
    else if (there->second.given != grid.given || there->second.frame != grid.frame)
      fail_at_line(card.line, fmt::format("node {} is defined twice, at different points", label));
  }

  BdfFrames::Point point_of(std::int64_t label, std::size_t line) {
    const auto found = grids_.find(label);
    if (found == grids_.end()) fail_at_line(line, fmt::format("there is no GRID {}", label));
    const Grid& grid = found->second;
    return frames_.to_basic(grid.has_frame ? grid.frame : default_frame_, grid.given, grid.line,
                            [&](std::int64_t other, std::size_t of_frame) { return point_of(other, of_frame); });
  }

  void read_element(const BdfElement& element, const BdfCard& card) {
    const std::int64_t label = integer_at(card.line, card.field(0));
    std::vector<std::int64_t> given;
    for (std::size_t n = 0; n < element.nodes; ++n)
      given.push_back(card.field(2 + n).empty() ? 0 : integer_at(card.line, card.field(2 + n)));
    const auto missing = [&](std::size_t first, std::size_t last) {
      return static_cast<std::size_t>(std::count(given.begin() + static_cast<std::ptrdiff_t>(first),
                                                 given.begin() + static_cast<std::ptrdiff_t>(last), 0));
    };
    if (missing(element.nodes == element.corners ? 0 : element.corners, element.nodes) ==
        element.nodes - element.corners)
      given.resize(element.corners);
    const std::size_t count = given.size();
    if (const std::size_t at = static_cast<std::size_t>(std::ranges::find(given, 0) - given.begin()); at < count)
      fail_at_line(card.line, fmt::format("{} {} has {} nodes, but its node G{} is left empty: an element has {}{}",
                                          element.name, label, count - missing(0, count), at + 1, element.corners,
                                          element.nodes > element.corners
                                              ? fmt::format(" nodes, or {}, with one on every edge", element.nodes)
                                              : " nodes"));
    std::vector<std::int64_t> nodes(count);
    for (std::size_t n = 0; n < count; ++n) nodes[place_of(element, n, count)] = given[n];
    const std::int64_t property = card.field(1).empty() ? label : integer_at(card.line, card.field(1));
    if (property < 0 || property > std::numeric_limits<std::int32_t>::max())
      fail_at_line(card.line, fmt::format("{} is no number of a property", property));
    const auto type = deck_element_type(element.dimension, static_cast<int>(count),
                                        fmt::format("{} with {} nodes", element.name, count));
    deck_.add_element(label, deck_.type_number(*type), static_cast<std::int32_t>(property), nodes, card.line);
  }

  struct Grid {
    BdfFrames::Point given{};
    std::int64_t frame = 0;
    bool has_frame = false;
    std::size_t line = 0;
  };

  BdfCards cards_;
  BdfFrames frames_;
  Deck deck_;
  std::unordered_map<std::int64_t, Grid> grids_;
  std::vector<std::pair<std::int64_t, std::size_t>> grid_order_;  ///< labels and lines
  std::int64_t default_frame_ = 0;
  std::set<std::string> joining_;  ///< cards that have been reported
};

}  // namespace

Deck read_bdf_deck(std::string_view text) { return BdfReader(text).read(); }

}  // namespace femcg::mesh
