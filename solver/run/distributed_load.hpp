#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "operators/distributed/distributed_form_product.hpp"
#include "operators/distributed/distributed_operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/mapped_load.hpp"
#include "solver/run/true_residual.hpp"

namespace femcg::solver {

/// What the GPU of a process keeps for true residuals; nothing where there is none, where several processes may share
/// it, and where it does not pay.
template <std::floating_point T>
std::optional<operators::FormProductOnGpu::Unknowns> gpu_of_residuals(const SharedRun& of, operators::Device device) {
  const bool has_one = device == operators::Device::cuda && of.resolved.distribution.processes_per_gpu == 1;
  return has_one && operators::FormProductOnGpu::pays(of.problem.form()) ? std::optional(unknowns_for<T>)
                                                                         : std::nullopt;
}

/// The system of one load over all processes, and how CG is to solve it.
template <std::floating_point T>
class DistributedLoad {
 public:
  /// All of these must outlive it. Together.
  DistributedLoad(const SharedRun& of, const Load& load, const operators::DistributedOperator<T>& a,
                  const Preconditioner<T>& preconditioner, Progress& progress);
  DistributedLoad(const DistributedLoad&) = delete;
  DistributedLoad& operator=(const DistributedLoad&) = delete;

  const operators::Vector<T>& b() const { return b_; }
  const CgOptions<T>& options() const { return options_; }
  /// What CG begins from, and the dofs of what it comes to.
  std::vector<double> start(std::span<const double> x) const { return mapped_.start(x, of_); }
  std::vector<double> dofs(std::vector<double> x) const { return mapped_.dofs(std::move(x), of_, load_); }

 private:
  const SharedRun& of_;
  const Load& load_;
  MappedLoad mapped_;
  operators::Vector<T> b_;
  operators::DistributedFormProduct product_;
  CgOptions<T> options_;
};

extern template class DistributedLoad<double>;
extern template class DistributedLoad<float>;

}  // namespace femcg::solver
