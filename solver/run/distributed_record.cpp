#include "solver/run/distributed_record.hpp"

#include <algorithm>
#include <vector>

#include "solver/problem/setup.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::IndexMap;

namespace {

template <std::floating_point T>
ProcessRecord record_of(const Division& of, const DistributedOperator<T>& a, const Record& record) {
  const IndexMap& map = of.share.map;
  return {.cells = of.cells,
          .interface_cells = of.interface_cells,
          .unknowns = map.owned,
          .ghosts = map.ghosts(),
          .neighbours = std::ssize(map.neighbours),
          .products = a.record().products,
          .messages = a.record().messages,
          .sent_bytes = a.record().sent_bytes,
          .stored_bytes = a.footprint().stored_bytes,
          .peak_memory_bytes = peak_memory(),
          .assembly = record.seconds.assembly,
          .conversion = record.seconds.conversion,
          .solve = record.seconds.solve,
          .multiplying = a.record().multiplying,
          .waiting = a.record().waiting};
}

}  // namespace

double slowest(const Communicator& communicator, double seconds) {
  return std::ranges::max(communicator.gathered(std::vector{seconds})).front();
}

void measure_copies(const Communicator& communicator, Record& record) {
  communicator.sum(0.0);  // all begin together
  const CopyBandwidth copies = measure_copy_bandwidth(record.device);
  const bool known = communicator.sum(copies.bytes_per_second > 0 ? 0.0 : 1.0) == 0;
  const double all = communicator.sum(copies.bytes_per_second);
  record.machine.copy_bandwidth = known ? all : 0;
  if (!copies.remark.empty()) record.remarks.push_back(copies.remark);
}

Division division_of(const SharedRun& of) {
  return {of.communicator,
          of.share,
          std::string(name(chosen_partition(of.resolved))),
          of.resolved.distribution.mode == operators::ExchangeMode::automatic,
          of.share.cells(),
          std::ssize(of.share.interface.cells)};
}

template <std::floating_point T>
void complete_record(const Division& of, const DistributedOperator<T>& a, int right_hand_sides, Record& record) {
  DistributionRecord& all = record.distribution.emplace();
  all.partition = of.partition;
  all.mode = operators::name(a.mode());
  all.automatic_mode = of.automatic_mode;
  if (a.device() == Device::cuda)
    all.transport = a.gpus_run_alone() ? "between GPUs, which tell each other (CUDA IPC)" : "through the hosts' memory";
  for (const auto& process : of.communicator.gathered(std::vector{record_of(of, a, record)}))
    all.processes.push_back(process.front());
  record.footprint = {};
  const operators::Footprint mine = a.footprint().of_columns(right_hand_sides, std::int64_t{sizeof(T)} * a.size());
  for (const auto& of_process : of.communicator.gathered(std::vector{mine})) {
    const operators::Footprint& part = of_process.front();
    record.footprint.stored_bytes += part.stored_bytes;
    record.footprint.moved_bytes += part.moved_bytes;
    record.footprint.effective_bytes += part.effective_bytes;
    record.footprint.flops += part.flops;
    record.footprint.nonzeros += part.nonzeros;
    record.footprint.padding_ratio = std::max(record.footprint.padding_ratio, part.padding_ratio);
  }
  record.memory.host_bytes =
      static_cast<std::int64_t>(of.communicator.sum(static_cast<double>(record.memory.host_bytes)));
  record.peak_memory_bytes = 0;
  for (const ProcessRecord& process : all.processes) record.peak_memory_bytes += process.peak_memory_bytes;
}

template void complete_record(const Division&, const DistributedOperator<double>&, int, Record&);
template void complete_record(const Division&, const DistributedOperator<float>&, int, Record&);

}  // namespace femcg::solver
