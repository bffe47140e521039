#include "operators/distributed/distributed_form_product.hpp"

#include "mesh/base/pages.hpp"
#include "operators/backend/copied_values.hpp"
#include "operators/backend/memory.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/check/form_product.hpp"

namespace femcg::operators {

std::vector<double> DistributedFormProduct::residual(std::span<const double> x, std::span<const double> b) {
  std::vector<double> r = to_map(of_cells(from_map(x, *map_)), *map_);
  sum_.add_up(r.data() + map_->first_shared);
  for_each_row(std::ssize(r), [&](std::int64_t i) { r[i] += b[i]; });
  return r;
}

Device DistributedFormProduct::device() {
  if (device_) return *device_;
  constexpr std::int64_t vectors = 4 + 9;  // x, b, r and scratch; and those of CG, which may still be allocated
  const auto fits = [&] {
    return FormProductOnGpu::bytes(*form_, *gpu_keeps_) + vectors * form_->unknowns * std::int64_t{sizeof(double)} <=
           available_bytes(Device::cuda);
  };
  device_ = gpu_keeps_ && form_->cells() > 0 && fits() ? Device::cuda : Device::host;
  return *device_;
}

std::vector<double> DistributedFormProduct::of_cells(const std::vector<double>& x) {
  std::vector<double> nothing = mesh::filled<double>(x.size());
  if (device() == Device::host) return FormProduct(*form_).residual(x, nothing);
  if (!on_gpu_) on_gpu_.emplace(*form_, *gpu_keeps_);
  Vector<double> r(std::ssize(x), Device::cuda), scratch(std::ssize(x), Device::cuda);
  on_gpu_->residual(copied(std::span<const double>(x), Device::cuda),
                    copied(std::span<const double>(nothing), Device::cuda), r, scratch);
  copy_bytes(r.data(), Device::cuda, nothing.data(), Device::host, r.bytes());
  return nothing;
}

}  // namespace femcg::operators
