#include "operators/cellwise/cell_loops/patch_bytes.hpp"

#include "mesh/element/quadrature.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

namespace {

/// Upper bound of the bytes of the mesh and of the diffusion.
std::int64_t bytes_of_geometry(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  const bool constant = form.diffusion.constant && form.diffusion.by_region.empty();
  const std::int64_t numbers_per_cell = constant ? 1 : mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  return mesh.bytes_of_nodes() + mesh.cell_count() * numbers_per_cell * std::int64_t{sizeof(double)};
}

}  // namespace

PatchBytes bytes_of_patches(const BilinearForm& form, CellLayout layout, ConflictResolution resolution,
                            std::int64_t value_bytes) {
  constexpr std::int64_t group = CellPatches::group, number = sizeof(std::int32_t);
  const bool interleaved = layout == CellLayout::interleaved;
  const std::int64_t n = form.dofs_per_cell(), local_indices = interleaved ? (n + 1) / 2 * 2 : n;
  const std::int64_t slots = interleaved ? (form.cells() + group - 1) / group * group : form.cells();
  // A local index per dof; a colour; and a fraction of a patch's data.
  const std::int64_t of_slots = slots * (local_indices * std::int64_t{sizeof(std::uint16_t)} + 1 + 2);
  // An unknown of the interface is listed by two patches and once in the interface, with an offset and two indices.
  const std::int64_t of_interface = 6 * form.unknowns * number;
  const std::int64_t contributions = resolution == ConflictResolution::gather ? 2 * form.unknowns * value_bytes : 0;
  const std::int64_t told = 2 * form.unknowns * (2 * value_bytes + number);  // values stamped with their epochs
  return {slots, of_slots, of_interface + contributions, told, bytes_of_geometry(form)};
}

std::int64_t expected_interface(const BilinearForm& form) {
  return form.unknowns * std::int64_t{form.space->mesh().dimension() == 2 ? 4 : 11};
}

}  // namespace femcg::operators
