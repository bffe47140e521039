#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/forms/check/form_product_on_gpu.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/several_systems.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/system/constant_start.hpp"

namespace femcg::solver {

/// Systems A w = r of a run, one per load, scaled and ordered as for CG, where w is the difference from a start by
/// constants (ConstantStart); and the acceptance criteria of solutions: energies, and the residual r - A w, computed
/// directly from the form in double precision whatever CG's precision. All functions are collective.
template <std::floating_point T>
class LinearSystem {
 public:
  /// All arguments must outlive this object. `map`: order of the unknowns on several processes; null: the form's.
  LinearSystem(const Problem& problem, const operators::IndexMap* map, const InitialUnknowns& initial, StepTimes& times)
      : problem_(problem), times_(times), map_(map), initial_(initial), starts_(problem.loads().size()) {}
  virtual ~LinearSystem() = default;
  LinearSystem(const LinearSystem&) = delete;
  LinearSystem& operator=(const LinearSystem&) = delete;

  /// Sets the diagonal of A, in the ordering of CG's operator; must be called first.
  void set_diagonal(const operators::Operator<T>& a, const operators::Vector<T>& diagonal);
  /// Right-hand side of a load on a device.
  operators::Vector<T> b(std::size_t load, operators::Device device) const;
  /// Initial guess; empty if CG starts from 0.
  std::vector<double> start(std::size_t load) const;
  /// Coefficients of all dofs of this process for CG's solution w, in the memory of `room` if that has one entry for
  /// each.
  std::vector<double> dofs(std::size_t load, std::vector<double> w, std::vector<double> room) const;
  /// Energy criterion of convergence for CG on a load.
  EnergyCheck energy(std::size_t load, double tolerance) const;
  /// Heat that CG's solution w may lack for this tolerance.
  double heat_lost(std::size_t load, const std::vector<double>& w, double tolerance) const;

  /// r - A w.
  virtual std::vector<double> residual(std::size_t load, const std::vector<double>& u) = 0;
  /// Sets the residual by which CG on one load accepts solutions. `b` is on CG's device and must outlive the use of the
  /// options.
  virtual void check(std::size_t load, const operators::Vector<T>& b, CgOptions<T>& options) {
    static_cast<void>(b);
    options.true_residual = [this, load](const std::vector<double>& u) { return residual(load, u); };
  }
  /// The same for CG on all loads at once.
  virtual void check(SystemsCgOptions<T>& options) {
    options.true_residual = [this](std::size_t load, const std::vector<double>& u) { return residual(load, u); };
  }

 protected:
  const ConstantStart& started(std::size_t load) const;
  /// True if the true residual needs corrections, which only the host makes.
  bool is_corrected() const { return components_->conductors().count() > 0; }
  /// Corrects a residual, in the order of the form.
  std::vector<double> corrected(std::size_t load, const std::vector<double>& w, std::vector<double> r) const {
    started(load).correct(w, r);
    return r;
  }
  ScaledLoad scaled(std::size_t load) const { return {started(load).values()}; }

  const Problem& problem_;
  StepTimes& times_;

 private:
  const operators::IndexMap* map_;
  const InitialUnknowns& initial_;
  std::optional<Components> components_;
  mutable std::vector<std::optional<ConstantStart>> starts_;  ///< made on first use
};

/// System of one process, or of each of several; `share`: this process's subdomain, null on one process. All arguments
/// but `device`, CG's, must outlive the system. `has_gpu`: no other process computes on this process's GPU.
template <std::floating_point T>
std::unique_ptr<LinearSystem<T>> make_linear_system(const Problem& problem, const operators::FormSubdomain* share,
                                                    const InitialUnknowns& initial, operators::Device device,
                                                    bool has_gpu, const RunContext& context);

}  // namespace femcg::solver
