#include "solver/system/linear_system.hpp"

#include <span>
#include <utility>

#include "operators/backend/copied_values.hpp"
#include "operators/backend/memory.hpp"
#include "operators/distributed/distributed_form_product.hpp"
#include "solver/krylov/refined_solution.hpp"

namespace femcg::solver {

using operators::Device;
using operators::FormProductOnGpu;
using operators::Vector;

namespace {

/// In single precision CG requests many residuals.
template <std::floating_point T>
constexpr auto unknowns_for =
    std::is_same_v<T, double> ? FormProductOnGpu::Unknowns::sent : FormProductOnGpu::Unknowns::kept;

/// System of one process, in the order of its form. Residuals are computed on the GPU if that pays, CG runs there and
/// there is room.
template <std::floating_point T>
class WholeSystem final : public LinearSystem<T> {
 public:
  WholeSystem(const Problem& problem, const InitialUnknowns& initial, Device device, StepTimes& times)
      : LinearSystem<T>(problem, nullptr, initial, times),
        pays_on_gpu_(device == Device::cuda && FormProductOnGpu::pays(problem.form())) {}

  std::vector<double> residual(std::size_t load, const std::vector<double>& u) override {
    const StepTimes::Within step(this->times_, residual_step, "cpu");
    return this->corrected(load, u, this->problem_.residual(u, this->started(load).values()));
  }

  void check(std::size_t load, const Vector<T>& b, CgOptions<T>& options) override {
    constexpr std::int64_t vectors_of_cg = 9;  // still to be allocated
    constexpr std::int64_t of_unknown =
        vectors_of_cg * std::int64_t{sizeof(T)} + (std::is_same_v<T, double> ? 1 : 4) * std::int64_t{sizeof(double)};
    options.residual_on_gpu = nullptr;
    if (this->is_corrected() || !has_room(of_unknown)) return LinearSystem<T>::check(load, b, options);
    const Vector<double>* in_double = &b_;
    if constexpr (std::is_same_v<T, double>)
      in_double = &b;
    else
      b_ = this->scaled(load).template rounded<double>(Device::cuda);
    options.residual_on_gpu = [this, in_double](const Vector<double>& u, Vector<double>& r, Vector<double>& scratch) {
      compute_on_gpu(*in_double, u, r, scratch);
    };
  }

  void check(SystemsCgOptions<T>& options) override {
    options.true_residual = [this](std::size_t load, const std::vector<double>& u) {
      constexpr std::int64_t vectors = 4;  // u, b, r and scratch
      if (this->is_corrected() || !has_room(vectors * std::int64_t{sizeof(double)})) return residual(load, u);
      Vector<double> r(std::ssize(u), Device::cuda), scratch(std::ssize(u), Device::cuda);
      compute_on_gpu(this->scaled(load).template rounded<double>(Device::cuda),
                     operators::copied(std::span<const double>(u), Device::cuda), r, scratch);
      std::vector<double> found(u.size());
      operators::copy_bytes(r.data(), Device::cuda, found.data(), Device::host, r.bytes());
      return found;
    };
  }

 private:
  /// True if the GPU is to compute residuals, and has room for this many bytes per unknown in addition to the
  /// product's.
  bool has_room(std::int64_t bytes_of_unknown) const {
    const operators::BilinearForm& form = this->problem_.form();
    return pays_on_gpu_ && FormProductOnGpu::bytes(form, unknowns_for<T>) + bytes_of_unknown * form.unknowns <=
                               operators::available_bytes(Device::cuda);
  }

  void compute_on_gpu(const Vector<double>& b, const Vector<double>& u, Vector<double>& r, Vector<double>& scratch) {
    const StepTimes::Within step(this->times_, residual_step, "cuda");
    if (!product_) product_.emplace(this->problem_.form(), unknowns_for<T>);
    product_->residual(u, b, r, scratch);
    operators::synchronize(Device::cuda);
  }

  bool pays_on_gpu_;
  std::optional<FormProductOnGpu> product_;  ///< made at the first check
  Vector<double> b_;                         ///< of the load, if CG's own is in single precision
};

/// Part of one of several processes, in the order of its map.
template <std::floating_point T>
class SharedSystem final : public LinearSystem<T> {
 public:
  SharedSystem(const Problem& problem, const operators::IndexMap& map, const InitialUnknowns& initial, bool on_gpu,
               const RunContext& context)
      : LinearSystem<T>(problem, &map, initial, context.progress.times()),
        map_(map),
        product_(context.processes, problem.form(), map,
                 on_gpu && FormProductOnGpu::pays(problem.form()) ? std::optional(unknowns_for<T>) : std::nullopt) {}

  std::vector<double> residual(std::size_t load, const std::vector<double>& u) override {
    const StepTimes::Within step(this->times_, residual_step, product_.device() == Device::cuda ? "cuda" : "cpu");
    const std::vector<double> r = product_.residual(u, operators::to_map(this->started(load).values(), map_));
    if (!this->is_corrected()) return r;
    return operators::to_map(this->corrected(load, operators::from_map(u, map_), operators::from_map(r, map_)), map_);
  }

 private:
  const operators::IndexMap& map_;
  operators::DistributedFormProduct product_;
};

}  // namespace

template <std::floating_point T>
void LinearSystem<T>::set_diagonal(const operators::Operator<T>& a, const Vector<T>& diagonal) {
  const Vector<T> natural = natural_on_host(a, diagonal);
  std::vector<double> of_form = mesh::filled<double>(static_cast<std::size_t>(natural.size()));
  operators::for_each_row(natural.size(), [&](std::int64_t i) { of_form[i] = static_cast<double>(natural[i]); });
  components_.emplace(problem_, map_ == nullptr ? std::move(of_form) : operators::from_map(of_form, *map_));
  starts_.assign(problem_.loads().size(), std::nullopt);
}

template <std::floating_point T>
const ConstantStart& LinearSystem<T>::started(std::size_t load) const {
  if (!starts_[load]) starts_[load].emplace(components_.value(), problem_.loads()[load]);
  return *starts_[load];
}

template <std::floating_point T>
Vector<T> LinearSystem<T>::b(std::size_t load, Device device) const {
  if (map_ == nullptr) return scaled(load).template rounded<T>(device);
  return operators::copied(rounded<T>(operators::to_map(started(load).values(), *map_)), device);
}

template <std::floating_point T>
std::vector<double> LinearSystem<T>::start(std::size_t load) const {
  if (initial_.empty()) return {};
  std::vector<double> w = started(load).to_difference(initial_[load]);
  return map_ == nullptr ? w : operators::to_map(w, *map_);
}

template <std::floating_point T>
std::vector<double> LinearSystem<T>::dofs(std::size_t load, std::vector<double> w, std::vector<double> room) const {
  if (map_ != nullptr) w = operators::from_map(w, *map_);
  return problem_.to_dofs(started(load).from_difference(std::move(w)), problem_.loads()[load], std::move(room));
}

template <std::floating_point T>
EnergyCheck LinearSystem<T>::energy(std::size_t load, double tolerance) const {
  if (map_ == nullptr)
    return {[this, load](std::span<const double> w) { return started(load).energy(w); },
            [this, load, tolerance](std::span<const double> w, std::span<const double> r) {
              return started(load).accuracy(w, r, tolerance);
            },
            started(load).norm()};
  return {[this, load](std::span<const double> w) { return started(load).energy(operators::from_map(w, *map_)); },
          [this, load, tolerance](std::span<const double> w, std::span<const double> r) {
            return started(load).accuracy(operators::from_map(w, *map_), operators::from_map(r, *map_), tolerance);
          },
          started(load).norm()};
}

template <std::floating_point T>
double LinearSystem<T>::heat_lost(std::size_t load, const std::vector<double>& w, double tolerance) const {
  if (map_ == nullptr) return started(load).heat_lost(w, tolerance);
  return started(load).heat_lost(operators::from_map(w, *map_), tolerance);
}

template <std::floating_point T>
std::unique_ptr<LinearSystem<T>> make_linear_system(const Problem& problem, const operators::FormSubdomain* share,
                                                    const InitialUnknowns& initial, Device device, bool has_gpu,
                                                    const RunContext& context) {
  if (share == nullptr) return std::make_unique<WholeSystem<T>>(problem, initial, device, context.progress.times());
  return std::make_unique<SharedSystem<T>>(problem, share->map, initial, device == Device::cuda && has_gpu, context);
}

template class LinearSystem<double>;
template class LinearSystem<float>;
template std::unique_ptr<LinearSystem<double>> make_linear_system(const Problem&, const operators::FormSubdomain*,
                                                                  const InitialUnknowns&, Device, bool,
                                                                  const RunContext&);
template std::unique_ptr<LinearSystem<float>> make_linear_system(const Problem&, const operators::FormSubdomain*,
                                                                 const InitialUnknowns&, Device, bool,
                                                                 const RunContext&);

}  // namespace femcg::solver
