#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "operators/catalogue.hpp"
#include "operators/distributed/maps/matrix_share.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/io/matrix_statistics.hpp"
#include "operators/stored/io/number_range.hpp"
#include "solver/compare/compare_distributed.hpp"
#include "solver/compare/distributed_comparison.hpp"
#include "solver/compare/matrix_input.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/report/comparison_files.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::CsrMatrix;
using operators::Device;
using operators::DistributedOperator;

namespace {

/// What this process has of the matrix, which the first has read.
struct DividedMatrix {
  DividedMatrix(const MatrixChoice& choice, const Communicator& communicator, Progress& progress) {
    MatrixInput input;
    mesh::Array<double> whole_load;
    do_on_all(communicator, [&] {
      if (!communicator.is_first()) return;
      input = read_matrix_input(choice, progress);
      if (input.why_no_cg.empty()) whole_load = scaled_load(input.load).values();
      if (std::ranges::find(choice.precisions, Precision::single) != choice.precisions.end())
        why_not_single = operators::why_not_single(input.matrix);
    });
    progress.step("dividing the rows");
    common = input.common;
    if (!communicator.is_first()) common.machine = this_machine();
    source = input.source;
    statistics = input.statistics;
    why_no_cg = input.why_no_cg;
    communicator.broadcast_all(why_no_cg, 0);
    communicator.broadcast_all(why_not_single, 0);
    communicator.broadcast_all(whole_load, 0);
    const operators::RowBlock block = operators::divide_rows(communicator, input.matrix);
    common.problem.unknowns = block.firsts.back();
    rows = block.rows.rows;
    share = share_of(communicator, block);
    if (why_no_cg.empty())
      for (const std::int64_t number : share.map.numbers) load.push_back(whole_load[static_cast<std::size_t>(number)]);
  }

  operators::MatrixShare share;
  std::int64_t rows = 0;
  std::vector<double> load;  ///< in the order of the map; empty without CG
  std::string why_no_cg, why_not_single;
  Record common;
  std::shared_ptr<const MatrixSource> source;                     ///< on the first process, as the next
  std::shared_ptr<const operators::MatrixStatistics> statistics;  ///< of the whole
};

template <std::floating_point T>
std::shared_ptr<const CsrMatrix<T>> rounded(const CsrMatrix<double>& part) {
  if constexpr (std::is_same_v<T, double>)
    return {std::shared_ptr<const void>(), &part};
  else
    return std::make_shared<const CsrMatrix<T>>(operators::to_single(part));
}

/// The operator of a choice, of the rows of all processes.
template <std::floating_point T>
std::unique_ptr<DistributedOperator<T>> make_operator(const OperatorChoice& choice, const DividedMatrix& of,
                                                      const Case& asked, const Communicator& communicator,
                                                      bool cores_to_spare, const StopRequested& stop, Record& record) {
  if (std::is_same_v<T, float> && !of.why_not_single.empty()) throw std::overflow_error(of.why_not_single);
  const operators::OperatorDescription& row = *operators::find_operator(choice.name);
  const std::array<const CsrMatrix<double>*, 2> parts{&of.share.interior, &of.share.interface};
  MemoryUser user{&row, &choice.options, record.device, find_preconditioner(asked.solver.preconditioner.name)};
  user.systems = asked.compare.right_hand_sides.back();
  std::array<std::shared_ptr<const CsrMatrix<T>>, 2> matrices;
  std::int64_t reserved_bytes = 0;
  do_on_all(communicator, [&] {
    for (const std::size_t i : {1, 0}) {
      if (parts[i]->rows == 0) continue;
      matrices[i] = rounded<T>(*parts[i]);
      const MemoryEstimate need = need_of_operator<T>(user, nullptr, matrices[i].get());
      add(need, record.memory);
      user.also_on_device = need.device_bytes;
      reserved_bytes = std::max(reserved_bytes, need.reserved_bytes);
    }
  });
  require_memory_of_all(record.memory, choice.name, record.device, communicator);
  std::array<std::unique_ptr<operators::Operator<T>>, 2> made;
  do_on_all(communicator, [&] {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!matrices[i]) continue;
      operators::Ingredients<T> from;
      from.device = record.device;
      from.matrix = matrices[i];
      from.reserved_bytes = reserved_bytes;
      made[i] = timed(record.seconds.conversion, [&] { return row.make<T>(from, choice.options); });
    }
  });
  auto a = std::make_unique<DistributedOperator<T>>(communicator, of.share, record.device, std::move(made[0]),
                                                    std::move(made[1]), asked.distribution.mode, stop, cores_to_spare);
  if (!operators::has_single_values<T>(choice.options))
    a->keep_rows(matrices[0].get(), matrices[1].get(), operators::PersistentFor::faster);
  return a;
}

/// All that decides what is compared.
std::string text_of(const MatrixChoice& choice) {
  std::string text = fmt::format("{} {} {} {}", choice.file.string(), choice.reorder, choice.compare.iterations,
                                 choice.compare.repetitions);
  for (const Precision precision : choice.precisions) text += fmt::format(" {}", name(precision));
  for (const int count : choice.compare.right_hand_sides) text += fmt::format(" {}", count);
  for (const std::string& device : choice.compare.devices) text += " " + device;
  for (const SweepAxis& axis : choice.compare.sweep) {
    text += " " + axis.key;
    for (const std::string& value : axis.values) text += "," + value;
  }
  for (const OperatorChoice& op : choice.compare.operators) {
    text += " " + op.name;
    for (const auto& [option, value] : op.options) text += fmt::format(" {}={}", option, value);
  }
  return text;
}

}  // namespace

ExitStatus compare_matrix_distributed(const MatrixChoice& choice, const std::optional<Baseline>& baseline,
                                      const Console& console, const StopRequested& stop,
                                      const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  require_same("matrix, or other options,", text_of(choice), communicator);
  Case asked;
  asked.compare = choice.compare;
  asked.solver.preconditioner = PreconditionerChoice{"none", {}, {}};
  require_one_device(asked);
  std::string why_device;
  const Device device = choose_compared_device(asked, communicator, why_device);
  const std::vector<BenchmarkEntry> entries = entries_on(device, asked, true);
  DividedMatrix divided(choice, communicator, progress);
  Record& common = divided.common;
  common.device = device;
  common.machine.device = device_name(device);
  if (!why_device.empty()) common.remarks.push_back(why_device);
  const bool cores_to_spare = check_threads(communicator, device == Device::host, common);
  progress.clear();
  std::optional<ComparisonFiles> files;
  if (first) {
    files.emplace(choice.directory, baseline, console);
    files->note(common.remarks);
    if (!divided.why_no_cg.empty()) fmt::print(stderr, "{}", products_only(divided.why_no_cg));
  }
  bool stopped = false;
  for (std::size_t i = 0; i < choice.precisions.size() && !stopped; ++i) {
    asked.solver.precision = choice.precisions[i];
    DistributedSystem system{.division = {communicator, divided.share, std::string(partition_of_rows), true,
                                          divided.rows, divided.share.interface_rows},
                             .resolved = asked,
                             .reference = reference_product(communicator, divided.share),
                             .has_load = divided.why_no_cg.empty(),
                             .load = divided.load,
                             .expected_iterations = expected_iterations(
                                 static_cast<std::int32_t>(common.problem.unknowns), SolverChoice().max_iterations),
                             .common = common,
                             .where = fmt::format("{} precision, ", name(choice.precisions[i])),
                             .source = divided.source,
                             .statistics = divided.statistics};
    const auto compare_in = [&]<class T>(T) {
      const MakeDistributed<T> make = [&](const OperatorChoice& op, Record& record) {
        return make_operator<T>(op, divided, asked, communicator, cores_to_spare, stop, record);
      };
      return compare_operators<T>(system, entries, make, stop, progress);
    };
    auto rows = choice.precisions[i] == Precision::double_ ? compare_in(double()) : compare_in(float());
    progress.clear();
    if (first) files->add(std::move(rows));
    stopped = communicator.sum(stop() ? 1.0 : 0.0) > 0;
  }
  std::vector<ExitStatus> status(1, ExitStatus::done);
  if (first) status.front() = files->finish(stopped);
  communicator.broadcast(std::span(status), 0);
  return status.front();
}

}  // namespace femcg::solver
