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
  std::string driver;                          ///< of the GPU; empty where none is used
  std::array<double, 3> load{};                ///< load averages over 1, 5 and 15 minutes, before the work
  std::optional<operators::GpuClocks> clocks;  ///< of the GPU, at the end of the loop
  double copy_bandwidth = 0;                   ///< bytes per second, read plus written
  double link_bandwidth = 0;  ///< bytes per second from the host to the GPU; 0 where nothing is streamed

  /// The least seconds in which a device moves `bytes` while `link_bytes` come from the host; 0 where a bandwidth that
  /// it takes is not known.
  double least_seconds(std::int64_t bytes, std::int64_t link_bytes) const {
    if (copy_bandwidth <= 0 || (link_bytes > 0 && link_bandwidth <= 0)) return 0;
    const double moving = static_cast<double>(bytes) / copy_bandwidth;
    return link_bytes > 0 ? std::max(moving, static_cast<double>(link_bytes) / link_bandwidth) : moving;
  }
};

/// The processor's name, the number of threads, the load; what is of the device is the caller's.
Machine this_machine();
/// Adds the driver and the clocks of the GPU in use, as they are now.
void note_gpu(Machine& machine);

/// Wall-clock seconds of the steps of a run.
struct Seconds {
  double mesh = 0, space = 0, assembly = 0, conversion = 0, preconditioner = 0, transfer = 0, solve = 0;
  double prediction = 0;  ///< of what operators take, where auto was asked for; speeds that are measured first included

  /// Making the operator and the preconditioner.
  double set_up() const { return assembly + conversion + preconditioner; }
};

/// Result of one load of several.
struct LoadRecord {
  std::string name;
  CgResult solve;
  bool begun = true;  ///< false where the run was interrupted before it: then it has no solution
  std::optional<Quantities> quantities;
};

/// Bytes of the files for pictures, solution.vtu or its pieces and boundary.vtu.
struct FileBytes {
  std::int64_t expected = 0;  ///< before anything was solved
  std::int64_t written = 0;
};

/// Everything that is kept of one run (result.json), or of one operator in a comparison (an item of compare.json).
struct Record {
  std::string command, case_file, title, started;
  SolutionLabel solution;
  std::vector<std::pair<std::string, std::string>> set;  ///< Case::set
  Machine machine;
  ProblemSize problem;
  OperatorChoice op;          ///< what ran
  bool automatic_op = false;  ///< where auto was asked for
  std::string why;            ///< one sentence on why auto took it
  std::string why_device;     ///< one sentence where `device: auto` leaves the GPU aside, else empty
  Precision precision = Precision::double_;
  operators::Device device = operators::Device::host;
  operators::Footprint footprint;
  std::map<std::string, std::string> chosen;  ///< Operator::chosen()
  std::optional<TuningRecord> tuning;         ///< where options of the operator were tuned, or that was asked for
  Seconds seconds;
  std::vector<StepSeconds> steps;  ///< of a run: everything since the program was started
  PreconditionerChoice preconditioner;
  std::string why_preconditioner;                            ///< one sentence on why auto took it, else empty
  std::map<std::string, std::string> preconditioner_chosen;  ///< Preconditioner::chosen()
  std::vector<LevelSummary> hierarchy;                       ///< Preconditioner::levels()
  CgResult solve;                                            ///< with several loads of all together: see all_of
  std::vector<LoadRecord> loads;                             ///< where the case has loads
  Samples apply;                                             ///< seconds of one product
  std::optional<Quantities> quantities;
  std::optional<Errors> errors;
  std::vector<std::string> warnings;
  std::optional<DistributionRecord> distribution;  ///< where several processes ran
  MemoryEstimate memory;                           ///< as it was estimated before anything large was allocated
  std::int64_t peak_memory_bytes = 0;
  FileBytes files;

  double iterations_per_second() const {
    return solve.seconds > 0 ? static_cast<double>(solve.iterations) / solve.seconds : 0;
  }
  double unknowns_per_second() const { return iterations_per_second() * problem.unknowns; }
  double minimum_bandwidth() const {
    return apply.median() > 0 ? static_cast<double>(footprint.moved_bytes) / apply.median() : 0;
  }
  /// Fraction of the rate that the copy bandwidth allows; where rows are streamed, that the host's link allows.
  double bandwidth_fraction() const {
    return apply.median() > 0 ? machine.least_seconds(footprint.moved_bytes, footprint.link_bytes) / apply.median() : 0;
  }
  /// Bytes a second that come from the host while products are computed one after the other.
  double link_rate() const {
    return apply.median() > 0 ? static_cast<double>(footprint.link_bytes) / apply.median() : 0;
  }
};

/// The record of a run at its start.
Record begun_run(const Case& resolved);

/// Combined result of several loads: iterations and seconds added up, the first reason other than converged, the
/// largest residuals of the loads that were begun.
CgResult all_of(const std::vector<LoadRecord>& loads);

std::string name(Precision precision);
std::string name(operators::Device device);
/// Plural of a cell's name: quadrilaterals.
std::string_view plural(mesh::CellShape shape);
/// The processor's name, or the first GPU's.
std::string device_name(operators::Device device);
/// Now, as 2026-11-20T21:00:00Z.
std::string timestamp();
/// The most memory that this process has held, in bytes.
std::int64_t peak_memory();

nlohmann::ordered_json to_json(const Record& record);
/// Options with whole numbers as numbers, everything else as text.
nlohmann::ordered_json options_json(const std::map<std::string, std::string>& options);
/// [number, relative residual, seconds] of at most 200 iterations evenly spread, the first and the last among them.
nlohmann::ordered_json residual_points(const std::vector<Iteration>& history);
/// The preconditioner's part of a record's "solve".
nlohmann::ordered_json preconditioner_json(const Record& record);
/// Text of a JSON file. Names that are not UTF-8, which JSON cannot hold, get a replacement character.
std::string to_text(const nlohmann::ordered_json& json);
/// The same on one line, without its end.
std::string to_line(const nlohmann::ordered_json& json);
/// An array with each of its entries on a line.
std::string to_lines(const nlohmann::ordered_json& array);
/// A text as one field of a CSV file (RFC 4180). One that a spreadsheet would take for a formula has an apostrophe in
/// front.
std::string csv_field(const std::string& text);
/// The columns iteration, relative_residual, seconds; before them the load, where there are several.
std::string residuals_csv(const Record& record);
/// The warning on times that say little of femcg.
constexpr std::string_view refused_time =
    "other programs took the processor: the threads received less than half of the time that they asked for";
/// Bytes streamed from the host's memory with each product, and their rate, in words; the product must have been timed.
std::string streaming(const Record& record);
/// Sizes of the files, to be printed behind the results folder; empty where there are none.
std::string to_text(const FileBytes& files);
/// The summary that a person reads.
std::string summary(const Record& record);

}  // namespace femcg::solver
