#include "operators/stored/assembled/assembly_on_gpu.hpp"

#include <type_traits>
#include <utility>

#include "operators/stored/assembled/expected_entries.hpp"

namespace femcg::operators {

bool can_assemble_on_gpu(const BilinearForm& form) {
  if (!cuda_device_in_use()) return false;
  const double n = form.dofs_per_cell(), cells = form.cells();
  constexpr double of_entry = 12, of_appearance = 4 + 2 * (4 + 8);  // bytes: value and column; unknown, sorted twice
  const double of_element_matrices = 4 * n * (n + 1), of_terms = of_entry * n * n;
  const double bytes = cells * (of_element_matrices + of_appearance * n + of_terms) +
                       of_entry * expected_entries(form, form.space->degree());
  constexpr double most = 0.7;  // of the memory that is free
  return bytes <= most * static_cast<double>(available_bytes(Device::cuda));
}

template <std::floating_point T>
CsrMatrix<T> on_host(RectangularMatrix matrix) {
  if (matrix.device() != Device::host) matrix = copied(matrix, Device::host);
  CsrMatrix<T> result;
  result.rows = matrix.rows;
  result.row_offsets = std::move(matrix.row_offsets);
  result.columns = std::move(matrix.column);
  if constexpr (std::is_same_v<T, double>) {
    result.values = std::move(matrix.value);
  } else {
    result.values = Vector<T>(matrix.value.size());
    copy(matrix.value, result.values);
  }
  return result;
}

template CsrMatrix<double> on_host(RectangularMatrix);
template CsrMatrix<float> on_host(RectangularMatrix);

}  // namespace femcg::operators
