// Compiled with -ffast-math, which lets the C library's functions of several numbers at once be used (libmvec, errors
// below 4 units in the last place). It also forgets about numbers that are none, which such functions do not.

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
