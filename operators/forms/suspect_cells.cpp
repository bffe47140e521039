#include "operators/forms/suspect_cells.hpp"

#include "mesh/base/counting.hpp"

namespace femcg::operators {

std::vector<std::int32_t> suspect_cells(const BilinearForm& form, const ElementMatrices& matrices,
                                        const Vector<double>& diagonal) {
  if (matrices.device() == Device::cuda) return cuda_suspect_cells(matrices, diagonal);
  return mesh::collect<std::int32_t>(form.cells(), [&](std::int64_t number, std::vector<std::int32_t>& found) {
    const auto cell = static_cast<std::int32_t>(number);
    const auto unknown = [&](int i) { return form.unknown(cell, i); };
    if (is_suspect(matrices.cell(cell).data(), matrices.dofs, unknown, diagonal.data())) found.push_back(cell);
  });
}

}  // namespace femcg::operators
