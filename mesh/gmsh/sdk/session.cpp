#include "mesh/gmsh/sdk/session.hpp"

#include <gmsh.h>

#include <exception>
#include <iostream>
#include <new>

namespace femcg::mesh {

GmshSession::GmshSession() {
  std::cout.rdbuf(captured_.rdbuf());
  constexpr bool read_configuration_files = false;
  gmsh::initialize(0, nullptr, read_configuration_files);
  gmsh::option::setNumber("General.Terminal", 0);
  // With more threads Gmsh's node numbering depends on their timing and is not reproducible.
  gmsh::option::setNumber("General.NumThreads", 1);
}

std::string GmshSession::printed() const {
  std::istringstream lines(captured_.str());
  std::string line;
  while (std::getline(lines, line)) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\033') {  // A colour: ESC [ ... m
        i = std::min(line.find('m', i), line.size());
      } else {
        plain += line[i];
      }
    }
    const std::size_t first = plain.find_first_not_of("* \t");
    if (first == std::string::npos || plain.starts_with("Total number of loaded entities")) continue;  // of IGES files
    return plain.substr(first, plain.find_last_not_of("* \t") + 1 - first);
  }
  return {};
}

std::string gmsh_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "the geometry kernel failed without a reason";
  }
}

}  // namespace femcg::mesh
