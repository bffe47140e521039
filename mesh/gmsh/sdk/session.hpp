#pragma once

#include <sstream>
#include <string>

namespace femcg::mesh {

/// Starts the Gmsh SDK in a process made for it (child_process.hpp) and ends without finalising it. Captures
/// OpenCASCADE's standard output for the error message.
class GmshSession {
 public:
  GmshSession();

  /// First line that OpenCASCADE printed, without colours and decoration; empty if it printed none.
  std::string printed() const;

 private:
  std::ostringstream captured_;
};

/// Message of the current exception of Gmsh; to be called inside a catch block. Gmsh throws strings, OpenCASCADE a
/// class of its own. Rethrows std::bad_alloc.
std::string gmsh_error();

}  // namespace femcg::mesh
