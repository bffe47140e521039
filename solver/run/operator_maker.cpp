#include "solver/run/operator_maker.hpp"
#include "solver/messages/do_on_all.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Device;
using operators::DistributedOperator;
using operators::Needs;
using operators::Operator;
using operators::OperatorDescription;

namespace {

const OperatorDescription& row_of(const OperatorChoice& op) { return *operators::find_operator(op.name); }

/// Bytes of a conversion, including those to make it. Throws std::invalid_argument like making it, and if rows would be
/// streamed from the host.
template <std::floating_point T>
std::int64_t bytes_of_conversion(const OperatorChoice& op, const operators::Ingredients<T>& from) {
  const operators::Extent<T> extent{from.device, from.form, from.matrix.get(), from.reserved_bytes};
  const operators::StorageEstimate estimate = row_of(op).estimate<T>(extent, op.options);
  if (estimate.in_chunks) throw std::invalid_argument("its rows would come from the host with each product");
  return estimate.stored() + estimate.making;
}

}  // namespace

MemoryUser user_of(const SolverChoice& solver, const Problem& problem, Device device, const OperatorChoice& op) {
  return {&row_of(op),
          &op.options,
          device,
          find_preconditioner(solver.preconditioner.name),
          solver.method,
          solver.loop,
          static_cast<std::int64_t>(problem.loads().size())};
}

template <std::floating_point T>
OperatorMaker<T>::OperatorMaker(const Problem& problem, const operators::FormSubdomain* share,
                                const SolverChoice& solver, const DistributionChoice& distribution, bool cores_to_spare,
                                const RunContext& context, Record& record)
    : problem_(problem),
      share_(share),
      solver_(solver),
      distribution_(distribution),
      cores_to_spare_(cores_to_spare),
      context_(context),
      record_(record) {
  if (share == nullptr) {
    parts_.push_back({&problem.form()});
  } else {
    parts_.push_back({&share->interior.form});
    parts_.push_back({&share->interface.form});
  }
}

template <std::floating_point T>
MemoryEstimate OperatorMaker<T>::need_of(const OperatorChoice& op) {
  MemoryUser user = user_of(solver_, problem_, record_.device, op);
  const bool of_matrix = user.row->needs == Needs::matrix;
  MemoryEstimate all;
  do_on_all(context_.processes, [&] {
    for (Part& part : parts_ | std::views::reverse) {  // the interface's exists while the larger interior one is made
      if (is_left_out(part)) continue;
      if (of_matrix && !part.rows) part.rows.emplace(*part.form, record_.device);
      const MemoryEstimate need =
          placed(op.place, [&] { return need_of_run<T>(user, *part.form, of_matrix ? &*part.rows : nullptr); });
      if (share_ == nullptr) {
        placed(solver_.loop_place, [&] { require_loop(need, user); });
        all = need;
      } else {
        add(need, all);
      }
      user.also_on_device = need.device_bytes;
    }
  });
  if (const std::size_t loads = problem_.data().loads.size(); loads > 0) {
    const std::int64_t solutions =
        static_cast<std::int64_t>(loads) * problem_.form().space->dof_count() * std::int64_t{sizeof(double)};
    all.parts.push_back({fmt::format("solutions of {} load{}", loads, loads == 1 ? "" : "s"), Device::host, solutions});
    all.host_bytes += solutions;
  }
  return all;
}

template <std::floating_point T>
void OperatorMaker<T>::require(const MemoryEstimate& need, const OperatorChoice& op) const {
  require_memory_of_all(need, op.name, record_.device, context_.processes);
}

template <std::floating_point T>
void OperatorMaker<T>::assemble(const OperatorChoice& op, std::int64_t reserved_bytes) {
  const Needs needs = row_of(op).needs_on(record_.device);
  const bool cells = needs == Needs::element_matrices, matrix = needs == Needs::matrix;
  Progress& progress = context_.progress;
  double& seconds = record_.seconds.assembly;
  do_on_all(context_.processes, [&] {
    for (Part& part : parts_) {
      part.from.device = record_.device;
      part.from.form = part.form;
      part.from.reserved_bytes = reserved_bytes;
      if (is_left_out(part)) continue;
      const bool on_gpu = matrix && record_.device == Device::cuda && operators::can_assemble_on_gpu(*part.form);
      if (on_gpu) {
        progress.step("assembling the matrix", name(record_.device));
        part.from.matrix = timed(seconds, [&] {
          return std::make_shared<operators::CsrMatrix<T>>(operators::assembled_by_gpu<T>(*part.form));
        });
      }
      if ((cells || matrix) && !on_gpu) {
        progress.step("assembling element matrices");
        part.element_matrices = timed(seconds, [&] { return operators::assemble_element_matrices(*part.form); });
      }
      if (matrix && !on_gpu) {
        progress.step("assembling the matrix");
        part.from.matrix = timed(seconds, [&] {
          return std::make_shared<operators::CsrMatrix<T>>(
              operators::assemble(std::move(*part.rows), part.element_matrices));
        });
      }
      part.rows.reset();
      if (cells)
        part.from.element_matrices = &part.element_matrices;
      else
        part.element_matrices = {};
    }
  });
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> OperatorMaker<T>::make(const OperatorChoice& op) {
  context_.progress.step(fmt::format("making {}", op.name), name(record_.device));
  Made made(parts_.size());
  double& seconds = record_.seconds.conversion;
  do_on_all(context_.processes, [&] {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (!is_left_out(parts_[i]))
        made[i] = placed(op.place,
                         [&] { return timed(seconds, [&] { return row_of(op).make(parts_[i].from, op.options); }); });
  });
  auto a = placed(distribution_.mode_place, [&] { return joined(std::move(made), distribution_.mode); });
  const bool of_rows = row_of(op).needs == Needs::matrix && !operators::has_single_values<T>(op.options);
  if (share_ != nullptr && of_rows && solver_.loop != CgLoop::launched)
    timed(seconds, [&] {
      dynamic_cast<DistributedOperator<T>&>(*a).keep_rows(parts_[0].from.matrix.get(), parts_[1].from.matrix.get(),
                                                          persistent_for(solver_.loop));
    });
  return a;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> OperatorMaker<T>::convert(const OperatorChoice& op, const Operator<T>& first) const {
  std::int64_t bytes = 0;
  do_on_all(context_.processes, [&] {
    for (const Part& part : parts_)
      if (!is_left_out(part)) bytes += bytes_of_conversion(op, part.from);
  });
  if (share_ == nullptr) {
    if (const std::int64_t there = operators::available_bytes(record_.device); bytes > there)
      throw operators::OutOfMemory(bytes, there, record_.device);
  } else {
    MemoryEstimate need;
    (record_.device == Device::cuda ? need.device_bytes : need.host_bytes) = bytes;
    require(need, op);
  }
  Made made(parts_.size());
  do_on_all(context_.processes, [&] {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (!is_left_out(parts_[i])) made[i] = row_of(op).make(parts_[i].from, op.options);
  });
  const auto* distributed = dynamic_cast<const DistributedOperator<T>*>(&first);
  return joined(std::move(made), distributed != nullptr ? distributed->mode() : distribution_.mode);
}

template <std::floating_point T>
void OperatorMaker<T>::release(bool keeps_matrix) {
  for (Part& part : parts_) {
    part.rows.reset();
    part.element_matrices = {};
    part.from.element_matrices = nullptr;
    if (!keeps_matrix) part.from.matrix.reset();
  }
}

template <std::floating_point T>
std::shared_ptr<const operators::CsrMatrix<T>> OperatorMaker<T>::matrix_to_read() const {
  const bool is_read =
      find_preconditioner(solver_.preconditioner.name)->reads_matrix && problem_.form().space->degree() == 1;
  return is_read && share_ == nullptr ? parts_.front().from.matrix : nullptr;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> OperatorMaker<T>::joined(Made made, operators::ExchangeMode mode) const {
  if (share_ == nullptr) return std::move(made.front());
  return std::make_unique<DistributedOperator<T>>(context_.processes, *share_, record_.device, std::move(made[0]),
                                                  std::move(made[1]), mode, context_.stop, cores_to_spare_);
}

template class OperatorMaker<double>;
template class OperatorMaker<float>;

}  // namespace femcg::solver
