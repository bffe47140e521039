#include "solver/setup.hpp"

#include <fmt/format.h>

#include "mesh/ordering.hpp"
#include "operators/catalogue.hpp"
#include "solver/error.hpp"
#include "solver/sentence.hpp"

namespace femcg::solver {

namespace {

mesh::Mesh generate(const Case& resolved) {
  if (const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source)) {
    mesh::Mesh mesh = mesh::make_box(*box);
    for (int r = 0; r < resolved.mesh.refine; ++r) mesh = mesh::refine(mesh);
    mesh::validate(mesh);
    return mesh;
  }
  return mesh::read_gmsh(std::get<mesh::GmshOptions>(resolved.mesh.source));
}

}  // namespace

mesh::Mesh make_mesh(const Case& resolved) {
  try {
    mesh::Mesh mesh = generate(resolved);
    const bool from_file = std::holds_alternative<mesh::GmshOptions>(resolved.mesh.source);
    const bool curve =
        resolved.mesh.cell_order == CellOrder::curve || (resolved.mesh.cell_order == CellOrder::automatic && from_file);
    if (curve) mesh::order_cells_along_curve(mesh);
    return mesh;
  } catch (const InputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(at_place(resolved.mesh.place, error.what()));
  }
}

operators::Device choose_device(const Case& resolved, const OperatorChoice& choice) {
  if (resolved.solver.device == "cpu") return operators::Device::host;
  const operators::OperatorDescription& row = *operators::find_operator(choice.name);
  std::string reason;
  const bool gpu = !operators::cuda_devices(&reason).empty();
  if (resolved.solver.device == "cuda") {
    if (!gpu) throw MachineError(fmt::format("device cuda was asked for, but there is none: {}", reason));
    if (!row.cuda)
      throw InputError(
          at_place(choice.place, fmt::format("operator '{}' has no CUDA version; use device: cpu", row.name)));
    return operators::Device::cuda;
  }
  return gpu && row.cuda ? operators::Device::cuda : operators::Device::host;
}

}  // namespace femcg::solver
