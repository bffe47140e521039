// The program: reads the command line, runs the command, and converts exceptions to exit statuses.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <sstream>
#include <system_error>

#include "mesh/base/retained_pages.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "operators/backend/memory.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/plugins/plugins.hpp"
#include "solver/case/case.hpp"
#include "solver/case/case_schema.hpp"
#include "solver/compare/compare.hpp"
#include "solver/inspection/inspect.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/predict/evaluate.hpp"
#include "solver/predict/predict.hpp"
#include "solver/predict/predict_scaling.hpp"
#include "solver/report/stored_report.hpp"
#include "solver/run/run.hpp"
#include "solver/run/study.hpp"
#include "solver/tuning/cached_tuning.hpp"
#include "tools/command_reference.hpp"
#include "tools/commands.hpp"
#include "tools/threads.hpp"

namespace {

namespace fs = std::filesystem;

using femcg::operators::Communicator;
using femcg::solver::ExitStatus;
using femcg::solver::InputError;
using femcg::solver::Override;
using femcg::solver::print;

volatile std::sig_atomic_t interrupted = 0, heeded = 0;

/// Polled by loops; true if they should end.
bool stop_requested() {
  heeded = 1;
  return interrupted != 0;
}

/// Ctrl-C, the request of a batch system to end (SIGTERM) and closing the terminal ask the loops to end. A second
/// Ctrl-C or SIGTERM has the system's default effect, and so has the first before any loop has polled: nothing is worth
/// storing yet, and a pipe without writer, or Gmsh, may block forever. A shell that is closed with its terminal sends
/// SIGHUP again.
void stop_on_request() {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int signal) {
    interrupted = 1;
    if (heeded != 0) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    action.sa_flags = SA_RESTART | (signal == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND));
    sigaction(signal, &action, &before);
    // nohup ignores SIGHUP. A script ignores SIGINT in background jobs, which may still receive it by kill.
    if (signal != SIGINT && before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
  }
}

struct CommandLine {
  std::string case_file;
  std::string topic, case_name, shell;
  std::vector<std::string> sets, plugins;
  std::optional<std::string> op, device, threads, output;
  std::optional<std::string> operators, iterations, repetitions, right_hand_sides, baseline;  // compare and matrix
  std::string matrix_file, precision = "double", order = "given";                             // matrix
  std::string mesh_file;                                                                      // mesh
  std::optional<std::string> size, order_of_cells, unit;                                      // mesh
  std::vector<std::string> comparison_files;                                                  // report
  std::vector<std::string> predicted_files;                                                   // predict
  std::optional<std::string> evaluation;                                                      // predict
  std::optional<std::string> processes;                                                       // predict
  std::optional<std::string> predicted_precision;
  std::vector<std::string> preconditioners;  // matrix
  std::optional<std::string> training_seconds;
  bool quiet = false, no_progress = false, measure = false, train = false, tuning = false;
};

/// Adds the options of every command that runs for a while.
void add_common_options(CLI::App& command, CommandLine& line) {
  command.add_option("--threads", line.threads, "threads on the CPU (default: as many as it has)")->type_name("N");
  command.add_option("--output", line.output, "folder for the results, relative to the current one")->type_name("DIR");
  command.add_flag("--quiet", line.quiet, "no summary and no progress");
  command.add_flag("--no-progress", line.no_progress, "say nothing of how far it is");
}

void add_set_option(CLI::App& command, CommandLine& line) {
  command.add_option("--set", line.sets, "KEY.PATH=VALUE wins over the file, e.g. --set mesh.box.cells=[128,128]")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_plugin_option(CLI::App& command, CommandLine& line) {
  command.add_option("--plugin", line.plugins, "a shared library with operators of your own; can be repeated")
      ->type_name("FILE.so")
      ->allow_extra_args(false);
}

void load_plugins(const CommandLine& line) try {
  for (const std::string& file : line.plugins) femcg::operators::load_plugin(file);
} catch (const femcg::operators::PluginError& error) {
  throw InputError(error.what());
}

void add_case_options(CLI::App& command, CommandLine& line) {
  command.add_option("CASE", line.case_file, "case file (YAML)");
  add_set_option(command, line);
  command.add_option("--operator", line.op, "one operator; see femcg list operators")->type_name("NAME");
  add_common_options(command, line);
}

/// Adds the options that compare and matrix share.
void add_comparison_options(CLI::App& command, CommandLine& line) {
  command
      .add_option("--operators", line.operators,
                  "all, or names with commas between: csr,sell; see femcg list operators")
      ->type_name("LIST");
  command.add_option("--device", line.device, "auto, cpu, cuda, or several: cpu,cuda; cuda:1 for a GPU by its number")
      ->type_name("LIST");
  command
      .add_option("--iterations", line.iterations,
                  "CG iterations timed, with no test of convergence (default: the case's, or 200)")
      ->type_name("N");
  command
      .add_option("--repetitions", line.repetitions, "times that each is measured, in turn (default: the case's, or 5)")
      ->type_name("R");
  command
      .add_option("--right-hand-sides", line.right_hand_sides,
                  "multiply and solve for that many at once, 32 at most, and for one: 8, or several: 4,8,32")
      ->type_name("LIST");
  command.add_option("--baseline", line.baseline, "an earlier compare.json: says what became faster or slower")
      ->type_name("FILE");
}

void add_matrix_options(CLI::App& command, CommandLine& line) {
  command.add_option("FILE", line.matrix_file, "matrix in the Matrix Market format (.mtx)");
  add_comparison_options(command, line);
  command.add_option("--precision", line.precision, "double, single, or both: single,double (default double)")
      ->type_name("LIST");
  command
      .add_option("--preconditioners", line.preconditioners,
                  "solve with each besides, and rank by the time to the solution: jacobi,boomeramg (default: none)")
      ->type_name("LIST")
      ->delimiter(',');
  command.add_option("--order", line.order, "given, or reverse-cuthill-mckee (default given)")->type_name("NAME");
  add_common_options(command, line);
}

void add_mesh_options(CLI::App& command, CommandLine& line) {
  command.add_option("FILE", line.mesh_file, "mesh (.msh, .inp, .bdf, .unv), geometry (.geo, .step, .brep, .iges) or case (.yaml)");
  command.add_option("--size", line.size, "mesh.size: of a cell, for geometry")->type_name("LENGTH");
  command.add_option("--order", line.order_of_cells, "mesh.order: geometric order of the cells, for geometry")
      ->type_name("N");
  command
      .add_option("--unit", line.unit, "mesh.unit: of the file's coordinates: m, mm, cm, in, ...; see cases/case_file.md")
      ->type_name("NAME");
  add_set_option(command, line);
  add_common_options(command, line);
}

void add_predict_options(CLI::App& command, CommandLine& line) {
  command.add_option("FILE", line.predicted_files, "case (.yaml), or matrix in the Matrix Market format (.mtx)");
  add_set_option(command, line);
  command.add_option("--operator", line.op, "one operator (default all); see femcg list operators")->type_name("NAME");
  command.add_option("--device", line.device, "auto, cpu, cuda, or cuda:1 for a GPU by its number")->type_name("NAME");
  command.add_option("--precision", line.predicted_precision, "of a matrix: double or single (default double)")
      ->type_name("NAME");
  command
      .add_option("--right-hand-sides", line.right_hand_sides,
                  "that many at once, 32 at most (default: the loads of the case, of a matrix 1)")
      ->type_name("K");
  command
      .add_option("--processes", line.processes,
                  "of the case on so many processes, instead: 2,8,64; started by mpirun, which measures messages")
      ->type_name("LIST");
  command.add_flag("--measure", line.measure, "measure too, and show how far each prediction is off");
  command.add_flag("--train", line.train,
                   "measure benchmark matrices first and keep a model of this device; FILE may be left out");
  command
      .add_option("--evaluate", line.evaluation,
                  "predict and measure matrices that no model was trained on, and each FILE; writes all numbers there")
      ->type_name("OUT.json");
  command
      .add_option("--training-seconds", line.training_seconds,
                  "that measuring matrices may take, and three times as long for boxes (default 75)")
      ->type_name("S");
  command.add_option("--threads", line.threads, "threads on the CPU (default: as many as it has)")->type_name("N");
  command.add_flag("--no-progress", line.no_progress, "say nothing of how far it is");
}

void add_report_options(CLI::App& command, CommandLine& line) {
  command.add_option("FILE", line.comparison_files, "compare.json, one or several")->type_name("...");
  command.add_option("--output", line.output, "the page (default: report.html beside the first file)")
      ->type_name("FILE");
  command.add_flag("--quiet", line.quiet, "say nothing");
}

/// "a,b" as a YAML list; "all" and lists are unchanged.
std::string as_list(const std::string& text) {
  return text == "all" || text.starts_with("[") ? text : "[" + text + "]";
}

std::vector<Override> comparison_overrides(const CommandLine& line) {
  std::vector<Override> list;
  if (line.op) list.push_back({"compare.operators", as_list(*line.op), "--operator"});
  if (line.operators) list.push_back({"compare.operators", as_list(*line.operators), "--operators"});
  if (line.device) list.push_back({"compare.devices", as_list(*line.device), "--device"});
  if (line.iterations) list.push_back({"compare.iterations", *line.iterations, "--iterations"});
  if (line.repetitions) list.push_back({"compare.repetitions", *line.repetitions, "--repetitions"});
  if (line.right_hand_sides)
    list.push_back({"compare.right_hand_sides", as_list(*line.right_hand_sides), "--right-hand-sides"});
  return list;
}

std::vector<Override> case_overrides(const CommandLine& line, bool comparing) {
  std::vector<Override> list;
  if (comparing) list = comparison_overrides(line);
  if (line.op && !comparing) list.push_back({"solver.operator", *line.op, "--operator"});
  if (line.device && !comparing) list.push_back({"solver.device", *line.device, "--device", true});
  if (line.size) list.push_back({"mesh.size", *line.size, "--size"});
  if (line.unit) list.push_back({"mesh.unit", *line.unit, "--unit"});
  if (line.order_of_cells) list.push_back({"mesh.order", *line.order_of_cells, "--order"});
  if (line.output) list.push_back({"output.directory", *line.output, "--output", true});
  for (const std::string& set : line.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos)
      throw InputError("--set: " + femcg::solver::in_quotes(set) + " has no '='; write --set key.path=value");
    list.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return list;
}

/// Throws if an argument on the command line has no meaning.
void check_leftovers(const CLI::App& app) {
  const auto selected = app.get_subcommands();
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  const CLI::App& command = selected.empty() ? app : *selected.front();

  for (const std::string& rest : app.remaining(true)) {
    if (rest.starts_with("-") && rest != "--") {
      const std::string option = rest.substr(0, rest.find('='));
      std::vector<std::string> known;
      for (const CLI::Option* each : command.get_options())
        if (!each->get_lnames().empty()) known.push_back("--" + each->get_lnames().front());
      throw InputError("unknown option " + femcg::solver::in_quotes(option) +
                       femcg::solver::did_you_mean(option, known));
    }
    if (selected.empty())
      throw InputError("unknown command " + femcg::solver::in_quotes(rest) +
                       femcg::solver::did_you_mean(rest, commands));
    throw InputError("one argument too many: " + femcg::solver::in_quotes(rest));
  }
  if (selected.empty())
    throw InputError("a command is missing: " + femcg::solver::alternatives(commands) + "; see femcg --help");
}

femcg::solver::Console console_of(const CommandLine& line) {
  return {.progress = !line.quiet && !line.no_progress, .quiet = line.quiet};
}

void require_case(const CommandLine& line, std::string_view command) {
  if (line.case_file.empty())
    throw InputError(fmt::format("a case file is missing, such as femcg {} CASE.yaml", command));
}

const Communicator& or_alone(const Communicator* processes) {
  return processes != nullptr ? *processes : Communicator::alone();
}

/// `processes` is null on one process.
ExitStatus run_or_check(bool solve, const CommandLine& line, const Communicator* processes) {
  require_case(line, solve ? "run" : "check");
  const femcg::solver::Case resolved = femcg::solver::read_case(line.case_file, case_overrides(line, false));
  if (!resolved.sweep.empty()) {
    const auto points = femcg::solver::expand_study(resolved, case_overrides(line, false));
    if (solve) return femcg::solver::run_study(resolved, points, console_of(line), stop_requested, or_alone(processes));
  }
  if (solve) return femcg::solver::run(resolved, console_of(line), stop_requested, or_alone(processes));
  const std::string memory = femcg::solver::check(resolved, console_of(line));
  if (!line.quiet) print(femcg::solver::to_yaml(resolved) + memory);
  return ExitStatus::done;
}

ExitStatus inspect_mesh(const CommandLine& line) {
  if (line.mesh_file.empty()) throw InputError("a file is missing, such as femcg mesh part.step");
  std::vector<Override> overrides = case_overrides(line, false);
  const fs::path suffix = fs::path(line.mesh_file).extension();
  if (suffix == ".yaml" || suffix == ".yml")
    return femcg::solver::inspect_mesh(femcg::solver::read_case(line.mesh_file, overrides), console_of(line));
  if (const std::string why = femcg::mesh::why_unreadable(line.mesh_file); !why.empty())
    throw InputError(line.mesh_file + ": " + why);
  overrides.insert(overrides.begin(), {"mesh.file", line.mesh_file, line.mesh_file, true});
  return femcg::solver::inspect_mesh(femcg::solver::read_mesh_case(overrides), console_of(line));
}

std::optional<femcg::solver::Baseline> baseline_of(const CommandLine& line) {
  return line.baseline ? std::optional<femcg::solver::Baseline>(std::in_place, *line.baseline) : std::nullopt;
}

ExitStatus compare(const CommandLine& line, const Communicator& processes) {
  require_case(line, "compare");
  const auto points = femcg::solver::expand_sweep(line.case_file, case_overrides(line, true));
  return femcg::solver::compare(points, baseline_of(line), console_of(line), stop_requested, processes);
}

std::vector<femcg::solver::Precision> precisions_of(const std::string& text) {
  using femcg::solver::Precision;
  if (text == "double") return {Precision::double_};
  if (text == "single") return {Precision::single};
  if (text == "single,double" || text == "double,single") return {Precision::single, Precision::double_};
  throw InputError("--precision must be double, single or single,double, not " + femcg::solver::in_quotes(text));
}

ExitStatus compare_matrix(const CommandLine& line, const Communicator& processes) {
  if (line.matrix_file.empty()) throw InputError("a matrix is missing, such as femcg matrix FILE.mtx");
  femcg::solver::MatrixChoice choice;
  choice.file = line.matrix_file;
  choice.compare = femcg::solver::read_compare_choice(comparison_overrides(line));
  choice.precisions = precisions_of(line.precision);
  if (line.order != "given" && line.order != "reverse-cuthill-mckee")
    throw InputError("--order must be given or reverse-cuthill-mckee, not " + femcg::solver::in_quotes(line.order));
  choice.reorder = line.order != "given";
  for (const std::string& name : line.preconditioners)
    if (femcg::solver::find_preconditioner(name) == nullptr)
      throw InputError("--preconditioners: " + femcg::solver::in_quotes(name) +
                       " is none of femcg list preconditioners");
  choice.preconditioners = line.preconditioners;
  choice.directory = line.output ? fs::path(*line.output) : fs::path("results") / choice.file.stem();
  return femcg::solver::compare_matrix(choice, baseline_of(line), console_of(line), stop_requested, processes);
}

/// Options of predict that cases and matrices share, parsed like those of a comparison.
femcg::solver::PredictChoice predict_choice(const CommandLine& line) {
  CommandLine asked;
  asked.op = line.op == std::string(femcg::solver::automatic_operator) ? std::nullopt : line.op;
  asked.device = line.device;
  asked.right_hand_sides = line.right_hand_sides;
  const femcg::solver::CompareChoice read = femcg::solver::read_compare_choice(comparison_overrides(asked));
  if (read.devices.size() != 1 || read.right_hand_sides.size() > 2)
    throw InputError("femcg predict takes one device and one number of right-hand sides");
  femcg::solver::PredictChoice choice;
  if (asked.op) choice.operators = read.operators;
  choice.device = read.devices.front();
  if (asked.right_hand_sides) choice.right_hand_sides = read.right_hand_sides.back();
  choice.measure = line.measure;
  return choice;
}

ExitStatus train(const CommandLine& line, const std::string& device) {
  femcg::solver::TrainChoice choice;
  choice.device = device;
  if (line.predicted_precision) choice.precisions = precisions_of(*line.predicted_precision);
  if (line.training_seconds) {
    double seconds = 0;
    const char* end = line.training_seconds->data() + line.training_seconds->size();
    const auto [rest, error] = std::from_chars(line.training_seconds->data(), end, seconds);
    if (error != std::errc() || rest != end || !(seconds > 0 && seconds <= 3600))
      throw InputError("--training-seconds must be a number from 0 to 3600, not " +
                       femcg::solver::in_quotes(*line.training_seconds));
    choice.seconds = seconds;
  }
  return femcg::solver::train(choice, console_of(line), stop_requested);
}

ExitStatus evaluate(const CommandLine& line, const std::string& device) {
  if (!line.sets.empty() || line.op || line.right_hand_sides)
    throw InputError("--evaluate takes no --set, no --operator and no --right-hand-sides");
  femcg::solver::EvaluationChoice choice;
  choice.file = *line.evaluation;
  choice.more.assign(line.predicted_files.begin(), line.predicted_files.end());
  choice.device = device;
  const auto precisions = precisions_of(line.predicted_precision.value_or("double"));
  if (precisions.size() != 1) throw InputError("--precision must be double or single for --evaluate");
  choice.precision = precisions.front();
  return femcg::solver::evaluate(choice, console_of(line), stop_requested);
}

/// Numbers of processes in a text "2,8,64".
std::vector<int> processes_of(const std::string& text) {
  constexpr int most = 1 << 20;
  std::vector<int> numbers;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    int number = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (error != std::errc() || end != item.data() + item.size() || number < 1 || number > most)
      throw InputError(fmt::format("--processes must be whole numbers from 1 to {} with commas between, not {}", most,
                                   femcg::solver::in_quotes(text)));
    numbers.push_back(number);
  }
  if (numbers.empty()) throw InputError("--processes must be whole numbers with commas between, such as 2,8,64");
  return numbers;
}

/// Predicts the times of a case on several processes.
ExitStatus predict_scaling(const CommandLine& line, const Communicator* processes) {
  const std::vector<int> numbers = processes_of(*line.processes);
  if (line.measure || line.right_hand_sides || line.predicted_precision || line.train || line.evaluation)
    throw InputError("--processes is of one right-hand side, predicted: leave out the other options");
  if (processes == nullptr)
    throw InputError(
        "--processes needs the time of messages between processes: start mpirun -n 2 femcg predict CASE.yaml "
        "--processes LIST");
  return femcg::solver::predict_scaling(
      femcg::solver::read_case(line.predicted_files.front(), case_overrides(line, false)), numbers, console_of(line),
      *processes);
}

ExitStatus predict(const CommandLine& line, const Communicator* processes) {
  const bool needs_no_file = line.train || line.evaluation;
  if (line.predicted_files.empty() && !needs_no_file)
    throw InputError("a file is missing, such as femcg predict CASE.yaml or femcg predict FILE.mtx");
  if (line.training_seconds && !line.train) throw InputError("--training-seconds goes with --train");
  if (line.predicted_files.size() > 1 && !line.evaluation)
    throw InputError("one argument too many: " + femcg::solver::in_quotes(line.predicted_files[1]));
  if (line.processes) return predict_scaling(line, processes);
  femcg::solver::PredictChoice choice = predict_choice(line);
  if (line.train)
    if (const ExitStatus status = train(line, choice.device); status != ExitStatus::done) return status;
  if (line.evaluation) return evaluate(line, choice.device);
  if (line.predicted_files.empty()) return ExitStatus::done;
  const std::string& file = line.predicted_files.front();
  const fs::path suffix = fs::path(file).extension();
  if (suffix != ".yaml" && suffix != ".yml") {
    if (!line.sets.empty()) throw InputError("--set is for cases, and " + file + " is a matrix");
    const auto precisions = precisions_of(line.predicted_precision.value_or("double"));
    if (precisions.size() != 1) throw InputError("--precision must be double or single for femcg predict");
    return femcg::solver::predict_matrix(file, precisions.front(), choice, console_of(line), stop_requested);
  }
  if (line.predicted_precision)
    throw InputError("--precision is for matrices; for a case use --set solver.precision=single");
  const femcg::solver::Case resolved = femcg::solver::read_case(file, case_overrides(line, false));
  choice.device = resolved.solver.device;
  if (line.op && !is_automatic(resolved.solver.op)) choice.operators = {resolved.solver.op};
  return femcg::solver::predict(resolved, choice, console_of(line), stop_requested);
}

ExitStatus report(const CommandLine& line) {
  if (line.comparison_files.empty()) throw InputError("a comparison is missing, such as femcg report compare.json");
  femcg::solver::report({line.comparison_files.begin(), line.comparison_files.end()}, line.output.value_or(""),
                        console_of(line));
  return ExitStatus::done;
}

/// Throws InputError if the processes cannot connect.
void join(std::optional<Communicator>& processes) {
  try {
    processes.emplace();
  } catch (const std::invalid_argument& error) {
    throw InputError(error.what());
  }
}

/// Connects several processes, for the commands that support them; called when the program is no longer restarted.
void join_processes(bool running, std::optional<Communicator>& processes) {
  if (Communicator::started() == 1) return;
  if (Communicator::available()) join(processes);
  if (!Communicator::available() || !running)
    throw InputError(fmt::format("{} processes were started together, and {}: start one", Communicator::started(),
                                 running ? "this femcg was built without MPI"
                                         : "only femcg run, compare, matrix and predict --processes take several"));
}

ExitStatus execute(int argc, char** argv, std::optional<Communicator>& processes) {
  CommandLine line;
  CLI::App app(
      "Conjugate gradients for finite elements, with a pluggable operator.\n\n"
      "Exit status: 0 done and converged, 1 not converged or operators disagree, 2 the input is wrong, 3 the machine "
      "failed.",
      "femcg");
  CLI::App& run = *app.add_subcommand("run", "solve a case, print a summary and write a results folder");
  CLI::App& compare_case = *app.add_subcommand(
      "compare", "check and time operators against each other on one case; write tables and a report");
  CLI::App& matrix = *app.add_subcommand(
      "matrix", "check and time operators against each other on a matrix from a file, with no mesh");
  CLI::App& predict_times = *app.add_subcommand(
      "predict", "show what operators are expected to take, without trying, or beside measurements");
  CLI::App& report_page = *app.add_subcommand(
      "report", "make the page of comparisons from their compare.json, or of runs from their result.json");
  CLI::App& mesh = *app.add_subcommand("mesh", "show what is in a mesh or geometry: regions, faces, quality, groups");
  CLI::App& check = *app.add_subcommand("check", "validate a case without solving; print it with every default");
  CLI::App& list = *app.add_subcommand("list", "show what this build offers");
  CLI::App& info = *app.add_subcommand("info", "show version, build, threads, devices and the copy bandwidth kept");
  CLI::App& init = *app.add_subcommand("init", "write a case to start from, with comments");
  CLI::App& schema = *app.add_subcommand("schema", "print the JSON Schema of case files, for editors");
  CLI::App& completion = *app.add_subcommand("completion", "print what completes the command line in a shell");
  CLI::App& manual = *app.add_subcommand("manual", "print the manual page, for man -l -");
  add_case_options(run, line);
  add_case_options(compare_case, line);
  add_comparison_options(compare_case, line);
  add_matrix_options(matrix, line);
  add_predict_options(predict_times, line);
  add_report_options(report_page, line);
  add_mesh_options(mesh, line);
  add_case_options(check, line);
  info.add_flag("--measure", line.measure, "measure the copy bandwidth, and keep it for later runs");
  info.add_flag("--tuning", line.tuning, "show the options of operators that tuning found and keeps (solver.tune)");
  for (CLI::App* each : {&run, &compare_case, &matrix, &check, &list}) add_plugin_option(*each, line);
  for (CLI::App* each : {&run, &check})
    each->add_option("--device", line.device, "solver.device: auto, cpu, cuda, or cuda:1 for a GPU by its number")
        ->type_name("NAME");
  list.add_option("TOPIC", line.topic, femcg::solver::alternatives(femcg::tools::list_topics()) + "; default all");
  init.add_option("NAME", line.case_name, "of the case, or a geometry or mesh that it is to be of; default case");
  completion.add_option("SHELL", line.shell, femcg::solver::alternatives(femcg::tools::completion_shells()));
  for (CLI::App* each : {&app, &run, &compare_case, &matrix, &predict_times, &report_page, &mesh, &check, &list, &info,
                         &init, &schema, &completion, &manual}) {
    each->set_version_flag("--version", femcg::tools::version(), "print the version");
    each->allow_extras();  // reported by this program, with the nearest known name
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return ExitStatus::done;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return ExitStatus::done;
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
  check_leftovers(app);
  femcg::tools::choose_threads(line.threads);
  if (run || compare_case || matrix || predict_times) femcg::tools::note_binding();
  join_processes(run || compare_case || matrix || line.processes, processes);
  load_plugins(line);
  const Communicator* joined = processes ? &*processes : nullptr;
  const Communicator& all = processes ? *processes : Communicator::alone();
  if (compare_case) return compare(line, all);
  if (matrix) return compare_matrix(line, all);
  if (predict_times) return predict(line, joined);
  if (report_page) return report(line);
  if (mesh) return inspect_mesh(line);
  if (info) print(line.tuning ? femcg::solver::cached_tuning_text() : femcg::tools::info(line.measure));
  if (init) print(femcg::tools::init(line.case_name));
  if (completion) print(femcg::tools::completion(femcg::tools::command_reference(app), line.shell));
  if (manual) print(femcg::tools::manual_page(femcg::tools::command_reference(app)));
  if (schema) print(femcg::solver::case_schema());
  if (list) print(femcg::tools::list(line.topic));
  return run || check ? run_or_check(static_cast<bool>(run), line, joined) : ExitStatus::done;
}

/// Lines to be written to standard error at the end.
class Complaints {
 public:
  void add(std::string sentence) {
    std::ranges::replace(sentence, '\n', ' ');
    lines_.push_back(femcg::solver::printable(sentence));
  }
  bool empty() const { return lines_.empty(); }
  void print(const std::string& before = "") const {
    for (const std::string& line : lines_) std::fputs((before + line + "\n").c_str(), stderr);
  }

 private:
  std::vector<std::string> lines_;
};

/// True if the reader of standard output has closed it (femcg list | head -1), which is no failure.
bool reader_left() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// Flushes standard output; returns machine_failed if that fails.
ExitStatus flushed(ExitStatus status, Complaints& complaints) {
  const bool failed = std::fflush(stdout) != 0;
  const int why = failed ? errno : EIO;
  if ((!failed && !std::ferror(stdout)) || status == ExitStatus::machine_failed || reader_left()) return status;
  complaints.add("femcg: standard output cannot be written: " + std::generic_category().message(why));
  return ExitStatus::machine_failed;
}

constexpr std::string_view less_memory =
    "take a smaller mesh or degree, single precision, or an operator that stores less, such as matrix-free";

/// Runs the program; converts all errors to complaints and a status.
ExitStatus guarded(int argc, char** argv, std::optional<Communicator>& processes, Complaints& complaints) {
  try {
    return execute(argc, argv, processes);
  } catch (const InputError& error) {
    for (const std::string& sentence : error.sentences()) complaints.add(sentence);
    return ExitStatus::wrong_input;
  } catch (const femcg::solver::MachineError& error) {
    complaints.add(std::string("femcg: ") + error.what());
  } catch (const femcg::operators::OutOfMemory& error) {
    const bool names_one = std::string_view(error.what()).find("matrix-free") != std::string_view::npos;
    complaints.add(fmt::format("femcg: {}; {}", error.what(),
                               names_one ? "or take a smaller mesh or degree, or single precision" : less_memory));
  } catch (const std::bad_alloc&) {
    complaints.add(fmt::format("femcg: out of memory; {}", less_memory));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe && reader_left()) return ExitStatus::done;
    complaints.add(std::string("femcg: ") + error.what());
  } catch (const std::exception& error) {
    complaints.add(std::string("femcg: ") + error.what());
  } catch (...) {
    complaints.add("femcg: an unknown failure");
  }
  return ExitStatus::machine_failed;
}

/// Prints the complaints: on the first process if all complain. A process that fails alone prints its own, and ends all
/// processes.
void say(const Complaints& complaints, ExitStatus status, std::optional<Communicator>& processes) {
  if (complaints.empty()) return;
  if (!processes && Communicator::started() > 1 && Communicator::available()) try {
      join(processes);
    } catch (const InputError&) {  // each is on its own
    }
  if (!processes) {
    if (Communicator::started_rank() == 0) complaints.print();
    return;
  }
  const bool all_fail = processes->all_fail();
  if (!all_fail) complaints.print(fmt::format("process {}: ", processes->rank()));
  if (all_fail && processes->is_first()) complaints.print();
  std::fflush(stderr);
  if (!all_fail) processes->end_all(static_cast<int>(status));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a write without reader then fails, and is reported where it occurs
  std::signal(SIGXFSZ, SIG_IGN);  // so does one beyond the file size limit
  stop_on_request();
  femcg::mesh::retain_pages();
  std::optional<Communicator> processes;
  Complaints complaints;
  const ExitStatus status = flushed(guarded(argc, argv, processes, complaints), complaints);
  femcg::operators::expect_exit();
  say(complaints, status, processes);
  return static_cast<int>(status);
}
