#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mesh/box/box.hpp"
#include "mesh/gmsh/gmsh_reader.hpp"
#include "operators/backend/device.hpp"
#include "operators/distributed/messages/exchange_mode.hpp"
#include "solver/coefficients/problem_data.hpp"
#include "solver/krylov/cg_choice.hpp"

namespace femcg::solver {

/// A named item with the options that the user gave it, all as text; the item reads and checks them.
struct NamedChoice {
  std::string name;
  std::map<std::string, std::string> options;
  Place place;
};
using OperatorChoice = NamedChoice;
using PreconditionerChoice = NamedChoice;

/// Name that stands for the operator expected to be the fastest.
constexpr std::string_view automatic_operator = "auto";
inline bool is_automatic(const OperatorChoice& op) { return op.name == automatic_operator; }

/// Mixed: products and vectors in single precision, the accumulated solution and its residual in double.
enum class Precision { single, double_, mixed };
constexpr Precision of_products(Precision precision) {
  return precision == Precision::mixed ? Precision::single : precision;
}
enum class CellOrder { automatic, natural, curve };
/// Timing trials of other options of the operator during a run's first products.
enum class Tune { automatic, on, off };
std::string_view name(Tune tune);

struct MeshChoice {
  std::variant<mesh::BoxOptions, mesh::GmshOptions> source;
  std::optional<std::int64_t> box_dofs;          ///< number that a box was given by, if not by its cells
  int refine = 0;                                ///< uniform refinements; GmshOptions::refine is the same number
  std::map<std::string, Expression> conditions;  ///< of the file's groups with a condition (GroupRule::where), as text
  bool cache = true;                             ///< true if the mesh of a geometry file is cached for later runs
  bool axisymmetric = false;                     ///< mesh::Mesh::axisymmetric
  CellOrder cell_order = CellOrder::automatic;  ///< automatic: as generated for a box, along a Hilbert curve for a file
  Place place;
};

/// Value of solver.initial in place of a folder.
inline constexpr std::string_view full_multigrid_start = "full-multigrid";

struct SolverChoice {
  OperatorChoice op{std::string(automatic_operator), {}, {}};
  PreconditionerChoice preconditioner{"auto", {}, {}};
  Precision precision = Precision::double_;
  std::string device = "auto";  ///< auto, cpu, cuda, or cuda:1 with the number of a GPU
  double tolerance = 1e-8;      ///< on |b - A u| / |b|; in run also on the energy of the error
  std::int64_t max_iterations = 10000;
  std::filesystem::path initial;  ///< results folder of another run, whose solution is the initial guess; empty: 0
  bool full_multigrid = false;    ///< the initial guess is multigrid's own approximation
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  Tune tune = Tune::automatic;
  Place initial_place, precision_place, method_place, loop_place;
};

/// automatic: blocks for a box that keeps its cell order, else segments of a curve.
enum class Partition { automatic, blocks, curve, metis };
std::string_view name(Partition partition);

/// Distribution of a case over several processes (mpirun); no effect with one.
struct DistributionChoice {
  Partition partition = Partition::automatic;
  operators::ExchangeMode mode = operators::ExchangeMode::automatic;
  int processes_per_gpu = 1;  ///< at most
  Place partition_place, mode_place, gpus_place;
};

/// Name and unit of the solution in output for people.
struct SolutionLabel {
  std::string name = "u";
  std::string unit;  ///< as printed; may be empty
};

/// Fields of solution.vtu. Gradient and flux -diffusion grad u are computed in each cell and jump between cells;
/// recovered fields are continuous within a region.
enum class OutputField { u, gradient, flux, recovered_gradient, recovered_flux };
inline constexpr std::array all_output_fields{OutputField::u, OutputField::gradient, OutputField::flux,
                                              OutputField::recovered_gradient, OutputField::recovered_flux};
std::string_view name(OutputField field);

/// Selection of the cells in .vtu files: those of the named regions (all if none is named) whose centre, the mean of
/// their vertices, lies within the bounds.
struct OutputSubset {
  static constexpr double no_bound = std::numeric_limits<double>::infinity();
  std::vector<std::string> regions;
  std::array<double, 3> min{-no_bound, -no_bound, -no_bound}, max{no_bound, no_bound, no_bound};
  Place regions_place, place;

  bool is_bounded() const { return min != OutputSubset().min || max != OutputSubset().max; }
  bool has_all() const { return regions.empty() && !is_bounded(); }
};

struct OutputChoice {
  std::filesystem::path directory;
  bool vtu = true;
  std::optional<int> degree;  ///< of the cells in .vtu files; at most, and by default, the solution's
  OutputSubset subset;
  std::vector<OutputField> fields{OutputField::u};  ///< of solution.vtu, each once
  bool boundary = false;                            ///< boundary.vtu, and the names of regions and groups in both
  bool picture = false;                             ///< solution.png, drawn by femcg-plot
  bool system = false;                              ///< system.mtx and load.mtx: A and b
  std::vector<Probe> probes;
  bool points = false;  ///< true if every point of a study has a results folder of its own
};

/// A key that takes several values in one comparison or study: a key of the case (degree, precision, mesh.refine, ...)
/// or, in a comparison, an option of operators.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  ///< YAML
  Place place;
};

struct CompareChoice {
  std::vector<OperatorChoice> operators;
  bool all_operators = false;        ///< operators that do not apply are omitted, instead of shown with the reason
  std::vector<std::string> devices;  ///< auto, cpu, cuda, cuda:1
  std::vector<SweepAxis> sweep;      ///< every combination is compared
  int iterations = 200;
  int repetitions = 5;
  std::vector<int> right_hand_sides{1};  ///< right-hand sides at once, ascending; begins with 1, the baseline
  Place right_hand_sides_place;
};

/// A case file with every default filled in.
struct Case {
  std::filesystem::path file;
  std::string name;                                      ///< the file's stem
  std::vector<std::pair<std::string, std::string>> set;  ///< key and value of each --set that wins over the file
  std::string title;
  std::vector<std::filesystem::path> plugins;  ///< all loaded ones, with absolute paths
  SolutionLabel solution;
  MeshChoice mesh;
  int degree = 1;
  ProblemData problem;
  SolverChoice solver;
  DistributionChoice distribution;
  OutputChoice output;
  CompareChoice compare;
  std::vector<SweepAxis> sweep;  ///< of femcg run: every combination is solved
};

/// A value from the command line or a sweep that overrides the file's.
struct Override {
  std::string key;       ///< dotted path, e.g. mesh.box.cells
  std::string value;     ///< YAML
  Place place{};         ///< for messages; empty: "--set <key>"
  bool literal = false;  ///< the value is plain text, not YAML
};

/// Reads and checks a case file. Throws InputError with every problem found, including unknown names of operators and
/// preconditioners, each with line and column and the nearest known key.
Case read_case(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// A case made only from overrides of `mesh` and `output`; mesh.file is relative to the current folder and gives the
/// case its name. Throws like read_case.
Case read_mesh_case(const std::vector<Override>& overrides);

/// Section `compare` of an empty case with these overrides and defaults. Throws like read_case.
CompareChoice read_compare_choice(const std::vector<Override>& overrides);

/// The case as YAML with every default written out; read_case of the result gives the same case.
std::string to_yaml(const Case& resolved);
/// The options that determine the mesh of a file, as YAML, with the file name reduced to its extension.
std::string mesh_options_text(const MeshChoice& mesh);

}  // namespace femcg::solver
