// Suspect cells on a GPU, one thread a cell.

#include "operators/aggregation/on_gpu.cuh"
#include "operators/forms/suspect_cells.hpp"

namespace femcg::operators {

namespace {

struct IsSuspect {
  int n;
  const double* matrices;
  const std::int32_t* unknowns;
  const double* diagonal;

  constexpr bool operator()(std::int64_t cell) const {
    const auto unknown = [&](int i) { return unknowns[cell * n + i]; };
    return is_suspect(matrices + cell * (n * (n + 1) / 2), n, unknown, diagonal);
  }
};

}  // namespace

std::vector<std::int32_t> cuda_suspect_cells(const ElementMatrices& matrices, const Vector<double>& diagonal) {
  return OnGpu().numbers_with(
      matrices.unknowns.size() / matrices.dofs,
      IsSuspect{matrices.dofs, matrices.values.data(), matrices.unknowns.data(), diagonal.data()});
}

}  // namespace femcg::operators
