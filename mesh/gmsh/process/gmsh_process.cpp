#include "mesh/gmsh/process/gmsh_process.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmsh.h>

#include <stdexcept>
#include <string>

#include "mesh/gmsh/process/gmsh_calls.hpp"
#include "mesh/gmsh/process/child_process.hpp"
#include "mesh/gmsh/process/gmsh_version.hpp"

namespace femcg::mesh {

namespace {

/// Loaded on the first call, here and not in the child, so that several meshes load it once.
const GmshCalls& gmsh_calls() {
  static const GmshCalls* const calls = [] {
    void* library = dlopen("libfemcg_gmsh.so", RTLD_NOW | RTLD_LOCAL);
    void* function = library == nullptr ? nullptr : dlsym(library, "femcg_gmsh_calls");
    if (function == nullptr) throw std::runtime_error(fmt::format("Gmsh cannot be loaded: {}", dlerror()));
    return reinterpret_cast<decltype(&femcg_gmsh_calls)>(function)();
  }();
  return *calls;
}

/// One sentence on a process that did not live to answer.
std::string fate(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::exited:
      return "it made Gmsh end before there was a mesh: take Exit, Abort or Quit out of it";
    case ChildEnd::out_of_memory:
      return fmt::format("Gmsh needs more than the {:.3g} GB of memory that are free for it",
                         1e-9 * static_cast<double>(result.memory_limit));
    case ChildEnd::interrupted:
      return fmt::format("Gmsh was interrupted ({})", result.reason);
    default:
      return fmt::format("Gmsh crashed over it ({}): the file is damaged, or more than this Gmsh can do",
                         result.reason);
  }
}

/// The answer of Gmsh's process, from behind its first number on.
SharedReader accepted(const ChildResult& result) {
  if (result.end != ChildEnd::done) throw std::runtime_error(fate(result));
  SharedReader reader(result.bytes);
  if (reader.number() != static_cast<std::int64_t>(Answer::result)) throw std::runtime_error(reader.text());
  return reader;
}

}  // namespace

RawMesh gmsh_raw_mesh(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions) {
  const GmshCalls& calls = gmsh_calls();
  const ChildResult result =
      run_in_child([&](SharedWriter& writer) { calls.make_raw_mesh(options, plan, declared_partitions, writer); });
  SharedReader reader = accepted(result);
  RawMesh raw = read_raw_mesh(reader);
  raw.owner = result.owner;
  return raw;
}

bool gmsh_available() { return true; }

std::string gmsh_version() {
  const GmshCalls& calls = gmsh_calls();
  const ChildResult result = run_in_child(calls.tell_version);
  return accepted(result).text();
}

std::string gmsh_interface_version() { return GMSH_API_VERSION; }

}  // namespace femcg::mesh
