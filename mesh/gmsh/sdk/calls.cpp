#include "mesh/gmsh/process/gmsh_calls.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/process/gmsh_file.hpp"
#include "mesh/gmsh/sdk/geometry.hpp"
#include "mesh/gmsh/sdk/model.hpp"
#include "mesh/gmsh/sdk/session.hpp"

namespace femcg::mesh {

namespace {

/// Throws if this build of Gmsh lacks support for a kind of file: Gmsh would silently read nothing.
void check_support(const std::filesystem::path& file) {
  if (ending_of(file) != ".med") return;
  std::string options, version;
  gmsh::option::getString("General.BuildOptions", options);
  gmsh::option::getString("General.Version", version);
  if ((" " + options + " ").find(" Med ") == std::string::npos)
    throw std::runtime_error(
        fmt::format("Gmsh {} was built without MED: save the mesh as .msh, .unv, .bdf or .inp", version));
}

void make(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions, SharedWriter& writer) {
  std::vector<std::string> warnings;
  const bool meshed = is_mesh_file(options.file);
  if (meshed) {
    check_support(options.file);
    gmsh::open(options.file.string());
    join_partitions(declared_partitions, warnings);
  } else {
    mesh_geometry(options, plan, warnings);
  }
  writer.number(static_cast<std::int64_t>(Answer::result));
  write_raw_mesh(warnings, plan, meshed, writer);
}

/// Writes the output of `make`, or the reason for its failure.
void answer(SharedWriter& writer, const std::function<void()>& make) {
  std::string reason, printed;
  try {
    const GmshSession session;
    try {
      return make();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::runtime_error& error) {
      reason = error.what();
    } catch (...) {
      reason = gmsh_error();
      if (reason.starts_with("Out of memory")) throw std::bad_alloc();  // message of Gmsh's parser
      reason = "Gmsh could not read or mesh it: " + reason;
    }
    printed = session.printed();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    reason = "Gmsh could not be started: " + gmsh_error();
  }
  writer.restart();
  writer.number(static_cast<std::int64_t>(Answer::refused));
  writer.text(printed.empty() ? reason : fmt::format("{} ({})", reason, printed));
}

void make_raw_mesh(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions,
                   SharedWriter& writer) {
  answer(writer, [&] { make(options, plan, declared_partitions, writer); });
}

void tell_version(SharedWriter& writer) {
  answer(writer, [&] {
    std::string version;
    gmsh::option::getString("General.Version", version);
    writer.number(static_cast<std::int64_t>(Answer::result));
    writer.text(version);
  });
}

constexpr GmshCalls calls{make_raw_mesh, tell_version};

}  // namespace

}  // namespace femcg::mesh

__attribute__((visibility("default"))) const femcg::mesh::GmshCalls* femcg_gmsh_calls() { return &femcg::mesh::calls; }
