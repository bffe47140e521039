#include "operators/stored/assembled/assembly_on_gpu.hpp"

#include <type_traits>

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
CsrMatrix<T> on_host(const RectangularMatrix& matrix) {
  CsrMatrix<T> result;
  result.rows = matrix.rows;
  result.row_offsets = copied(matrix.row_offsets, Device::host);
  result.columns = copied(matrix.column, Device::host);
  result.values = Vector<T>(matrix.value.size());
  if (std::is_same_v<T, double> || matrix.device() == Device::host)
    copy(matrix.value, result.values);
  else
    copy(copied(matrix.value, Device::host), result.values);
  return result;
}

template CsrMatrix<double> on_host(const RectangularMatrix&);
template CsrMatrix<float> on_host(const RectangularMatrix&);

}  // namespace femcg::operators
