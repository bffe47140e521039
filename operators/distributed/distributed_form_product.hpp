#pragma once

#include <optional>
#include <span>
#include <vector>

#include "operators/distributed/interface_sum.hpp"
#include "operators/forms/check/form_product_on_gpu.hpp"

namespace femcg::operators {

/// FormProduct of a form over several processes: each computes with its own cells. Vectors are in the order of
/// IndexMap.
class DistributedFormProduct {
 public:
  /// Collective, as is residual. Form and map are this process's; all arguments must outlive the object. `gpu_keeps`:
  /// given for a process with its own GPU, the unknowns that the GPU holds; the GPU is used if the process has cells
  /// and there is room at the first residual.
  DistributedFormProduct(const Communicator& communicator, const BilinearForm& form, const IndexMap& map,
                         std::optional<FormProductOnGpu::Unknowns> gpu_keeps = std::nullopt)
      : form_(&form), map_(&map), sum_(communicator, map), gpu_keeps_(gpu_keeps) {}

  /// Returns b - A x in double precision.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b);
  /// The device on which this process computes.
  Device device();

 private:
  /// Returns -A x of this process's cells, x in the natural order of the unknowns.
  std::vector<double> of_cells(const std::vector<double>& x);

  const BilinearForm* form_;
  const IndexMap* map_;
  InterfaceSum<double> sum_;
  std::optional<FormProductOnGpu::Unknowns> gpu_keeps_;
  std::optional<Device> device_;  ///< set when first needed
  std::optional<FormProductOnGpu> on_gpu_;
};

}  // namespace femcg::operators
