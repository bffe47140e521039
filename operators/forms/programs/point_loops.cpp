#include "operators/forms/programs/point_loops.hpp"

namespace femcg::operators {

void carry_out(PointOperation operation, int count, const double* a, const double* b, const double* c, double* to) {
  if (is_elementary(operation)) return carry_out_elementary(operation, count, a, b, to);
  with_operation(operation, [&]<PointOperation which>() {
    if constexpr (!is_elementary(which))
#pragma omp simd
      for (int i = 0; i < count; ++i) to[i] = result_of<which>(a[i], b[i], c[i]);
  });
}

}  // namespace femcg::operators
