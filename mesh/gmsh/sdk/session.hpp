#pragma once

#include <sstream>
#include <string>

namespace femcg::mesh {

/// Starts the Gmsh SDK in a process that is made for it (child_process.hpp) and ends without finalizing it. What
/// OpenCASCADE prints on standard output is kept for the error message.
class GmshSession {
 public:
  GmshSession();

  /// The first line that OpenCASCADE printed, without colours and ornaments; empty if it printed none.
  std::string printed() const;

 private:
  std::ostringstream captured_;
};

/// The reason for what Gmsh just threw, to be called inside a catch block: its errors are strings, OpenCASCADE's have a
/// class of their own. Memory that ran out is thrown on.
std::string gmsh_error();

}  // namespace femcg::mesh
