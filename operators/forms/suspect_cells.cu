// Suspect cells on a GPU, a thread for each cell.

#include "operators/aggregation/on_gpu.cuh"
#include "operators/forms/suspect_cells.hpp"

namespace femcg::operators {

namespace {

struct FlagSuspect {
  int n;
  const double* matrices;
  const std::int32_t* unknowns;
  const double* diagonal;
  std::int32_t* is_flagged;

  constexpr void operator()(std::int64_t cell) const {
    const auto unknown = [&](int i) { return unknowns[cell * n + i]; };
    is_flagged[cell] = is_suspect(matrices + cell * (n * (n + 1) / 2), n, unknown, diagonal) ? 1 : 0;
  }
};

struct ListFlagged {
  const std::int32_t* flagged_before;
  std::int32_t* list;

  constexpr void operator()(std::int64_t i) const {
    if (flagged_before[i + 1] > flagged_before[i]) list[flagged_before[i]] = static_cast<std::int32_t>(i);
  }
};

}  // namespace

std::vector<std::int32_t> cuda_suspect_cells(const ElementMatrices& matrices, const Vector<double>& diagonal) {
  const OnGpu on;
  const std::int64_t cells = matrices.unknowns.size() / matrices.dofs;
  Vector<std::int32_t> flags = zeros_on_gpu<std::int32_t>(cells + 1);
  on.for_each(cells, FlagSuspect{matrices.dofs, matrices.values.data(), matrices.unknowns.data(), diagonal.data(),
                                 flags.data()});
  Vector<std::int32_t> list(on.sum_before(flags), on.device);
  on.for_each(cells, ListFlagged{flags.data(), list.data()});
  const Vector<std::int32_t> here = copied(list, Device::host);
  return {here.span().begin(), here.span().end()};
}

}  // namespace femcg::operators
