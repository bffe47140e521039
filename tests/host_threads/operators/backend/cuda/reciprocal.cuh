#pragma once

// Replaces operators/backend/cuda/reciprocal.cuh on the processor.

namespace femcg::operators::cuda {

template <class T>
T quick_reciprocal(T a) {
  return 1 / a;
}
template <class T>
T rounded_reciprocal(T a) {
  return 1 / a;
}

}  // namespace femcg::operators::cuda
