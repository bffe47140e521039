#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/forms/check/form_product_on_gpu.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/several_systems.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/run/run_context.hpp"

namespace femcg::solver {

/// The systems A u = b of a run, one for each load, in the scaling (ScaledLoad) and numbering in which CG solves them;
/// and the residual b - A u by which a solution is accepted, straight from the form and in double precision whatever
/// CG's is. On several processes everything here is collective.
template <std::floating_point T>
class LinearSystem {
 public:
  /// All must outlive it. `map` is the order of the unknowns on several processes; null: the form's.
  LinearSystem(const Problem& problem, const operators::IndexMap* map, const InitialUnknowns& initial, StepTimes& times)
      : problem_(problem), times_(times), map_(map), initial_(initial), loads_(problem.loads().size()) {}
  virtual ~LinearSystem() = default;
  LinearSystem(const LinearSystem&) = delete;
  LinearSystem& operator=(const LinearSystem&) = delete;

  /// Right-hand side of a load on a device.
  operators::Vector<T> b(std::size_t load, operators::Device device) const;
  /// Initial guess; empty where CG begins from 0.
  std::vector<double> start(std::size_t load) const;
  /// Coefficients of all dofs of this process for CG's solution u, in the memory of `room` where that has one entry for
  /// each.
  std::vector<double> dofs(std::size_t load, std::vector<double> u, std::vector<double> room) const;

  /// b - A u.
  virtual std::vector<double> residual(std::size_t load, const std::vector<double>& u) = 0;
  /// Has CG on one load accept solutions by this residual. `b` is on CG's device and must outlive the options' use.
  virtual void check(std::size_t load, const operators::Vector<T>& b, CgOptions<T>& options) {
    static_cast<void>(b);
    options.true_residual = [this, load](const std::vector<double>& u) { return residual(load, u); };
  }
  /// The same for CG on all loads at once.
  virtual void check(SystemsCgOptions<T>& options) {
    options.true_residual = [this](std::size_t load, const std::vector<double>& u) { return residual(load, u); };
  }

 protected:
  const ScaledLoad& scaled(std::size_t load) const;

  const Problem& problem_;
  StepTimes& times_;

 private:
  const operators::IndexMap* map_;
  const InitialUnknowns& initial_;
  mutable std::vector<std::optional<ScaledLoad>> loads_;  ///< scaled when they are first asked for
};

/// The system of one process, or of each of several: their `share`, null where there is one process. All arguments but
/// `device`, CG's, must outlive it. `has_gpu` says that no other process computes on this one's GPU.
template <std::floating_point T>
std::unique_ptr<LinearSystem<T>> make_linear_system(const Problem& problem, const operators::FormSubdomain* share,
                                                    const InitialUnknowns& initial, operators::Device device,
                                                    bool has_gpu, const RunContext& context);

}  // namespace femcg::solver
