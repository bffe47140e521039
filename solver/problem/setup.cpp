#include "solver/problem/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "mesh/base/atomic_file.hpp"
#include "mesh/box/box_part.hpp"
#include "mesh/dofs/ordering.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/refinement_limit.hpp"
#include "operators/backend/copy_bandwidth.hpp"
#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/cache_folder.hpp"
#include "solver/problem/kept_mesh.hpp"

namespace femcg::solver {

namespace {

/// Without the refinements that are left then.
mesh::Mesh generate(const Case& resolved) {
  if (std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source))
    return mesh::describe_box(unrefined_box(resolved).box);
  mesh::GmshOptions file = std::get<mesh::GmshOptions>(resolved.mesh.source);
  file.refine -= refinements_left(resolved);
  return mesh::read_gmsh(file);
}

/// Throws where the refinements that are left make too many cells.
void check_refinements_left(const Case& resolved, const mesh::Mesh& mesh) {
  try {
    mesh::check_refinement(mesh.cell_count(), mesh.dimension(), refinements_left(resolved));
  } catch (const std::runtime_error& error) {
    const auto* file = std::get_if<mesh::GmshOptions>(&resolved.mesh.source);
    throw std::runtime_error((file != nullptr ? file->file.string() + ": " : "") + error.what());
  }
}

/// With its cells in the order that the case asks for.
mesh::Mesh generate_in_order(const Case& resolved) {
  mesh::Mesh mesh = generate(resolved);
  const bool from_file = std::holds_alternative<mesh::GmshOptions>(resolved.mesh.source);
  const bool curve =
      resolved.mesh.cell_order == CellOrder::curve || (resolved.mesh.cell_order == CellOrder::automatic && from_file);
  if (curve) mesh::order_cells_along_curve(mesh);
  return mesh;
}

/// The mesh of a geometry file, which is made once.
mesh::Mesh keep(const Case& resolved, const mesh::GmshOptions& options) {
  const std::filesystem::path folder = cache_folder();
  std::ifstream stream(options.file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  if (folder.empty() || !stream) return generate_in_order(resolved);  // Gmsh says what is wrong with the file
  if (std::string why = why_not_kept(options.file, content); !why.empty()) {
    mesh::Mesh mesh = generate_in_order(resolved);
    mesh.remarks.push_back(std::move(why));
    return mesh;
  }
  const std::string made_by = fmt::format("femcg {}, Gmsh {}, order of cells {}\n", FEMCG_VERSION,
                                          mesh::gmsh_interface_version(), static_cast<int>(resolved.mesh.cell_order));
  return kept_or_made(folder / "meshes", {made_by + mesh_options_text(resolved.mesh), content},
                      [&] { return generate_in_order(resolved); });
}

/// What makes a mesh; the case's place is said of what is wrong with it.
template <class Make>
auto placed_mesh(const Case& resolved, const Make& make) {
  try {
    return make();
  } catch (const InputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(at_place(resolved.mesh.place, error.what()));
  }
}

}  // namespace

UnrefinedBox unrefined_box(const Case& resolved) {
  const auto& box = std::get<mesh::BoxOptions>(resolved.mesh.source);
  if (const auto fine = mesh::refined_box(box, resolved.mesh.refine)) return {*fine, 0};
  return {box, resolved.mesh.refine};
}

int refinements_left(const Case& resolved) {
  if (std::holds_alternative<mesh::BoxOptions>(resolved.mesh.source)) return unrefined_box(resolved).refinements;
  const auto* file = std::get_if<mesh::GmshOptions>(&resolved.mesh.source);
  return mesh::has_mesh_ending(file->file) ? resolved.mesh.refine : 0;
}

void validate_box(const Case& resolved, mesh::Mesh& mesh) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  if (box != nullptr && mesh.cell_count() > 0 && !mesh::is_valid_box(*box, resolved.mesh.refine))
    placed_mesh(resolved, [&] { mesh::validate(mesh); });
}

mesh::Mesh make_mesh(const Case& resolved) {
  mesh::Mesh mesh = make_unrefined_mesh(resolved);
  const int refinements = refinements_left(resolved);
  for (int r = 0; r < refinements; ++r) mesh = mesh::refine(mesh);
  validate_box(resolved, mesh);
  return mesh;
}

mesh::Mesh make_unrefined_mesh(const Case& resolved) {
  return placed_mesh(resolved, [&] {
    const auto* file = std::get_if<mesh::GmshOptions>(&resolved.mesh.source);
    const bool kept = file != nullptr && resolved.mesh.cache && !mesh::has_mesh_ending(file->file) &&
                      std::ranges::all_of(file->groups, [&](const auto& group) {  // its condition is known as text
                        return !group.second.where || resolved.mesh.conditions.contains(group.first);
                      });
    mesh::Mesh mesh = kept ? keep(resolved, *file) : generate_in_order(resolved);
    check_refinements_left(resolved, mesh);
    return mesh;
  });
}

mesh::MeshPart make_box_part(const Case& resolved, int rank, int processes) {
  return placed_mesh(resolved, [&] {
    const auto [box, refinements] = unrefined_box(resolved);
    return mesh::part_of_box(box, refinements, rank, processes);
  });
}

mesh::FunctionSpace make_space(const Case& resolved, const mesh::Mesh& mesh) {
  try {
    return mesh::FunctionSpace(mesh, resolved.degree);
  } catch (const std::length_error& error) {
    throw InputError(at_place(resolved.mesh.place, error.what()));
  }
}

bool is_gpu(std::string_view device) { return device.starts_with("cuda"); }

bool has_gpu() { return operators::cuda_device_in_use().has_value(); }

void require_gpu(std::string_view device) {
  if (const std::size_t colon = device.find(':'); colon != std::string_view::npos) try {
      return operators::choose_cuda_device(std::stoi(std::string(device.substr(colon + 1))));
    } catch (const std::runtime_error& error) {
      throw MachineError(fmt::format("device {}", error.what()));
    }
  std::string reason;
  if (!operators::cuda_device_in_use(&reason))
    throw MachineError(fmt::format("device cuda was asked for, but there is none: {}", reason));
}

operators::Device device_named(std::string_view device) {
  return is_gpu(device) || (device == "auto" && has_gpu()) ? operators::Device::cuda : operators::Device::host;
}

operators::Device choose_device(const Case& resolved, const OperatorChoice& choice) {
  if (is_automatic(choice)) return device_named(resolved.solver.device);
  const operators::OperatorDescription& row = *operators::find_operator(choice.name);
  const auto missing = [&](std::string_view version, std::string_view other) {
    return InputError(at_place(
        choice.place, fmt::format("operator '{}' has no {} version; use device: {}", row.name, version, other)));
  };
  if (is_gpu(resolved.solver.device)) {
    if (!row.cuda) throw missing("CUDA", "cpu");
    return operators::Device::cuda;
  }
  if (resolved.solver.device == "auto" && row.cuda && has_gpu()) return operators::Device::cuda;
  if (!row.host()) throw missing("CPU", "cuda");
  return operators::Device::host;
}

CopyBandwidth measure_copy_bandwidth(operators::Device device) try {
  return {operators::measure_copy_bandwidth(device).bytes_per_second, ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the copy bandwidth was not measured: {}", reason_of(error))};
}

CopyBandwidth measure_link_bandwidth() try {
  constexpr std::int64_t bytes = std::int64_t{256} << 20;
  return {operators::cuda_link_bandwidth(bytes), ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the bandwidth of the host's link was not measured: {}", reason_of(error))};
}

std::string reason_of(const std::exception& error) {
  const bool nameless = dynamic_cast<const std::bad_alloc*>(&error) != nullptr &&
                        dynamic_cast<const operators::OutOfMemory*>(&error) == nullptr;
  return nameless ? "out of memory" : error.what();
}

bool is_refusal(const std::exception& error) {
  return dynamic_cast<const InputError*>(&error) != nullptr ||
         dynamic_cast<const std::invalid_argument*>(&error) != nullptr ||
         dynamic_cast<const std::overflow_error*>(&error) != nullptr;  // a number is too large for single precision
}

ProblemSize size_of(const Problem& problem) {
  const operators::BilinearForm& form = problem.form();
  const mesh::Mesh& mesh = form.space->mesh();
  std::array<double, 3> counts{static_cast<double>(mesh.cell_count()), static_cast<double>(form.space->dof_count()),
                               static_cast<double>(form.unknowns)};
  if (!problem.shared().neighbours().empty())
    for (std::int32_t dof = 0; dof < form.space->dof_count(); ++dof)
      if (!problem.shared().owns(dof)) {
        --counts[1];
        if (form.unknown_of_dof[dof] >= 0) --counts[2];
      }
  problem.shared().sum(counts);
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(counts[i]); };
  return {mesh.dimension(), mesh.shape,      count(0), form.space->degree(),
          mesh.order,       form.quadrature, count(1), count(2)};
}

void prepare_directory(const std::filesystem::path& directory, const std::vector<std::string>& files) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    throw MachineError(
        fmt::format("cannot make the results folder {}: {}", in_quotes(directory.string()), failure.message()));
  mesh::prepare_for_files(directory, files);
}

}  // namespace femcg::solver
