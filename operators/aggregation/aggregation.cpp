#include "operators/aggregation/aggregation.hpp"

#include "operators/aggregation/aggregation_steps.hpp"
#include "operators/aggregation/on_host.hpp"

namespace femcg::operators {

RectangularMatrix strong_connections(const RectangularMatrix& a, double threshold) {
  return a.device() == Device::cuda ? cuda_strong_connections(a, threshold)
                                    : strong_connections_on(OnHost(), a, threshold);
}

Aggregates aggregate(const RectangularMatrix& strong) {
  return strong.device() == Device::cuda ? cuda_aggregate(strong) : aggregate_on(OnHost(), strong);
}

RectangularMatrix prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                               const Aggregates& aggregates, double omega) {
  return a.device() == Device::cuda ? cuda_prolongation(a, strong, aggregates, omega)
                                    : prolongation_on(OnHost(), a, strong, aggregates, omega);
}

}  // namespace femcg::operators
