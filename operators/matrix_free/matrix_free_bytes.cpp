// What matrix-free will take, estimated without looking at a cell.

#include "operators/cell_loops/patch_bytes.hpp"
#include "operators/matrix_free/matrix_free.hpp"
#include "operators/matrix_free/matrix_free_inputs.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T>
OperatorBytes bytes_on_gpu(const Extent<T>& of, const MatrixFreeChoice& choice) {
  const BilinearForm& form = *of.form;
  const PlaceLayout layout = matrix_free_patches(form, CellGeometry::stored, sizeof(T)).layout;
  const PatchBytes patches = bytes_of_patches(form, layout, ConflictResolution::gather, sizeof(T));
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension(), points = mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  const std::int64_t of_point = patches.slots * d * (d + 1) / 2 * static_cast<std::int64_t>(sizeof(T));
  OperatorBytes bytes;
  bytes.stored = points * of_point + patches.lists + patches.interface + bytes_of_robin(form, sizeof(T));
  // Affine cells need the factors of one point, and identical ones hardly any.
  const bool surely_all = choice.geometry == "stored" || any_points(form), perhaps_once = choice.dedup != Dedup::off;
  bytes.slack = patches.interface + (surely_all ? 0 : (perhaps_once ? points : points - 1) * of_point);
  bytes.making = patches.geometry + patches.slots * std::int64_t{sizeof(std::int32_t)};
  bytes.making_on_host = bytes.making + patches.lists + patches.interface;
  if (form.robin.empty()) bytes.resident = patches.resident;
  return bytes;
}

}  // namespace

template <std::floating_point T>
OperatorBytes bytes_of_matrix_free(const Extent<T>& of, const Options& given) {
  const MatrixFreeChoice choice = chosen_matrix_free(*of.form, of.device, given);
  if (of.device == Device::cuda) return bytes_on_gpu(of, choice);
  OperatorBytes bytes = bytes_of_factors(of);
  if (choice.geometry == "stored") bytes.slack = 0;
  return bytes;
}

template OperatorBytes bytes_of_matrix_free(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_matrix_free(const Extent<float>&, const Options&);

}  // namespace femcg::operators
