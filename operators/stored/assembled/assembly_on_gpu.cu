// Assembly on a GPU, one thread a row: the appearances of unknowns in cells are sorted by unknown, and a thread merges
// the rows of the element matrices of its unknown.

#include "operators/aggregation/grouped.hpp"
#include "operators/aggregation/on_gpu.cuh"
#include "operators/stored/assembled/assembly_on_gpu.hpp"

namespace femcg::operators {

namespace {

/// Row i of sum_c P_c' K_c P_c; zeros if `matrices` is null. An appearance is the number cell * n + a of local dof a.
struct AssembledRow {
  int n;
  const std::int64_t *offsets, *appearances;
  const std::int32_t* unknowns;  ///< [cells][n]
  const double* matrices;        ///< [cells][n (n + 1) / 2]; null for the pattern alone

  constexpr std::int64_t most(std::int64_t row) const { return (offsets[row + 1] - offsets[row]) * n; }
  template <class Row>
  constexpr void operator()(std::int64_t row, Row& to) const {
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const std::int64_t cell = appearances[k] / n;
      const int a = static_cast<int>(appearances[k] % n);
      const double* matrix = matrices + cell * (n * (n + 1) / 2);
      for (int b = 0; b < n; ++b)
        if (const std::int32_t j = unknowns[cell * n + b]; j >= 0)
          to.add(j, matrices == nullptr ? 0 : matrix[a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a]);
    }
  }
};

}  // namespace

RectangularMatrix cuda_assemble(const BilinearForm& form, const ElementMatrices& matrices) {
  const OnGpu on;
  const Groups cells = cuda_grouped(matrices.unknowns, form.unknowns);
  return on.rows(form.unknowns, form.unknowns,
                 AssembledRow{matrices.dofs, cells.offsets.data(), cells.places.data(), matrices.unknowns.data(),
                              matrices.values.size() > 0 ? matrices.values.data() : nullptr});
}

Vector<std::int64_t> cuda_row_offsets(const BilinearForm& form) {
  const ElementMatrices pattern{form.dofs_per_cell(), {}, copied(unknowns_of_cells(form), Device::cuda)};
  return cuda_assemble(form, pattern).row_offsets;
}

}  // namespace femcg::operators
