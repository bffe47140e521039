#include "solver/run/distributed_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "mesh/box/box_part.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/partition.hpp"
#include "operators/catalogue.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "solver/messages/do_on_all.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/problem/make_mesh.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;

namespace {

/// FNV-1a hash of a text for equality tests, over words of eight bytes where possible.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U) {
  constexpr std::uint64_t prime = 0x100000001b3U;
  std::uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  }
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * prime;
  return hash;
}

/// Hash of the running program.
std::uint64_t hash_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string block(1 << 20, ' ');
  std::uint64_t hash = hash_of("");
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    hash = hash_of(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())), hash);
  return hash;
}

/// UUID of the GPU in use; empty without a GPU.
std::string gpu_in_use(Device device) {
  return device == Device::cuda ? operators::cuda_uuids().at(operators::cuda_device_in_use().value()) : "";
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  return name;
}

/// GPU of each process: the one, among those visible to it, that the fewest preceding processes have.
struct SharedGpus {
  int mine = 0;     ///< its number
  int most = 0;     ///< largest number of processes on one GPU
  int count = 0;    ///< number of GPUs in use
  int without = 0;  ///< number of processes without a visible GPU
};
SharedGpus shared_gpus(const Communicator& communicator) {
  constexpr std::size_t uuid_bytes = 16;
  std::string mine;
  for (const std::string& uuid : operators::cuda_uuids()) mine += uuid;
  const auto all = communicator.gathered(mine);
  SharedGpus gpus;
  std::map<std::string, int> takers;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    int taken = -1, fewest = communicator.size();
    for (std::size_t at = 0; at < all[rank].size(); at += uuid_bytes)
      if (const int others = takers[all[rank].substr(at, uuid_bytes)]; others < fewest) {
        fewest = others;
        taken = static_cast<int>(at / uuid_bytes);
      }
    if (taken < 0) {
      ++gpus.without;
      continue;
    }
    if (rank == communicator.rank()) gpus.mine = taken;
    gpus.most = std::max(gpus.most, ++takers[all[rank].substr(taken * uuid_bytes, uuid_bytes)]);
  }
  gpus.count = static_cast<int>(std::ranges::count_if(takers, [](const auto& taker) { return taker.second > 0; }));
  return gpus;
}

}  // namespace

std::string is_for_one_process(const std::string& what, const std::string& instead) {
  return fmt::format("{} is for one process; {}, or start femcg without mpirun", what, instead);
}

void require_supported(const OutputChoice& output) {
  if (output.vtu && output.fields != OutputChoice().fields)
    throw InputError(is_for_one_process("output.fields with more than u", "use output.fields: [u]"));
  if (output.system) throw InputError(is_for_one_process("output.system", "leave it out"));
}

void require_same(const std::string& what, const std::string& text, const Communicator& communicator) {
  if (communicator.size() == 1) return;
  const auto all = communicator.gathered(std::vector{hash_of_program(), hash_of(text)});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank][0] != all[0][0])
      throw InputError(fmt::format("process {} runs another build of femcg than process 0: start one", rank));
    if (all[rank][1] != all[0][1])
      throw InputError(fmt::format("process {} has another {} than process 0: start all with one", rank, what));
  }
}

Device choose_shared_device(const SolverChoice& solver, const DistributionChoice& distribution,
                            const Communicator& communicator, std::string& why) {
  const auto refuse = [](const Place& place, const std::string& sentence) {
    throw InputError(at_place(place, sentence));
  };
  const operators::OperatorDescription* row =
      is_automatic(solver.op) ? nullptr : operators::find_operator(solver.op.name);
  if (is_gpu(solver.device) && solver.device != "cuda")
    throw InputError(is_for_one_process("device: " + solver.device, "use device: cuda"));
  const bool asked = is_gpu(solver.device), host_only = row != nullptr && !row->cuda;
  if (asked && host_only)
    refuse(solver.op.place, fmt::format("operator '{}' has no CUDA version; use device: cpu", row->name));
  const auto on_host = [&] {
    if (row != nullptr && !row->host())
      refuse(solver.op.place, fmt::format("operator '{}' has no CPU version; use device: cuda", row->name));
    return Device::host;
  };
  if (solver.device == "cpu" || host_only) return on_host();
  const SharedGpus gpus = shared_gpus(communicator);
  if (gpus.without > 0) {
    if (!asked) return on_host();
    std::string reason = "another process has none";
    operators::cuda_device_in_use(&reason);
    throw MachineError(fmt::format("device cuda was requested, but there is no GPU: {}", reason));
  }
  if (const int allowed = distribution.processes_per_gpu; gpus.most > allowed) {
    const std::string counts =
        fmt::format("{} processes have {} GPU{}", communicator.size(), gpus.count, gpus.count == 1 ? "" : "s");
    if (asked)
      refuse(distribution.gpus_place,
             fmt::format("{}, and {} would share one: start fewer, or use distribution.processes_per_gpu: {}", counts,
                         gpus.most, gpus.most));
    why = counts + " (see distribution.processes_per_gpu)";
    return on_host();
  }
  try {
    operators::choose_cuda_device(gpus.mine);
  } catch (const std::runtime_error& error) {
    throw MachineError(fmt::format("device {}", error.what()));
  }
  return Device::cuda;
}

Partition chosen_partition(const MeshChoice& mesh, const DistributionChoice& distribution) {
  const bool has_blocks = std::holds_alternative<mesh::BoxOptions>(mesh.source) && mesh.cell_order != CellOrder::curve;
  if (distribution.partition == Partition::automatic) return has_blocks ? Partition::blocks : Partition::curve;
  if (distribution.partition == Partition::blocks && !has_blocks)
    throw InputError(at_place(distribution.partition_place,
                              "distribution.partition: blocks is for a box whose cells keep their order; use auto, "
                              "curve or metis"));
  return distribution.partition;
}

std::vector<std::int32_t> partition(const MeshChoice& choice, const DistributionChoice& distribution,
                                    const mesh::Mesh& mesh, int processes) {
  switch (chosen_partition(choice, distribution)) {
    case Partition::blocks: {
      const auto [box, refinements] = unrefined_box(choice);
      return mesh::partition_in_blocks(box, refinements, processes);
    }
    case Partition::metis:
      return placed(distribution.partition_place, [&] { return mesh::partition_by_metis(mesh, processes); });
    default:
      return mesh::partition_along_curve(mesh, processes);
  }
}

namespace {

/// Divides a mesh made by the first process; all processes refine their parts once the mesh has enough cells for
/// balanced parts.
mesh::MeshPart divided_mesh(const MeshChoice& choice, const DistributionChoice& distribution,
                            const Communicator& communicator) {
  constexpr std::int64_t cells_of_process = 1000;
  std::vector<int> left(1, refinements_left(choice));
  mesh::MeshPart part;
  if (communicator.is_first()) {
    mesh::Mesh whole = make_unrefined_mesh(choice);
    for (; left.front() > 0 && whole.cell_count() < cells_of_process * communicator.size(); --left.front())
      whole = mesh::refine(whole);
    const std::vector<std::int32_t> process_of = partition(choice, distribution, whole, communicator.size());
    const mesh::DividedMesh divided(whole, process_of);
    for (int rank = 1; rank < communicator.size(); ++rank) communicator.send_text(to_bytes(divided.part(rank)), rank);
    part = divided.part(0);
    part.mesh.warnings = whole.warnings;
  } else {
    part = mesh::part_from_bytes(communicator.text_from(0));
  }
  communicator.broadcast(std::span(left), 0);
  for (; left.front() > 0; --left.front()) part = operators::refined(communicator, part);
  const std::vector<std::string> warnings = part.mesh.warnings;  // warnings about a part do not apply to the whole
  do_on_all(communicator, [&] { validate_box(choice, part.mesh); });
  part.mesh.warnings = warnings;
  return part;
}

}  // namespace

mesh::MeshPart make_mesh_part(const MeshChoice& choice, const DistributionChoice& distribution,
                              const Communicator& communicator) {
  if (communicator.size() == 1) return {.mesh = make_mesh(choice), .neighbours = {}, .cell_numbers = {}};
  mesh::MeshPart part = chosen_partition(choice, distribution) == Partition::blocks
                            ? make_box_part(choice, communicator.rank(), communicator.size())
                            : divided_mesh(choice, distribution, communicator);
  operators::find_cuts(communicator, part);
  return part;
}

bool check_threads(const Communicator& communicator, bool needs_progress_threads, Record& record) {
  const auto hosts = communicator.gathered(host_name());
  const auto threads = communicator.gathered(std::vector{record.machine.threads});
  std::int64_t all = 0, processes = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != host_name()) continue;
    all += threads[rank].front();
    ++processes;
  }
  const std::int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  const bool spare = communicator.sum(all + processes > cores ? 1.0 : 0.0) == 0;
  if (all > cores)
    record.warnings.push_back(fmt::format(
        "the processes on a machine of {} cores have {} threads together: use --threads, or fewer processes", cores,
        all));
  else if (needs_progress_threads && !spare)
    record.warnings.emplace_back(
        "distribution.mode: auto does not try task, whose threads would take cores from those that multiply: use fewer "
        "--threads, or name it");
  return spare;
}

void add(const MemoryEstimate& need, MemoryEstimate& all) {
  all.host_bytes += need.host_bytes;
  all.slack_host_bytes += need.slack_host_bytes;
  all.device_bytes += need.device_bytes;
  all.slack_device_bytes += need.slack_device_bytes;
  all.reserved_bytes = std::max(all.reserved_bytes, need.reserved_bytes);
  all.parts.insert(all.parts.end(), need.parts.begin(), need.parts.end());
}

void require_memory_of_all(MemoryEstimate need, const std::string& op, Device device,
                           const Communicator& communicator) {
  if (communicator.size() == 1) return require_memory(need, fmt::format("operator '{}'", op));
  const std::string host = host_name(), gpu = gpu_in_use(device);
  const auto hosts = communicator.gathered(host);
  const auto gpus = communicator.gathered(gpu);
  const auto needs = communicator.gathered(
      std::vector{need.host_bytes, need.slack_host_bytes, need.device_bytes, need.slack_device_bytes});
  need.host_bytes = need.slack_host_bytes = need.device_bytes = need.slack_device_bytes = 0;
  int here = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != host) continue;
    ++here;
    need.host_bytes += needs[rank][0];
    need.slack_host_bytes += needs[rank][1];
    if (gpus[rank] != gpu) continue;
    need.device_bytes += needs[rank][2];
    need.slack_device_bytes += needs[rank][3];
  }
  do_on_all(communicator,
            [&] { require_memory(need, fmt::format("operator '{}' of {} processes on one machine", op, here)); });
}

double expected_iterations(const Problem& problem, const SolverChoice& solver, const Communicator& communicator) {
  if (communicator.size() == 1) return expected_iterations(problem, solver);
  // The rule gives fewer iterations for a part than for the whole, whose extent is larger by this factor.
  const auto cells = static_cast<double>(problem.form().cells());
  const double parts = communicator.sum(cells) / std::max(1.0, cells);
  if (!communicator.is_first()) return 0;
  return std::pow(parts, 1.0 / problem.form().space->mesh().dimension()) * expected_iterations(problem, solver);
}

}  // namespace femcg::solver
