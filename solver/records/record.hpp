#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operators/operator.hpp"
#include "solver/case/case.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/measures/errors.hpp"
#include "solver/measures/measure.hpp"
#include "solver/messages/step_times.hpp"
#include "solver/problem/memory_estimate.hpp"
#include "solver/records/distribution_record.hpp"
#include "solver/records/samples.hpp"
#include "solver/records/tuning_record.hpp"

namespace femcg::solver {

struct Machine {
  std::string processor;
  int threads = 1;
  std::string device;                          ///< the GPU, or the processor
  std::string driver;                          ///< of the GPU; empty if none is used
  std::array<double, 3> load{};                ///< load averages over 1, 5 and 15 minutes, before the work
  std::optional<operators::GpuClocks> clocks;  ///< of the GPU, at the end of the loop
  double copy_bandwidth = 0;                   ///< bytes per second, read plus written
  double link_bandwidth = 0;                   ///< bytes per second from the host to the GPU; 0 if nothing is streamed

  /// Least seconds in which the device moves `bytes` while `link_bytes` come from the host; 0 if a required bandwidth
  /// is unknown.
  double least_seconds(std::int64_t bytes, std::int64_t link_bytes) const {
    if (copy_bandwidth <= 0 || (link_bytes > 0 && link_bandwidth <= 0)) return 0;
    const double moving = static_cast<double>(bytes) / copy_bandwidth;
    return link_bytes > 0 ? std::max(moving, static_cast<double>(link_bytes) / link_bandwidth) : moving;
  }
};

/// The processor's name, number of threads and load; the caller adds the device.
Machine this_machine();
/// Adds the driver and the present clocks of the GPU in use.
void note_gpu(Machine& machine);

/// Wall-clock seconds of the steps of a run.
struct Seconds {
  double mesh = 0, space = 0, assembly = 0, conversion = 0, preconditioner = 0, transfer = 0, solve = 0;

  /// Making the operator and the preconditioner.
  double set_up() const { return assembly + conversion + preconditioner; }
};

/// Result of one of several loads.
struct LoadRecord {
  std::string name;
  CgResult solve;
  bool begun = true;  ///< false if the run was interrupted before this load, which then has no solution
  std::optional<Quantities> quantities;
};

/// Bytes of the .vtu files: solution.vtu or its pieces, and boundary.vtu.
struct FileBytes {
  std::int64_t expected = 0;  ///< before anything was solved
  std::int64_t written = 0;
};

/// Record of one run (result.json), or of one operator in a comparison (an item of compare.json).
struct Record {
  std::string command, case_file, title, started;
  SolutionLabel solution;
  std::vector<std::pair<std::string, std::string>> set;  ///< Case::set
  Machine machine;
  ProblemSize problem;
  OperatorChoice op;          ///< the operator that ran
  bool automatic_op = false;  ///< true if auto was asked for
  std::string why;            ///< reason of auto's choice, one sentence
  std::string why_device;     ///< reason why `device: auto` does not use the GPU, one sentence; else empty
  Precision precision = Precision::double_;
  operators::Device device = operators::Device::host;
  operators::Footprint footprint;
  std::map<std::string, std::string> chosen;  ///< Operator::chosen()
  std::optional<TuningRecord> tuning;         ///< if options of the operator were tuned, or tuning was asked for
  Seconds seconds;
  std::vector<StepSeconds> steps;  ///< of a run: all time since the start of the program
  PreconditionerChoice preconditioner;
  std::string why_preconditioner;                            ///< reason of auto's choice, one sentence; else empty
  std::map<std::string, std::string> preconditioner_chosen;  ///< Preconditioner::chosen()
  std::vector<LevelSummary> hierarchy;                       ///< Preconditioner::levels()
  CgResult solve;                                            ///< combined result of several loads: see all_of
  std::vector<LoadRecord> loads;                             ///< if the case has loads
  std::vector<std::vector<double>> terminals;                ///< matrix_of_terminals, in the order of the loads
  Samples apply;                                             ///< seconds of one product
  std::optional<Quantities> quantities;
  std::optional<Errors> errors;
  std::vector<std::string> warnings;
  std::optional<DistributionRecord> distribution;  ///< if several processes ran
  MemoryEstimate memory;                           ///< estimate before any large allocation
  std::int64_t peak_memory_bytes = 0;
  FileBytes files;

  double iterations_per_second() const {
    return solve.seconds > 0 ? static_cast<double>(solve.iterations) / solve.seconds : 0;
  }
  double unknowns_per_second() const { return iterations_per_second() * problem.unknowns; }
  double minimum_bandwidth() const {
    return apply.median() > 0 ? static_cast<double>(footprint.moved_bytes) / apply.median() : 0;
  }
  /// Fraction of the rate that the copy bandwidth allows or, if rows are streamed, the host's link.
  double bandwidth_fraction() const {
    return apply.median() > 0 ? machine.least_seconds(footprint.moved_bytes, footprint.link_bytes) / apply.median() : 0;
  }
  /// Bytes per second that come from the host during products.
  double link_rate() const {
    return apply.median() > 0 ? static_cast<double>(footprint.link_bytes) / apply.median() : 0;
  }
};

/// Record of a run at its start.
Record begun_run(const Case& resolved);

/// Combined result of several loads: iterations and seconds added up, the first reason other than converged, the
/// largest residuals of the loads that were begun.
CgResult all_of(const std::vector<LoadRecord>& loads);

std::string name(Precision precision);
std::string name(operators::Device device);
/// Plural of a cell's name: quadrilaterals.
std::string_view plural(mesh::CellShape shape);
/// Name of the processor, or of the first GPU.
std::string device_name(operators::Device device);
/// Present time as text: 2026-11-20T21:00:00Z.
std::string timestamp();
/// Peak memory of this process in bytes.
std::int64_t peak_memory();

nlohmann::ordered_json to_json(const Record& record);
/// Options as JSON: integers as numbers, all others as text.
nlohmann::ordered_json options_json(const std::map<std::string, std::string>& options);
/// [number, relative residual, seconds] of at most 200 evenly spaced iterations, including the first and the last.
nlohmann::ordered_json residual_points(const std::vector<Iteration>& history);
/// Preconditioner's part of a record's "solve".
nlohmann::ordered_json preconditioner_json(const Record& record);
/// Text of a JSON file. Invalid UTF-8 in names gets a replacement character.
std::string to_text(const nlohmann::ordered_json& json);
/// The same on one line, without a line end.
std::string to_line(const nlohmann::ordered_json& json);
/// Text of an array with one entry per line.
std::string to_lines(const nlohmann::ordered_json& array);
/// A text as one field of a CSV file (RFC 4180); a field that a spreadsheet would take for a formula gets a leading
/// apostrophe.
std::string csv_field(const std::string& text);
/// CSV with the columns iteration, relative_residual, seconds; preceded by the load if there are several.
std::string residuals_csv(const Record& record);
/// Warning that times are unreliable.
constexpr std::string_view refused_time =
    "other programs took the processor: the threads received less than half of the time that they asked for";
/// Bytes streamed from the host with each product, and their rate, as text; the product must have been timed.
std::string streaming(const Record& record);
/// Sizes of the files, printed after the results folder; empty if there are none.
std::string to_text(const FileBytes& files);
/// Summary of a run as text.
std::string summary(const Record& record);

}  // namespace femcg::solver
