#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "operators/forms/check/form_product_on_gpu.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/step_times.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

/// In single precision CG asks for many residuals.
template <std::floating_point T>
constexpr auto unknowns_for = std::is_same_v<T, double> ? operators::FormProductOnGpu::Unknowns::sent
                                                        : operators::FormProductOnGpu::Unknowns::kept;

/// How CG of a run checks its solutions: by b - A x straight from the form, in double precision whatever CG's is. On
/// the GPU, where that pays, CG is there and there is room; a step of its own in the times.
template <std::floating_point T>
class TrueResidual {
 public:
  /// Problem and times must outlive this.
  TrueResidual(const Problem& problem, operators::Device device, StepTimes& times);

  /// Has CG check solutions of this load, which is `b` on CG's device. All three must outlive the options' use.
  void check(const ScaledLoad& load, const operators::Vector<T>& b, CgOptions<T>& options);
  /// b - A x of one load of several that are solved at once, whose solutions are on the host.
  std::vector<double> of(const ScaledLoad& load, const std::vector<double>& x);

 private:
  void compute_there(const operators::Vector<double>& b, const operators::Vector<double>& x,
                     operators::Vector<double>& r, operators::Vector<double>& scratch);

  const Problem* problem_;
  StepTimes* times_;
  bool pays_on_gpu_;
  std::optional<operators::FormProductOnGpu> product_;  ///< from the first check on
  operators::Vector<double> b_;                         ///< of the load, where CG's own is in single precision
};

}  // namespace femcg::solver
