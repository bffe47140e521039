#include "solver/run/distributed_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "mesh/box/box_part.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/partition.hpp"
#include "operators/catalogue.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::FormPart;

namespace {

/// A hash of texts that are the same or not: FNV-1a, of words of eight bytes where there are so many.
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

/// Of the program that runs.
std::uint64_t hash_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string block(1 << 20, ' ');
  std::uint64_t hash = hash_of("");
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    hash = hash_of(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())), hash);
  return hash;
}

/// What `operator: auto` stands for: the first process predicts, of its own part, and none is tried.
template <std::floating_point T>
OperatorChoice choose_operator(const SharedRun& of, Record& record) {
  const Case& resolved = of.resolved;
  const Problem& problem = of.problem;
  const Communicator& communicator = of.communicator;
  const Device device = record.device;
  if (!is_automatic(resolved.solver.op)) return resolved.solver.op;
  std::string chosen;
  const double iterations = timed(record.seconds.prediction, [&] { return expected_iterations(of); });
  if (communicator.is_first()) {
    std::optional<operators::MatrixRows<T>> rows;
    const Expectation expected =
        timed(record.seconds.prediction, [&] { return expect<T>(resolved, problem, device, rows, iterations); });
    const OperatorDecision decision = decide_for(resolved, problem, device, expected);
    record.why = decision.rival ? decision.expected + ", and several processes try no products" : decision.why;
    chosen = decision.named.name;
    for (const auto& [option, value] : decision.named.options) chosen += fmt::format("\n{}\n{}", option, value);
  }
  communicator.broadcast_all(chosen, 0);
  std::istringstream lines(chosen);
  OperatorChoice choice{"", {}, resolved.solver.op.place};
  std::getline(lines, choice.name);
  for (std::string option, value; std::getline(lines, option) && std::getline(lines, value);)
    choice.options[option] = value;
  return choice;
}

/// The one in use, as no other is called; empty where there is none.
std::string gpu_in_use(Device device) {
  return device == Device::cuda ? operators::cuda_uuids().at(operators::cuda_device_in_use().value()) : "";
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  return name;
}

/// Which GPU each process has: of those that it sees, the one that the fewest before it have.
struct SharedGpus {
  int mine = 0;     ///< its number
  int most = 0;     ///< processes that have one GPU, where that is most
  int count = 0;    ///< GPUs that are taken
  int without = 0;  ///< processes that see none
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

/// The operator of some cells, from their element matrices on, and the matrix that it was made from; null where they
/// have no unknown, or it is made from something else.
template <std::floating_point T>
struct MadePart {
  std::unique_ptr<operators::Operator<T>> a;
  std::shared_ptr<const operators::CsrMatrix<T>> matrix;
};
template <std::floating_point T>
MadePart<T> make_part(const OperatorChoice& choice, const BilinearForm& form,
                      std::optional<operators::MatrixRows<T>> rows, std::int64_t reserved_bytes, Record& record) {
  if (form.unknowns == 0) return {};
  const operators::OperatorDescription& row = *operators::find_operator(choice.name);
  operators::ElementMatrices element_matrices;
  operators::Ingredients<T> ingredients;
  ingredients.device = record.device;
  ingredients.form = &form;
  ingredients.reserved_bytes = reserved_bytes;
  const operators::Needs needs = row.needs_on(record.device);
  if (needs != operators::Needs::form) {
    element_matrices = timed(record.seconds.assembly, [&] { return operators::assemble_element_matrices(form); });
    ingredients.element_matrices = &element_matrices;
  }
  if (needs == operators::Needs::matrix) {
    ingredients.matrix = timed(record.seconds.assembly, [&] {
      return std::make_shared<operators::CsrMatrix<T>>(operators::assemble(std::move(*rows), element_matrices));
    });
    element_matrices = {};
    ingredients.element_matrices = nullptr;
  }
  auto a = timed(record.seconds.conversion, [&] { return row.make(ingredients, choice.options); });
  return {std::move(a), std::move(ingredients.matrix)};
}

}  // namespace

std::string is_for_one_process(const std::string& what, const std::string& instead) {
  return fmt::format("{} is for one process; {}, or start femcg without mpirun", what, instead);
}

void require_supported(const Case& resolved) {
  if (resolved.output.vtu && resolved.output.fields != OutputChoice().fields)
    throw InputError(is_for_one_process("output.fields with more than u", "use output.fields: [u]"));
}

void require_same(const std::string& what, const std::string& text, const Communicator& communicator) {
  const auto all = communicator.gathered(std::vector{hash_of_program(), hash_of(text)});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank][0] != all[0][0])
      throw InputError(fmt::format("process {} runs another build of femcg than process 0: start one", rank));
    if (all[rank][1] != all[0][1])
      throw InputError(fmt::format("process {} has another {} than process 0: start all with one", rank, what));
  }
}

Device choose_shared_device(const Case& resolved, const Communicator& communicator, std::string& why) {
  const SolverChoice& solver = resolved.solver;
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
    throw MachineError(fmt::format("device cuda was asked for, but there is none: {}", reason));
  }
  if (const int allowed = resolved.distribution.processes_per_gpu; gpus.most > allowed) {
    const std::string counts =
        fmt::format("{} processes have {} GPU{}", communicator.size(), gpus.count, gpus.count == 1 ? "" : "s");
    if (asked)
      refuse(resolved.distribution.gpus_place,
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

Partition chosen_partition(const Case& resolved) {
  const bool has_blocks =
      std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source) && resolved.mesh.cell_order != CellOrder::curve;
  const DistributionChoice& choice = resolved.distribution;
  if (choice.partition == Partition::automatic) return has_blocks ? Partition::blocks : Partition::curve;
  if (choice.partition == Partition::blocks && !has_blocks)
    throw InputError(at_place(choice.partition_place,
                              "distribution.partition: blocks is for a box whose cells keep their order; use auto, "
                              "curve or metis"));
  return choice.partition;
}

std::vector<std::int32_t> partition(const Case& resolved, const mesh::Mesh& mesh, int processes) {
  switch (chosen_partition(resolved)) {
    case Partition::blocks: {
      const auto [box, refinements] = unrefined_box(resolved);
      return mesh::partition_in_blocks(box, refinements, processes);
    }
    case Partition::metis:
      return placed(resolved.distribution.partition_place, [&] { return mesh::partition_by_metis(mesh, processes); });
    default:
      return mesh::partition_along_curve(mesh, processes);
  }
}

namespace {

/// The part of a mesh that the first process has made, and that all refine from where it has so many cells that their
/// shares are even.
mesh::MeshPart divided_mesh(const Case& resolved, const Communicator& communicator) {
  constexpr std::int64_t cells_of_process = 1000;
  std::vector<int> left(1, refinements_left(resolved));
  mesh::MeshPart part;
  if (communicator.is_first()) {
    mesh::Mesh whole = make_unrefined_mesh(resolved);
    for (; left.front() > 0 && whole.cell_count() < cells_of_process * communicator.size(); --left.front())
      whole = mesh::refine(whole);
    const std::vector<std::int32_t> process_of = partition(resolved, whole, communicator.size());
    const mesh::DividedMesh divided(whole, process_of);
    for (int rank = 1; rank < communicator.size(); ++rank) communicator.send_text(to_bytes(divided.part(rank)), rank);
    part = divided.part(0);
    part.mesh.remarks = whole.remarks;
  } else {
    part = mesh::part_from_bytes(communicator.text_from(0));
  }
  communicator.broadcast(std::span(left), 0);
  for (; left.front() > 0; --left.front()) part = operators::refined(communicator, part);
  const std::vector<std::string> remarks = part.mesh.remarks;  // those of a part alone say nothing of the whole
  do_on_all(communicator, [&] { validate_box(resolved, part.mesh); });
  part.mesh.remarks = remarks;
  return part;
}

}  // namespace

mesh::MeshPart make_mesh_part(const Case& resolved, const Communicator& communicator) {
  mesh::MeshPart part;
  if (chosen_partition(resolved) == Partition::blocks) {
    part = make_box_part(resolved, communicator.rank(), communicator.size());
  } else {
    part = divided_mesh(resolved, communicator);
  }
  operators::find_cuts(communicator, part);
  return part;
}

bool check_threads(const Communicator& communicator, bool needs_companions, Record& record) {
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
    record.remarks.push_back(fmt::format(
        "the processes on a machine of {} cores have {} threads together: use --threads, or fewer processes", cores,
        all));
  else if (needs_companions && !spare)
    record.remarks.emplace_back(
        "distribution.mode: auto does not try task, whose threads would take cores from those that multiply: use fewer "
        "--threads, or name it");
  return spare;
}

void do_on_all(const Communicator& communicator, const std::function<void()>& work) {
  enum class Failure : std::int64_t { none, memory, input, other };
  Failure failure = Failure::none;
  std::string sentence;
  std::exception_ptr mine;
  try {
    work();
  } catch (const std::exception& error) {
    mine = std::current_exception();
    sentence = reason_of(error);
    failure = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? Failure::memory
              : is_refusal(error)                                    ? Failure::input
                                                                     : Failure::other;
  }
  const auto failures = communicator.gathered(std::vector{failure});
  const auto sentences = communicator.gathered(sentence);
  if (mine) std::rethrow_exception(mine);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    const std::string there = fmt::format("process {}: {}", rank, sentences[rank]);
    switch (failures[rank].front()) {
      case Failure::none:
        break;
      case Failure::memory:
        throw operators::OutOfMemory(there);
      case Failure::input:
        throw InputError(there);
      case Failure::other:
        throw std::runtime_error(there);
    }
  }
}

void add(const MemoryEstimate& need, MemoryEstimate& all) {
  all.host_bytes += need.host_bytes;
  all.slack_host_bytes += need.slack_host_bytes;
  all.device_bytes += need.device_bytes;
  all.slack_device_bytes += need.slack_device_bytes;
  all.parts.insert(all.parts.end(), need.parts.begin(), need.parts.end());
}

void require_memory_of_all(MemoryEstimate need, const std::string& op, Device device,
                           const Communicator& communicator) {
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

double expected_iterations(const SharedRun& of) {
  // By the rule for a part, CG takes fewer iterations than for the whole, which is so much longer.
  const auto cells = static_cast<double>(of.problem.form().cells());
  const double parts = of.communicator.sum(cells) / std::max(1.0, cells);
  if (!of.communicator.is_first()) return 0;
  return std::pow(parts, 1.0 / of.problem.form().space->mesh().dimension()) *
         expected_iterations(of.problem, of.resolved.solver);
}

template <std::floating_point T>
MadeTogether<T> make_operator(const SharedRun& of, const StopRequested& stop, Progress& progress, Record& record) {
  record.op = choose_operator<T>(of, record);
  progress.step("estimating the memory");
  MemoryUser user = user_of(of.resolved, of.problem, record.device, record.op);
  const bool of_matrix = user.row->needs == operators::Needs::matrix;
  std::vector<std::optional<operators::MatrixRows<T>>> rows(2);
  const std::array<const FormPart*, 2> parts{&of.share.interior, &of.share.interface};
  std::int64_t reserved_bytes = 0;
  const auto estimate = [&](std::size_t i) {
    if (parts[i]->empty()) return;
    if (of_matrix) rows[i].emplace(parts[i]->form);
    const MemoryEstimate need =
        placed(record.op.place, [&] { return need_of_run<T>(user, parts[i]->form, of_matrix ? &*rows[i] : nullptr); });
    add(need, record.memory);
    user.also_on_device = need.device_bytes;
    reserved_bytes = std::max(reserved_bytes, need.reserved_bytes);
  };
  do_on_all(of.communicator, [&] {
    for (const std::size_t i : {1, 0}) estimate(i);  // the interior one is made beside the other, which is smaller
  });
  require_memory_of_all(record.memory, record.op.name, record.device, of.communicator);
  progress.step(fmt::format("making {}", record.op.name));
  const auto make = [&](std::size_t i) {
    return placed(record.op.place,
                  [&] { return make_part<T>(record.op, parts[i]->form, std::move(rows[i]), reserved_bytes, record); });
  };
  MadePart<T> interior, interface;
  do_on_all(of.communicator, [&] {
    interior = make(0);
    interface = make(1);
  });
  auto a = placed(of.resolved.distribution.mode_place, [&] {
    return std::make_unique<DistributedOperator<T>>(of.communicator, of.share, record.device, std::move(interior.a),
                                                    std::move(interface.a), of.resolved.distribution.mode, stop,
                                                    of.cores_to_spare);
  });
  if (of_matrix && of.resolved.solver.loop != CgLoop::launched && !operators::has_single_values<T>(record.op.options))
    timed(record.seconds.conversion, [&] {
      a->keep_rows(interior.matrix.get(), interface.matrix.get(), persistent_for(of.resolved.solver.loop));
    });
  return {std::move(a), {std::move(interior.matrix), std::move(interface.matrix)}, reserved_bytes};
}

template MadeTogether<double> make_operator(const SharedRun&, const StopRequested&, Progress&, Record&);
template MadeTogether<float> make_operator(const SharedRun&, const StopRequested&, Progress&, Record&);

}  // namespace femcg::solver
