#include "solver/true_residual.hpp"

#include <type_traits>

#include "operators/backend/memory.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Vector;

namespace {

/// In single precision CG asks for many residuals.
template <std::floating_point T>
constexpr auto unknowns_for = std::is_same_v<T, double> ? operators::FormProductOnGpu::Unknowns::sent
                                                        : operators::FormProductOnGpu::Unknowns::kept;

/// Whether a GPU is done before the processor, which needs no copy of the mesh, and has room beside the vectors of CG,
/// which are yet to come.
template <std::floating_point T>
bool is_for_gpu(const operators::BilinearForm& form) {
  constexpr std::int64_t entries_that_pay = 4'000'000, vectors_of_cg = 9;
  if (std::int64_t{form.cells()} * form.dofs_per_cell() < entries_that_pay) return false;
  const std::int64_t of_unknown =
      vectors_of_cg * std::int64_t{sizeof(T)} + (std::is_same_v<T, double> ? 1 : 4) * std::int64_t{sizeof(double)};
  return operators::FormProductOnGpu::bytes(form, unknowns_for<T>) + of_unknown * form.unknowns <=
         operators::available_bytes(Device::cuda);
}

}  // namespace

template <std::floating_point T>
TrueResidual<T>::TrueResidual(const Problem& problem, Device device, StepTimes& times)
    : problem_(&problem), times_(&times), on_gpu_(device == Device::cuda && is_for_gpu<T>(problem.form())) {}

template <std::floating_point T>
void TrueResidual<T>::check(const ScaledLoad& load, const Vector<T>& b, CgOptions<T>& options) {
  if (!on_gpu_) {
    options.true_residual = [this, &load](const std::vector<double>& x) {
      const StepTimes::Within step(*times_, residual_step, "cpu");
      return problem_->residual(x, load.values);
    };
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    options.residual_on_gpu = [this, &b](const Vector<double>& x, Vector<double>& r, Vector<double>& scratch) {
      compute_there(b, x, r, scratch);
    };
  } else {
    b_ = Vector<double>(b.size(), Device::cuda);
    operators::copy_bytes(load.values.data(), Device::host, b_.data(), Device::cuda, b_.bytes());
    options.residual_on_gpu = [this](const Vector<double>& x, Vector<double>& r, Vector<double>& scratch) {
      compute_there(b_, x, r, scratch);
    };
  }
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
