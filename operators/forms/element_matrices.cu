// All element matrices on a GPU, packed, cell after cell.

#include <algorithm>

#include "operators/forms/element_matrices.cuh"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

struct PackedLayout {
  int size;

  __device__ std::int64_t index(std::int64_t matrix, int i, int j) const { return matrix * size + i * (i + 1) / 2 + j; }
};

}  // namespace

ElementMatrices cuda_element_matrices(const BilinearForm& form) {
  ElementMatrices matrices{form.dofs_per_cell(), {}, {}};
  matrices.unknowns = copied(unknowns_of_cells(form), Device::cuda);
  matrices.values = Vector<double>(form.cells() * matrices.packed_size(), Device::cuda);
  const PackedLayout layout{static_cast<int>(matrices.packed_size())};
  const FactorInputs factors = factor_inputs(form, Device::cuda);
  const Vector<double> gradients = basis_gradients(form, Device::cuda);
  cuda::launch_element_matrices(factors, gradients, matrices.dofs, layout, nullptr, form.cells(),
                                matrices.values.data());
  const RobinMatrices robin = robin_matrices(form);
  Vector<std::int64_t> places(std::ssize(robin.cells));
  std::ranges::copy(robin.cells, places.data());
  cuda::replace_element_matrices(layout, matrices.dofs, places, robin.values, matrices.values.data());
  synchronize(Device::cuda);  // before factors and gradients are freed
  return matrices;
}

}  // namespace femcg::operators
