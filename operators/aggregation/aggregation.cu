// Aggregation on a GPU, one thread a row: the host's algorithm, with the same result to the bit.

#include "operators/aggregation/aggregation.hpp"
#include "operators/aggregation/aggregation_steps.hpp"
#include "operators/aggregation/on_gpu.cuh"

namespace femcg::operators {

RectangularMatrix cuda_strong_connections(const RectangularMatrix& a, double threshold) {
  return strong_connections_on(OnGpu(), a, threshold);
}
Aggregates cuda_aggregate(const RectangularMatrix& strong) { return aggregate_on(OnGpu(), strong); }
RectangularMatrix cuda_prolongation(const RectangularMatrix& a, const RectangularMatrix& strong,
                                    const Aggregates& aggregates, double omega) {
  return prolongation_on(OnGpu(), a, strong, aggregates, omega);
}

}  // namespace femcg::operators
