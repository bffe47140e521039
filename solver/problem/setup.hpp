#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/parts/mesh_part.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The mesh of a case: generated or read, refined, checked, its cells in the order that the case asks for. Throws
/// InputError.
mesh::Mesh make_mesh(const Case& resolved);

/// The box of a case, and how often its mesh is still to be refined: not at all where that gives a box again
/// (mesh::refined_box).
struct UnrefinedBox {
  mesh::BoxOptions box;
  int refinements;
};
UnrefinedBox unrefined_box(const Case& resolved);

/// The mesh before the refinements that are left then: all of a file that is meshed, none of a geometry, whose mesh
/// Gmsh refines. Throws InputError where they would make too many cells.
mesh::Mesh make_unrefined_mesh(const Case& resolved);
int refinements_left(const Case& resolved);
/// Validates the mesh of a case that is a box, or a part of it: files are validated where they are read. Throws
/// InputError.
void validate_box(const Case& resolved, mesh::Mesh& mesh);

/// What one of so many processes has of the mesh of a case that is a box, in blocks. Throws InputError.
mesh::MeshPart make_box_part(const Case& resolved, int rank, int processes);

/// The space of a case's degree on its mesh, which must outlive it. Throws InputError where there are too many dofs.
mesh::FunctionSpace make_space(const Case& resolved, const mesh::Mesh& mesh);

/// Whether a GPU can be used now.
bool has_gpu();
/// Whether a device of a case is a GPU: cuda, or cuda:1 by its number.
bool is_gpu(std::string_view device);
/// Has a GPU be used: the one whose number the device says, or else the first that can be. Throws MachineError, which
/// says why, where that cannot be.
void require_gpu(std::string_view device);

/// The device of a name, where every operator has a version for it: `auto` is the GPU where there is one.
operators::Device device_named(std::string_view device);

/// The device that a case runs on. A GPU that it insists on may be absent (require_gpu). Throws InputError where the
/// operator has no version for it.
operators::Device choose_device(const Case& resolved, const OperatorChoice& choice);

/// What copying one large array to another moves a second on a device.
struct CopyBandwidth {
  double bytes_per_second = 0;  ///< 0: it could not be measured
  std::string remark;           ///< why it could not, or why it cannot be kept
};
/// Never fails, since nobody would give up a solution for it.
CopyBandwidth measure_copy_bandwidth(operators::Device device);

/// Likewise what comes a second from the host's memory to the GPU.
CopyBandwidth measure_link_bandwidth();

/// What an exception says; of those that are thrown without a sentence for want of memory, that.
std::string reason_of(const std::exception& error);
/// Whether it says that what was asked for does not fit the problem, and not that the machine failed.
bool is_refusal(const std::exception& error);

/// The numbers by which a person knows a problem: of all processes, together.
ProblemSize size_of(const Problem& problem);

/// Makes a results folder and sees that these files can be written into it, before the work rather than after it;
/// what crashed runs left behind is removed. Throws MachineError, or std::system_error that names the file.
void prepare_directory(const std::filesystem::path& directory, const std::vector<std::string>& files);

/// Runs a step and adds its wall-clock time.
template <class Step>
auto timed(double& seconds, Step step) {
  const auto begin = std::chrono::steady_clock::now();
  struct AddOnExit {
    double& seconds;
    std::chrono::steady_clock::time_point begin;
    ~AddOnExit() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
  } const add{seconds, begin};
  return step();
}

}  // namespace femcg::solver
