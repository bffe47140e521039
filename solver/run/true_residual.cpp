#include "solver/run/true_residual.hpp"

#include <span>
#include <type_traits>

#include "operators/backend/copied_numbers.hpp"
#include "operators/backend/memory.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Vector;

namespace {

/// Whether the GPU has room for so many bytes an unknown beside what the product takes.
template <std::floating_point T>
bool has_room(const operators::BilinearForm& form, std::int64_t bytes_of_unknown) {
  return operators::FormProductOnGpu::bytes(form, unknowns_for<T>) + bytes_of_unknown * form.unknowns <=
         operators::available_bytes(Device::cuda);
}

Vector<double> on_gpu(std::span<const double> numbers) { return operators::copied(numbers, Device::cuda); }

}  // namespace

template <std::floating_point T>
TrueResidual<T>::TrueResidual(const Problem& problem, Device device, StepTimes& times)
    : problem_(&problem),
      times_(&times),
      pays_on_gpu_(device == Device::cuda && operators::FormProductOnGpu::pays(problem.form())) {}

template <std::floating_point T>
void TrueResidual<T>::check(const ScaledLoad& load, const Vector<T>& b, CgOptions<T>& options) {
  constexpr std::int64_t vectors_of_cg = 9;  // which are yet to come
  constexpr std::int64_t of_unknown =
      vectors_of_cg * std::int64_t{sizeof(T)} + (std::is_same_v<T, double> ? 1 : 4) * std::int64_t{sizeof(double)};
  if (!pays_on_gpu_ || !has_room<T>(problem_->form(), of_unknown)) {
    options.residual_on_gpu = nullptr;
    options.true_residual = [this, &load](const std::vector<double>& x) {
      const StepTimes::Within step(*times_, residual_step, "cpu");
      return problem_->residual(x, load.values());
    };
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    options.residual_on_gpu = [this, &b](const Vector<double>& x, Vector<double>& r, Vector<double>& scratch) {
      compute_there(b, x, r, scratch);
    };
  } else {
    b_ = load.rounded<double>(Device::cuda);
    options.residual_on_gpu = [this](const Vector<double>& x, Vector<double>& r, Vector<double>& scratch) {
      compute_there(b_, x, r, scratch);
    };
  }
}

template <std::floating_point T>
std::vector<double> TrueResidual<T>::of(const ScaledLoad& load, const std::vector<double>& x) {
  constexpr std::int64_t vectors = 4;  // x, b, r and scratch
  if (!pays_on_gpu_ || !has_room<T>(problem_->form(), vectors * std::int64_t{sizeof(double)})) {
    const StepTimes::Within step(*times_, residual_step, "cpu");
    return problem_->residual(x, load.values());
  }
  Vector<double> r(std::ssize(x), Device::cuda), scratch(std::ssize(x), Device::cuda);
  compute_there(load.rounded<double>(Device::cuda), on_gpu(x), r, scratch);
  std::vector<double> found(x.size());
  operators::copy_bytes(r.data(), Device::cuda, found.data(), Device::host, r.bytes());
  return found;
}

template <std::floating_point T>
void TrueResidual<T>::compute_there(const Vector<double>& b, const Vector<double>& x, Vector<double>& r,
                                    Vector<double>& scratch) {
  const StepTimes::Within step(*times_, residual_step, "cuda");
  if (!product_) product_.emplace(problem_->form(), unknowns_for<T>);
  product_->residual(x, b, r, scratch);
  operators::synchronize(Device::cuda);
}

template class TrueResidual<double>;
template class TrueResidual<float>;

}  // namespace femcg::solver
