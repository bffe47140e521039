#include "mesh/gmsh/decks/inp_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mesh/gmsh/check/msh_cursor.hpp"
#include "mesh/gmsh/decks/deck.hpp"
#include "mesh/gmsh/decks/deck_elements.hpp"

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
      "SYMMETRIC,OFFSET,"},
     {"PART", ",NAME,"},
     {"INSTANCE", ",NAME,PART,INSTANCE,LIBRARY,"}}};

/// Keywords without meaning for a mesh: materials, sections, interactions, loads, output. Also in this group: all
/// keywords that end in SECTION, and everything within a step unless it changes the model.
constexpr std::string_view harmless_keywords =
    " HEADING PREPRINT RESTART ASSEMBLY ENDASSEMBLY END ENDPART ENDINSTANCE STEP ENDSTEP AMPLITUDE ORIENTATION "
    "TRANSFORM "
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
    "COUPLING KINEMATIC DISTRIBUTING KINEMATICCOUPLING DISTRIBUTINGCOUPLING RIGIDBODY FASTENERPROPERTY "
    "CONNECTORBEHAVIOR CONNECTORELASTICITY CONNECTORDAMPING CONNECTORSTOP CONNECTORFRICTION "
    "CONNECTORCONSTITUTIVEREFERENCE "
    "SPRING DASHPOT MASS ROTARYINERTIA GAP HEATCAP NONSTRUCTURALMASS USERELEMENT UELPROPERTY "
    "FILMPROPERTY FILM SFILM CFILM RADIATE SRADIATE CRADIATE DFLUX DSFLUX CFLUX DLOAD DSLOAD CLOAD TEMPERATURE FIELD "
    "RADIATIONFILE VALUESATINFINITY TIMEPOINTS FILTER CONTROLS SOLVERCONTROLS CONSTRAINTCONTROLS MODALDAMPING SPECTRUM "
    "OUTPUT NODEOUTPUT ELEMENTOUTPUT CONTACTOUTPUT ENERGYOUTPUT INTEGRATEDOUTPUT NODEPRINT ELPRINT NODEFILE ELFILE "
    "ELEMENTFILE CONTACTPRINT CONTACTFILE FILEFORMAT FILEOUTPUT MONITOR PRINT SECTIONPRINT ENERGYPRINT ENERGYFILE "
    "DESIGNVARIABLES DESIGNRESPONSE SPECIFICGASCONSTANT TRANSFORMF EQUATIONF BOUNDARYF ";

/// Keywords that join cells without shared nodes.
constexpr std::string_view joining_keywords =
    " TIE MPC EQUATION CONTACTPAIR EMBEDDEDELEMENT CYCLICSYMMETRYMODEL SHELLTOSOLIDCOUPLING ";

/// Keywords that generate or move parts of a mesh.
constexpr std::string_view making_keywords =
    " NGEN NFILL NCOPY NMAP ELGEN ELCOPY SYSTEM IMPERFECTION INCLUDE IMPORT SUBMODEL MODELCHANGE ";

/// Families of elements; a longer prefix precedes the shorter ones that it starts with.
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

/// Families of elements that are neither cells nor facets; a warning counts them.
constexpr std::array<std::string_view, 21> left_out_families{
    "B2",     "B3",    "PIPE", "ELBOW", "FRAME", "SPRING", "DASHPOT", "MASS", "ROTARYI", "HEATCAP", "CONN",
    "JOINTC", "DCOUP", "GAP",  "DGAP",  "RB2D",  "RB3D",   "ITT",     "ITS",  "LS3S",    "LS6"};

bool lists(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

/// Number of nodes in a type's digits: 10 of "10M", 6 of STRI65 and 8 of S8R5, whose last digit means something else.
int node_count(std::string_view family, std::string_view digits) {
  int count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || count > 99) break;
    count = 10 * count + (c - '0');
  }
  return family == "STRI" && count == 65 ? 6 : count;
}

}  // namespace

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
  if (rest.starts_with("DC") || rest.starts_with("DS")) rest.remove_prefix(1);  // heat transfer elements
  for (const auto& [prefix, dimension] : families) {
    if (!rest.starts_with(prefix)) continue;
    const int nodes = node_count(prefix, rest.substr(prefix.size()));
    if (auto made = deck_element_type(dimension, nodes, name)) return made;
    break;
  }
  fail_at_line(line,
               fmt::format("elements of type {} are not read: take them out, or mesh with others", printable(name)));
}

std::string check_keyword(const InpKeyword& keyword, bool in_step) {
  const std::string& name = keyword.name;
  if (lists(making_keywords, name))
    fail_at_line(keyword.line, fmt::format("*{} is not read: give a file that has all nodes and elements in it", name));
  const auto known = std::ranges::find(read_keywords, name, [](const auto& entry) { return entry.first; });
  if (known != read_keywords.end()) {
    for (const auto& [parameter, value] : keyword.parameters)
      if (!parameter.empty() && known->second.find("," + parameter + ",") == std::string_view::npos)
        fail_at_line(keyword.line,
                     fmt::format("{} of *{} is not read: give a file without it", printable(parameter), name));
    return {};
  }
  if (lists(joining_keywords, name))
    return fmt::format("line {}: *{} joins nothing here: nothing flows between cells that share no nodes", keyword.line,
                       name);
  if (!in_step && !name.ends_with("SECTION") && !lists(harmless_keywords, name))
    fail_at_line(keyword.line, fmt::format("*{} is not known: take it out if it says nothing about nodes, elements, "
                                           "sets and surfaces",
                                           printable(name)));
  return {};
}

}  // namespace femcg::mesh
