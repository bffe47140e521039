#include "solver/distributed_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>

#include "mesh/partition.hpp"
#include "operators/catalogue.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/run_operator.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::FormPart;

namespace {

/// The hash FNV-1a, of texts that are the same or not.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
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

void broadcast(mesh::Mesh& mesh, const Communicator& communicator) {
  const auto texts = [&](auto& list) {
    auto count = static_cast<std::int64_t>(list.size());
    communicator.broadcast(std::span(&count, 1), 0);
    list.resize(static_cast<std::size_t>(count));
  };
  communicator.broadcast(std::span(&mesh.shape, 1), 0);
  communicator.broadcast(std::span(&mesh.order, 1), 0);
  communicator.broadcast_all(mesh.coordinates, 0);
  communicator.broadcast_all(mesh.cell_nodes, 0);
  communicator.broadcast_all(mesh.cell_regions, 0);
  texts(mesh.region_names);
  for (std::string& name : mesh.region_names) communicator.broadcast_all(name, 0);
  texts(mesh.boundaries);
  for (mesh::BoundaryGroup& group : mesh.boundaries) {
    communicator.broadcast_all(group.name, 0);
    communicator.broadcast_all(group.facets, 0);
  }
}

/// What `operator: auto` stands for: the first process predicts, of the whole problem, and none is tried.
template <std::floating_point T>
OperatorChoice choose_operator(const Case& resolved, const Problem& problem, const Communicator& communicator,
                               Record& record) {
  if (!is_automatic(resolved.solver.op)) return resolved.solver.op;
  std::string chosen;
  if (communicator.is_first()) {
    std::optional<operators::MatrixRows<T>> rows;
    const Expectation expected =
        timed(record.seconds.prediction, [&] { return expect<T>(resolved, problem, Device::host, rows); });
    const OperatorDecision decision = decide_for(resolved, problem, Device::host, expected);
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

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  return name;
}

/// Throws operators::OutOfMemory where this process's machine has too little for all processes that are on it.
void require_memory_of_all(MemoryEstimate need, const std::string& op, const Communicator& communicator) {
  const std::string host = host_name();
  const auto hosts = communicator.gathered(host);
  const auto needs = communicator.gathered(std::vector{need.host_bytes, need.slack_host_bytes});
  need.host_bytes = need.slack_host_bytes = 0;
  int here = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] == host) {
      ++here;
      need.host_bytes += needs[rank][0];
      need.slack_host_bytes += needs[rank][1];
    }
  require_memory(need, fmt::format("operator '{}' of {} processes on one machine", op, here));
}

/// The operator of some cells, from their element matrices on; null where they have no unknown.
template <std::floating_point T>
std::unique_ptr<operators::Operator<T>> make_part(const OperatorChoice& choice, const BilinearForm& form,
                                                  std::optional<operators::MatrixRows<T>> rows, Record& record) {
  if (form.unknowns == 0) return nullptr;
  const operators::OperatorDescription& row = *operators::find_operator(choice.name);
  operators::ElementMatrices element_matrices;
  operators::Ingredients<T> ingredients;
  ingredients.form = &form;
  if (row.needs != operators::Needs::form) {
    element_matrices = timed(record.seconds.assembly, [&] { return operators::assemble_element_matrices(form); });
    ingredients.element_matrices = &element_matrices;
  }
  if (row.needs == operators::Needs::matrix) {
    ingredients.matrix = timed(record.seconds.assembly, [&] {
      return std::make_shared<operators::CsrMatrix<T>>(operators::assemble(std::move(*rows), element_matrices));
    });
    element_matrices = {};
    ingredients.element_matrices = nullptr;
  }
  return timed(record.seconds.conversion, [&] { return row.make(ingredients, choice.options); });
}

}  // namespace

void require_supported(const Case& resolved) {
  const SolverChoice& solver = resolved.solver;
  const auto refuse = [](const std::string& what, const std::string& instead) {
    throw InputError(fmt::format("{} is for one process; {}, or start femcg without mpirun", what, instead));
  };
  if (is_gpu(solver.device)) refuse("solver.device: " + solver.device, "use solver.device: cpu");
  if (!is_automatic(solver.op) && !operators::find_operator(solver.op.name)->host())
    refuse(fmt::format("operator '{}', which is for GPUs,", solver.op.name), "use another operator");
  if (takes_several(solver.method)) refuse(fmt::format("solver.cg: {}", name(solver.method)), "use solver.cg: classic");
  if (solver.precision == Precision::mixed) refuse("solver.precision: mixed", "use solver.precision: double or single");
  if (solver.tune == Tune::on) refuse("solver.tune: on", "use solver.tune: auto");
  if (solver.loop == CgLoop::resident) refuse("solver.loop: resident", "use solver.loop: launched");
  if (resolved.output.vtu && resolved.output.fields != OutputChoice().fields)
    refuse("output.fields with more than u", "use output.fields: [u]");
}

void require_same(const Case& resolved, const Communicator& communicator) {
  const auto all = communicator.gathered(std::vector{hash_of_program(), hash_of(to_yaml(resolved))});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank][0] != all[0][0])
      throw InputError(fmt::format("process {} runs another build of femcg than process 0: start one", rank));
    if (all[rank][1] != all[0][1])
      throw InputError(fmt::format("process {} has another case than process 0: start all with one", rank));
  }
}

mesh::Mesh make_shared_mesh(const Case& resolved, const Communicator& communicator) {
  if (std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source)) return make_mesh(resolved);
  mesh::Mesh mesh;
  if (communicator.is_first()) mesh = make_mesh(resolved);
  broadcast(mesh, communicator);
  return mesh;
}

std::vector<std::int32_t> partition(const Case& resolved, const mesh::Mesh& mesh, const Communicator& communicator) {
  std::vector<std::int32_t> process_of(mesh.cell_count());
  if (communicator.is_first())
    process_of = placed(resolved.distribution.partition_place, [&] {
      return resolved.distribution.partition == Partition::metis
                 ? mesh::partition_by_metis(mesh, communicator.size())
                 : mesh::partition_along_curve(mesh, communicator.size());
    });
  communicator.broadcast(std::span(process_of), 0);
  return process_of;
}

void check_threads(const Communicator& communicator, Record& record) {
  const auto hosts = communicator.gathered(host_name());
  const auto threads = communicator.gathered(std::vector{record.machine.threads});
  std::int64_t all = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] == host_name()) all += threads[rank].front();
  if (const std::int64_t cores = sysconf(_SC_NPROCESSORS_ONLN); all > cores)
    record.remarks.push_back(fmt::format(
        "the processes on a machine of {} cores have {} threads together: use --threads, or fewer processes", cores,
        all));
}

template <std::floating_point T>
std::unique_ptr<DistributedOperator<T>> make_operator(const SharedRun& of, const StopRequested& stop,
                                                      Progress& progress, Record& record) {
  record.op = choose_operator<T>(of.resolved, of.problem, of.communicator, record);
  progress.step("estimating the memory");
  const MemoryUser user = user_of(of.resolved, of.problem, Device::host, record.op);
  const bool of_matrix = user.row->needs == operators::Needs::matrix;
  std::vector<std::optional<operators::MatrixRows<T>>> rows(2);
  const std::array<const FormPart*, 2> parts{&of.share.interior, &of.share.interface};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->empty()) continue;
    if (of_matrix) rows[i].emplace(parts[i]->form);
    const MemoryEstimate need =
        placed(record.op.place, [&] { return need_of_run<T>(user, parts[i]->form, of_matrix ? &*rows[i] : nullptr); });
    record.memory.host_bytes += need.host_bytes;
    record.memory.slack_host_bytes += need.slack_host_bytes;
    record.memory.parts.insert(record.memory.parts.end(), need.parts.begin(), need.parts.end());
  }
  require_memory_of_all(record.memory, record.op.name, of.communicator);
  progress.step(fmt::format("making {}", record.op.name));
  const auto make = [&](std::size_t i) {
    return placed(record.op.place, [&] { return make_part<T>(record.op, parts[i]->form, std::move(rows[i]), record); });
  };
  auto interior = make(0), interface = make(1);
  return placed(of.resolved.distribution.mode_place, [&] {
    return std::make_unique<DistributedOperator<T>>(of.communicator, of.share, std::move(interior),
                                                    std::move(interface), of.resolved.distribution.mode, stop);
  });
}

template std::unique_ptr<DistributedOperator<double>> make_operator(const SharedRun&, const StopRequested&, Progress&,
                                                                    Record&);
template std::unique_ptr<DistributedOperator<float>> make_operator(const SharedRun&, const StopRequested&, Progress&,
                                                                   Record&);

}  // namespace femcg::solver
