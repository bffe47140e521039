#pragma once

#include <span>
#include <vector>

#include "operators/distributed/interface_sum.hpp"

namespace femcg::operators {

/// The ReferenceOperator of a whole form, over its processes: each computes with its own cells. Vectors are as IndexMap
/// says.
class DistributedReference {
 public:
  /// Both must outlive it. Together, as apply.
  DistributedReference(const Communicator& communicator, const FormShare& share)
      : share_(&share), sum_(communicator, share.map) {}

  /// y = A x in double precision.
  std::vector<double> apply(std::span<const double> x);

 private:
  const FormShare* share_;
  InterfaceSum<double> sum_;
};

}  // namespace femcg::operators
