#include "mesh/gmsh/check/geo_words.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace femcg::mesh {

namespace {

using Kind = GeoWord::Kind;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Position after a mark, or the end of the text.
std::size_t behind(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t at = text.find(mark, from);
  return at == std::string_view::npos ? text.size() : at + mark.size();
}

/// Position after the number that begins at `at`, its exponent included.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  const auto digits = [&] {
    while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
  };
  digits();
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  const std::size_t exponent = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? at + 2 : at + 1;
  if (exponent < text.size() && is_digit(text[exponent])) at = exponent, digits();
  return at;
}

const std::set<std::string_view> closed_names{
    // control and variables
    "For", "In", "EndFor", "If", "ElseIf", "Else", "EndIf", "Macro", "Function", "Call", "Return", "DefineConstant",
    "Name", "Pi", "newp", "newc", "newl", "newll", "newcl", "news", "newsl", "newv", "newreg", "newf", "List",
    "LinSpace", "LogSpace", "Unique", "Str", "StrCat", "Sprintf", "Printf", "Error", "Warning", "Abs", "Exp", "Log",
    "Log10", "Sqrt", "Sin", "Asin", "Cos", "Acos", "Tan", "Atan", "Atan2", "Sinh", "Cosh", "Tanh", "Fabs", "Floor",
    "Ceil", "Round", "Fmod", "Modulo", "Hypot", "Max", "Min",
    // geometry
    "SetFactory", "Point", "Points", "Line", "Lines", "Curve", "Curves", "Circle", "Ellipse", "Spline", "BSpline",
    "Bezier", "Nurbs", "Wire", "Loop", "Plane", "Ruled", "Surface", "Surfaces", "Volume", "Volumes", "Physical",
    "Using", "Sphere", "Block", "Box", "Rectangle", "Disk", "Cylinder", "Cone", "Torus", "Wedge", "ThruSections",
    "Fillet", "Chamfer", "Extrude", "Layers", "Recombine", "Translate", "Rotate", "Symmetry", "Dilate", "Affine",
    "Duplicata", "Boundary", "CombinedBoundary", "PointsOf", "BoundingBox", "Bounding", "BooleanUnion",
    "BooleanIntersection", "BooleanDifference", "BooleanFragments", "Delete", "Recursive", "Coherence", "Reverse",
    "Compound", "Periodic", "Hide", "Show", "Color", "Parametric", "Coordinates",
    // meshing
    "Mesh", "MeshSize", "Characteristic", "Length", "Transfinite", "Alternate", "Alternated", "Left", "Right",
    "AlternateLeft", "AlternateRight", "Progression", "Bump", "Beta", "TransfQuadTri", "Smoother", "Field",
    "Background", "Distance", "Attractor", "Threshold", "MathEval", "MathEvalAniso", "Ball", "Frustum", "Restrict",
    "Constant", "Extend", "BoundaryLayer", "Curvature", "Gradient", "Laplacian", "Mean", "Param", "MinAniso",
    "IntersectAniso", "IField", "InField", "OutField", "FieldsList", "DistMin", "DistMax", "SizeMin", "SizeMax",
    "LcMin", "LcMax", "PointsList", "CurvesList", "SurfacesList", "VolumesList", "NodesList", "EdgesList", "FacesList",
    "RegionsList", "NNodesByEdge", "Sampling", "NumPointsPerCurve", "Sigmoid", "StopAtDistMax", "F", "FX", "FY", "FZ",
    "VIn", "VOut", "XMin", "XMax", "YMin", "YMax", "ZMin", "ZMax", "Thickness", "XCenter", "YCenter", "ZCenter",
    "Radius", "XAxis", "YAxis", "ZAxis", "IncludeBoundary", "Delta", "Kind",
    // options
    "Geometry", "General", "Terminal", "Verbosity", "MeshSizeMin", "MeshSizeMax", "MeshSizeFactor",
    "MeshSizeFromPoints", "MeshSizeFromCurvature", "MeshSizeExtendFromBoundary", "CharacteristicLengthMin",
    "CharacteristicLengthMax", "CharacteristicLengthFactor", "CharacteristicLengthFromPoints",
    "CharacteristicLengthFromCurvature", "CharacteristicLengthExtendFromBoundary", "MinimumCirclePoints",
    "MinimumCurvePoints", "MinimumElementsPerTwoPi", "Algorithm", "Algorithm3D", "ElementOrder", "SecondOrderLinear",
    "SecondOrderIncomplete", "Optimize", "OptimizeNetgen", "OptimizeThreshold", "HighOrderOptimize", "RecombineAll",
    "RecombinationAlgorithm", "Recombine3DAll", "SubdivisionAlgorithm", "Smoothing", "SaveAll", "MshFileVersion",
    "Binary", "RandomFactor", "RandomFactor3D", "Tolerance", "ToleranceBoolean", "AutoCoherence", "ExactExtrusion",
    "OCCFixDegenerated", "OCCFixSmallEdges", "OCCFixSmallFaces", "OCCSewFaces", "OCCScaling",
    "OCCBooleanPreserveNumbering"};

/// Words of a script and the variables that it sets.
class Script {
 public:
  explicit Script(std::string_view text) : words_(geo_words(text)) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i].kind == Kind::name && !is_member(i) && is_set_at(i)) variables_.insert(words_[i].text);
  }

  std::string_view first_open_name() const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i].kind == Kind::name && !closed_names.contains(words_[i].text) &&
          (is_member(i) || !variables_.contains(words_[i].text)))
        return words_[i].text;
    return {};
  }

 private:
  bool is_mark(std::size_t i, std::string_view marks) const {
    return i < words_.size() && words_[i].kind == Kind::mark && marks.find(words_[i].text) != std::string_view::npos;
  }
  bool is_member(std::size_t i) const { return i > 0 && is_mark(i - 1, "."); }

  /// True if the script sets the name here: before =, +=, ++ and the like, also with an index; by For, or as a macro.
  bool is_set_at(std::size_t i) const {
    if (i > 0 && words_[i - 1].kind == Kind::name)
      for (const std::string_view before : {"For", "Macro", "Function"})
        if (words_[i - 1].text == before) return true;
    std::size_t next = i + 1;
    if (is_mark(next, "~")) return true;  // a concatenated name
    if (is_mark(next, "[({"))
      for (int depth = 0; next < words_.size(); ++next) {
        depth += is_mark(next, "[({") ? 1 : is_mark(next, "])}") ? -1 : 0;
        if (depth > 0) continue;
        ++next;
        break;
      }
    if (is_mark(next, "=")) return !is_mark(next + 1, "=");
    return is_mark(next, "+-*/") && (is_mark(next + 1, "=") || (is_mark(next, "+-") && is_same(next, next + 1)));
  }
  bool is_same(std::size_t a, std::size_t b) const { return b < words_.size() && words_[a].text == words_[b].text; }

  std::vector<GeoWord> words_;
  std::set<std::string_view> variables_;
};

}  // namespace

std::vector<GeoWord> geo_words(std::string_view script) {
  std::vector<GeoWord> words;
  for (std::size_t at = 0, end = 0; at < script.size(); at = end) {
    const char c = script[at];
    const std::string_view rest = script.substr(at);
    const auto add = [&](Kind kind) { words.push_back({kind, script.substr(at, end - at), at}); };
    end = at + 1;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    if (rest.starts_with("//")) {
      end = behind(script, "\n", at);
    } else if (rest.starts_with("/*")) {
      end = behind(script, "*/", at + 2);
    } else if (c == '"' || c == '\'') {
      const std::size_t close = std::min(script.find(c, at + 1), script.size());
      words.push_back({Kind::quoted, script.substr(at + 1, close - at - 1), at});
      end = std::min(close + 1, script.size());
    } else if (begins_name(c)) {
      while (end < script.size() && (begins_name(script[end]) || is_digit(script[end]))) ++end;
      add(Kind::name);
    } else if (is_digit(c) || (c == '.' && rest.size() > 1 && is_digit(rest[1]))) {
      end = end_of_number(script, at);
      add(Kind::number);
    } else {
      add(Kind::mark);
    }
  }
  return words;
}

std::string_view first_open_name(std::string_view script) { return Script(script).first_open_name(); }

}  // namespace femcg::mesh
