#include "solver/run/distributed_record.hpp"

#include <algorithm>
#include <vector>

#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::IndexMap;

namespace {

template <std::floating_point T>
ProcessRecord record_of(const Division& of, const DistributedOperator<T>& a, const operators::ExchangeRecord& before,
                        const Record& record) {
  const IndexMap& map = of.subdomain.map;
  const operators::ExchangeRecord now = a.record();
  return {.cells = of.cells,
          .interface_cells = of.interface_cells,
          .unknowns = map.owned,
          .ghosts = map.ghosts(),
          .neighbours = std::ssize(map.neighbours),
          .products = now.products - before.products,
          .messages = now.messages - before.messages,
          .sent_bytes = now.sent_bytes - before.sent_bytes,
          .stored_bytes = a.footprint().stored_bytes,
          .peak_memory_bytes = peak_memory(),
          .assembly = record.seconds.assembly,
          .conversion = record.seconds.conversion,
          .solve = record.seconds.solve,
          .multiplying = now.multiplying - before.multiplying,
          .waiting = now.waiting - before.waiting};
}

}  // namespace

void measure_copies(const Communicator& communicator, Record& record) {
  communicator.sum(0.0);  // barrier: all start at the same time
  const CopyBandwidth copies = measure_copy_bandwidth(record.device);
  const bool known = communicator.sum(copies.bytes_per_second > 0 ? 0.0 : 1.0) == 0;
  const double all = communicator.sum(copies.bytes_per_second);
  record.machine.copy_bandwidth = known ? all : 0;
  if (!copies.warning.empty()) record.warnings.push_back(copies.warning);
}

Division division_of(const operators::FormSubdomain& subdomain, const MeshChoice& mesh,
                     const DistributionChoice& distribution, const Communicator& communicator) {
  return {communicator,
          subdomain,
          std::string(name(chosen_partition(mesh, distribution))),
          distribution.mode == operators::ExchangeMode::automatic,
          subdomain.cells(),
          std::ssize(subdomain.interface.cells)};
}

template <std::floating_point T>
Samples time_products(const operators::Operator<T>& a, const Communicator& communicator) {
  constexpr int count = 11;
  Samples samples;
  operators::Vector<T> x(a.size(), a.device()), y(a.size(), a.device());
  operators::fill(x, T(1));
  operators::fill(y, T(0));
  operators::Scalar energy(a.device());
  for (int i = 0; i <= count; ++i) {
    communicator.sum(0.0);  // barrier: all start at the same time
    double seconds = 0;
    timed(seconds, [&] {
      a.apply(x, y, &energy);
      operators::synchronize(a.device());
    });
    seconds = slowest(communicator, seconds);
    if (i > 0) samples.add(seconds);
  }
  return samples;
}

template <std::floating_point T>
void complete_record(const Division& of, const DistributedOperator<T>& a, int right_hand_sides, Record& record,
                     const operators::ExchangeRecord& before) {
  DistributionRecord& all = record.distribution.emplace();
  all.partition = of.partition;
  all.mode = operators::name(a.mode());
  all.automatic_mode = of.automatic_mode;
  if (a.device() == Device::cuda)
    all.transport = a.gpus_run_alone() ? "between GPUs, which tell each other (CUDA IPC)" : "through the hosts' memory";
  for (const auto& process : of.communicator.gathered(std::vector{record_of(of, a, before, record)}))
    all.processes.push_back(process.front());
  record.footprint = {};
  const operators::Footprint mine = a.footprint().of_multi_vector(right_hand_sides, std::int64_t{sizeof(T)} * a.size());
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

template Samples time_products(const operators::Operator<double>&, const Communicator&);
template Samples time_products(const operators::Operator<float>&, const Communicator&);
template void complete_record(const Division&, const DistributedOperator<double>&, int, Record&,
                              const operators::ExchangeRecord&);
template void complete_record(const Division&, const DistributedOperator<float>&, int, Record&,
                              const operators::ExchangeRecord&);

}  // namespace femcg::solver
