// The diagonal of matrix-free on the GPU, patch by patch from the data of the cells (threads: diagonal_cells.cuh).
// Reads the data of a product, and the tables once per four cells.

#include "operators/cellwise/cell_loops/patch_product.cuh"
#include "operators/cellwise/matrix_free/cells/diagonal_cells.cuh"
#include "operators/cellwise/matrix_free/matrix_free_diagonal.cuh"

namespace femcg::operators {

namespace {

template <class T, int d>
void sum_diagonals(const DiagonalSource<T>& from, const cuda::CellPatchesOnGpu& patches, std::int64_t room,
                   Vector<T>& diagonal) {
  using Cells = cuda::DiagonalCells<T, d>;
  constexpr int interface_threads = 256;
  const Cells cells{from.geometry, from.interleaved, from.dofs,      from.points,         from.numbers,
                    from.classes,  from.squares,     from.positions, from.affine_numbers, from.group_numbers};
  const auto kernel = cuda::patch_kernel<T, Cells>;
  const std::int64_t scratch =
      Cells::cells_at_once(from.dofs) * Cells::points_at_once(from.dofs, from.points) * std::int64_t{Cells::entries};
  const std::int64_t bytes = (2 * room + scratch) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t blocks = std::min(patches.patches(), cuda::prepare_patch_kernel(kernel, Cells::threads, bytes));
  Vector<T> contributions(patches.contributions(), Device::cuda);
  cuda::PartsStorage<1> parts(1);
  clear(diagonal);  // stands in for x, which is read but not used
  const cuda::PatchWork<T> work{patches.pointers(),
                                {},
                                patches.patches(),
                                ConflictResolution::gather,
                                static_cast<int>(room),
                                diagonal.data(),
                                diagonal.data(),
                                contributions.data(),
                                nullptr,
                                parts.parts()};
  cuda::launch(kernel, blocks, Cells::threads, static_cast<std::size_t>(bytes), work, cells);
  cuda::launch(cuda::gather_interface_kernel<T>, (patches.interface() + interface_threads - 1) / interface_threads,
               interface_threads, 0, work.all, patches.interface(), contributions.data(), diagonal.data());
  synchronize(Device::cuda);  // before contributions are freed
}

}  // namespace

template <std::floating_point T>
void cuda_matrix_free_diagonal(const DiagonalSource<T>& from, const cuda::CellPatchesOnGpu& patches, std::int64_t room,
                               Vector<T>& diagonal) {
  from.dimension == 2 ? sum_diagonals<T, 2>(from, patches, room, diagonal)
                      : sum_diagonals<T, 3>(from, patches, room, diagonal);
}

template void cuda_matrix_free_diagonal(const DiagonalSource<double>&, const cuda::CellPatchesOnGpu&, std::int64_t,
                                        Vector<double>&);
template void cuda_matrix_free_diagonal(const DiagonalSource<float>&, const cuda::CellPatchesOnGpu&, std::int64_t,
                                        Vector<float>&);

}  // namespace femcg::operators
