#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/meshing_plan.hpp"
#include "mesh/gmsh/raw/shared_bytes.hpp"

// Entry point of libfemcg_gmsh.so (made from mesh/gmsh/sdk), a library that is loaded only when a mesh needs Gmsh:
// libgmsh depends on about a hundred others, from OpenCASCADE to MED, whose start-up would otherwise delay every
// command.

namespace femcg::mesh {

/// First word of an answer: a result follows, or an error message.
enum class Answer : std::int64_t { result, refused };

/// Functions to be called in Gmsh's process (child_process.hpp); they throw nothing but std::bad_alloc.
struct GmshCalls {
  /// Writes the raw mesh for read_raw_mesh, or an error message.
  void (*make_raw_mesh)(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions,
                        SharedWriter& writer);
  /// Writes Gmsh's version.
  void (*tell_version)(SharedWriter& writer);
};

}  // namespace femcg::mesh

extern "C" const femcg::mesh::GmshCalls* femcg_gmsh_calls();
