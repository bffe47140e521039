#include "solver/predict/predict_scaling.hpp"

#include <fmt/format.h>

#include <limits>

#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/scaling.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/problem_size.hpp"
#include "solver/records/record.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

/// Prediction for one process, with the operator of the case or of auto: with kernel launches, and as if its memory
/// were large enough, since lack of memory may be the reason for several processes.
template <std::floating_point T>
Prediction of_one_process(const Case& resolved, const Problem& problem, Device device) {
  const SolverChoice& solver = resolved.solver;
  const Rates rates = rates_of(device);
  if (!rates.known()) throw MachineError("nothing can be predicted: " + rates.warnings.front());
  const BandwidthModel model(rates);
  const PredictionInput of{.device = device,
                           .form = &problem.form(),
                           .preconditioner = find_preconditioner(solver.preconditioner.name),
                           .method = solver.method,
                           .loop = CgLoop::launched,
                           .iterations = expected_iterations(problem, solver),
                           .available = [](Device) { return std::numeric_limits<std::int64_t>::max(); }};
  std::optional<operators::MatrixRows<T>> rows;
  const OperatorChoice op = is_automatic(solver.op) ? decide(of, 1).named : solver.op;
  Prediction one = predict<T>(of, {op}, model, rates, rows).front();
  if (!one.possible()) throw InputError(at_place(solver.op.place, one.not_possible));
  return one;
}

std::string table(const Case& resolved, const std::vector<int>& processes, const MessageRates& messages,
                  Progress& progress) {
  progress.step("meshing");
  const mesh::Mesh mesh = make_mesh(resolved.mesh);
  const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
  const Problem problem(resolved.problem, space);
  progress.step("predicting");
  const bool in_double = resolved.solver.precision == Precision::double_;
  const Device device = messages.device;
  const Prediction one =
      in_double ? of_one_process<double>(resolved, problem, device) : of_one_process<float>(resolved, problem, device);
  const OneProcess alone{one.product, one.iteration - one.product, one.product_start, one.passes_start};
  const operators::SubdomainSize whole{.cells = problem.form().cells(), .unknowns = problem.form().unknowns};
  std::vector<ScalingPrediction> predictions;
  for (const int count : processes) {
    const auto surfaces =
        operators::subdomain_sizes(problem.form(), partition(resolved.mesh, resolved.distribution, mesh, count), count);
    predictions.push_back(predict_scaling(alone, whole, surfaces, in_double ? 8 : 4, messages));
  }
  const ProblemSize size = size_of(problem);
  return fmt::format("{}: {} {} of degree {}, {} unknowns; {}, {} precision, {}\n", resolved.title, grouped(size.cells),
                     plural(size.shape), size.degree, grouped(size.unknowns), one.op.name,
                     name(resolved.solver.precision), name(device)) +
         fmt::format("  one process: product {}, iteration {}; between two: latency {}, {}, a sum {}\n",
                     duration(alone.product), duration(alone.product + alone.passes), duration(messages.latency),
                     scaled(messages.bytes_per_second, "B/s"), duration(messages.sum)) +
         to_text(alone, predictions, device);
}

}  // namespace

ExitStatus predict_scaling(const Case& resolved, const std::vector<int>& processes, const Console& console,
                           const operators::Communicator& communicator) {
  Progress progress(console.progress && communicator.is_first());
  std::string why_on_host;
  const Device device = choose_shared_device(resolved.solver, resolved.distribution, communicator, why_on_host);
  const MessageRates messages = measure_messages(device, communicator);
  if (!communicator.is_first()) return ExitStatus::done;
  const std::string text = table(resolved, processes, messages, progress);
  progress.clear();
  print(text);
  if (!why_on_host.empty()) print_note(fmt::format("on processors: {}", why_on_host));
  return ExitStatus::done;
}

}  // namespace femcg::solver
