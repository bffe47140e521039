// Compiled with -ffast-math, which allows the C library's vector functions (libmvec, errors below 4 units in the last
// place). It also assumes that there are no NaN, but these functions return them correctly.

#include "operators/forms/programs/point_loops.hpp"

namespace femcg::operators {

void carry_out_elementary(PointOperation operation, int count, const double* a, const double* b, double* to) {
  const int packs = count / points_at_once;
  with_operation(operation, [&]<PointOperation which>() {
    if constexpr (is_elementary(which))
#pragma omp simd
      for (int i = 0; i < packs * points_at_once; ++i) to[i] = result_of<which>(a[i], b[i], 0.0);
  });
}

}  // namespace femcg::operators
