#pragma once

#include <optional>
#include <span>
#include <vector>

#include "operators/distributed/interface_sum.hpp"
#include "operators/forms/check/form_product_on_gpu.hpp"

namespace femcg::operators {

/// FormProduct of a form over its processes: each computes with its own cells. Vectors are as IndexMap says.
class DistributedFormProduct {
 public:
  /// Collective, as residual. Form and map are this process's; all must outlive the object. A process with a GPU of its
  /// own may say which unknowns that holds; the GPU is used if the process has cells and there is room when it is first
  /// needed.
  DistributedFormProduct(const Communicator& communicator, const BilinearForm& form, const IndexMap& map,
                         std::optional<FormProductOnGpu::Unknowns> gpu_keeps = std::nullopt)
      : form_(&form), map_(&map), sum_(communicator, map), gpu_keeps_(gpu_keeps) {}

  /// b - A x in double precision.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b);
  /// Where this process computes it.
  Device device();

 private:
  /// -A x of its own cells, x in the natural order of the unknowns.
  std::vector<double> of_cells(const std::vector<double>& x);

  const BilinearForm* form_;
  const IndexMap* map_;
  InterfaceSum<double> sum_;
  std::optional<FormProductOnGpu::Unknowns> gpu_keeps_;
  std::optional<Device> device_;  ///< once it is known
  std::optional<FormProductOnGpu> on_gpu_;
};

}  // namespace femcg::operators
