#pragma once

#include <sstream>
#include <streambuf>
#include <string>

namespace femcg::mesh {

/// One use of the Gmsh SDK, from initialize to finalize. After an error the SDK makes only empty meshes until it is
/// finalized, so every file gets a session of its own. What Gmsh changes in the process (threads of OpenMP, locale) is
/// put back, and what OpenCASCADE prints on standard output is kept for the error message instead.
class GmshSession {
 public:
  GmshSession();
  ~GmshSession();
  GmshSession(const GmshSession&) = delete;
  GmshSession& operator=(const GmshSession&) = delete;

  /// The first line that OpenCASCADE printed, without colours and ornaments; empty if it printed none.
  std::string printed() const;

 private:
  int omp_threads_;
  std::string locale_;
  std::ostringstream captured_;
  std::streambuf* standard_output_;
};

/// The reason for what Gmsh just threw, to be called inside a catch block: its errors are strings, OpenCASCADE's have a
/// class of their own.
std::string gmsh_error();

}  // namespace femcg::mesh
