#pragma once

#include <span>
#include <vector>

#include "operators/distributed/interface_sum.hpp"

namespace femcg::operators {

/// FormProduct of a form over its processes: each computes with its own cells. Vectors are as IndexMap says.
class DistributedFormProduct {
 public:
  /// Of this process's form, of which the map is; all must outlive it. Together, as residual.
  DistributedFormProduct(const Communicator& communicator, const BilinearForm& form, const IndexMap& map)
      : form_(&form), map_(&map), sum_(communicator, map) {}

  /// b - A x in double precision.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b);

 private:
  const BilinearForm* form_;
  const IndexMap* map_;
  InterfaceSum<double> sum_;
};

}  // namespace femcg::operators
