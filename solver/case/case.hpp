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

/// Something by name, with the options that the user gave it (all as text; what is named reads and checks them).
struct NamedChoice {
  std::string name;
  std::map<std::string, std::string> options;
  Place place;
};
using OperatorChoice = NamedChoice;
using PreconditionerChoice = NamedChoice;

/// Stands for the operator that is expected to be the fastest.
constexpr std::string_view automatic_operator = "auto";
inline bool is_automatic(const OperatorChoice& op) { return op.name == automatic_operator; }

/// Mixed: products and vectors in single precision, what they add up to and its residual in double.
enum class Precision { single, double_, mixed };
constexpr Precision of_products(Precision precision) {
  return precision == Precision::mixed ? Precision::single : precision;
}
enum class CellOrder { automatic, natural, curve };
/// Timing trials of other options of the operator in a run's first products.
enum class Tune { automatic, on, off };
std::string_view name(Tune tune);

struct MeshChoice {
  std::variant<mesh::BoxOptions, mesh::GmshOptions> source;
  std::optional<std::int64_t> box_dofs;          ///< what a box was given by, where not by its cells
  int refine = 0;                                ///< uniform refinements; GmshOptions::refine is the same number
  std::map<std::string, Expression> conditions;  ///< of the groups of a file that have one (GroupRule::where), as text
  bool cache = true;                             ///< whether the mesh of a geometry file is kept for later runs
  CellOrder cell_order = CellOrder::automatic;  ///< automatic: as generated for a box, along a Hilbert curve for a file
  Place place;
};

/// In the place of the folder of solver.initial.
inline constexpr std::string_view full_multigrid_start = "full-multigrid";

struct SolverChoice {
  OperatorChoice op{std::string(automatic_operator), {}, {}};
  PreconditionerChoice preconditioner{"auto", {}, {}};
  Precision precision = Precision::double_;
  std::string device = "auto";  ///< auto, cpu, cuda, or cuda:1 by the number of a GPU
  double tolerance = 1e-8;      ///< on |b - A u| / |b|; in run on the energy of the error, too
  std::int64_t max_iterations = 10000;
  std::filesystem::path initial;  ///< the results of another run, whose solution CG begins from; empty: from 0
  bool full_multigrid = false;    ///< CG begins from multigrid's own approximation
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  Tune tune = Tune::automatic;
  Place initial_place, precision_place, method_place, loop_place;
};

/// automatic: blocks of a box whose cells keep their order, else pieces of a curve.
enum class Partition { automatic, blocks, curve, metis };
std::string_view name(Partition partition);

/// How several processes share a case (mpirun); of no effect with one.
struct DistributionChoice {
  Partition partition = Partition::automatic;
  operators::ExchangeMode mode = operators::ExchangeMode::automatic;
  int processes_per_gpu = 1;  ///< at most
  Place partition_place, mode_place, gpus_place;
};

/// Name and unit of the solution in what people read.
struct SolutionLabel {
  std::string name = "u";
  std::string unit;  ///< as it is printed; may be empty
};

/// Fields of solution.vtu. Gradient and flux -diffusion grad u are computed in each cell and jump between cells;
/// recovered ones are continuous within a region.
enum class OutputField { u, gradient, flux, recovered_gradient, recovered_flux };
inline constexpr std::array all_output_fields{OutputField::u, OutputField::gradient, OutputField::flux,
                                              OutputField::recovered_gradient, OutputField::recovered_flux};
std::string_view name(OutputField field);

/// The cells that .vtu files have: those of some regions, or of all where none is named, whose centre, the mean of
/// their vertices, lies within bounds.
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
  std::optional<int> degree;  ///< of the cells in .vtu files, at most the solution's, which it is by default
  OutputSubset subset;
  std::vector<OutputField> fields{OutputField::u};  ///< of solution.vtu, each once
  bool boundary = false;                            ///< boundary.vtu, and the names of regions and groups in both
  bool picture = false;                             ///< solution.png, drawn by femcg-plot
  bool system = false;                              ///< system.mtx and load.mtx: A and b
  std::vector<Probe> probes;
  bool points = false;  ///< whether every point of a study has a results folder of its own
};

/// A key that takes several values in one comparison or study: of the case (degree, precision, mesh.refine, ...), or,
/// in a comparison, an option of operators.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  ///< YAML
  Place place;
};

struct CompareChoice {
  std::vector<OperatorChoice> operators;
  bool all_operators = false;        ///< those that do not apply are left out, rather than shown with the reason
  std::vector<std::string> devices;  ///< auto, cpu, cuda, cuda:1
  std::vector<SweepAxis> sweep;      ///< every combination is compared
  int iterations = 200;
  int repetitions = 5;
  std::vector<int> right_hand_sides{1};  ///< how many at once, ascending; 1, which the others are held against, first
  Place right_hand_sides_place;
};

/// A case file with every default filled in.
struct Case {
  std::filesystem::path file;
  std::string name;                                      ///< the file's stem
  std::vector<std::pair<std::string, std::string>> set;  ///< key and value of each --set that wins over the file
  std::string title;
  std::vector<std::filesystem::path> plugins;  ///< all that are loaded, with their whole paths
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
  bool literal = false;  ///< the value is a text as it stands, not YAML
};

/// Reads and checks a case file. Throws InputError with every problem found, each with line and column and the nearest
/// known key; unknown names of operators and preconditioners included.
Case read_case(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// A case of nothing but what the overrides say of `mesh` and `output`; mesh.file is relative to the current folder,
/// and gives the case its name. Throws as read_case does.
Case read_mesh_case(const std::vector<Override>& overrides);

/// The section `compare` of an empty case: what the overrides say, and defaults. Throws as read_case does.
CompareChoice read_compare_choice(const std::vector<Override>& overrides);

/// The case as YAML with every default written out; read_case of it gives the same case.
std::string to_yaml(const Case& resolved);
/// The same of what the mesh of a file is made by, but for the file's name: its ending alone.
std::string mesh_options_text(const MeshChoice& mesh);

}  // namespace femcg::solver
