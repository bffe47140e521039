// save_by_gmsh FILE.geo: lets Gmsh execute a script, as its own program would, so that tests have files in other
// formats. femcg itself lets no script write.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "mesh/gmsh/process/gmsh_calls.hpp"

int main(int count, char** arguments) {
  using namespace femcg::mesh;
  void* library = dlopen("libfemcg_gmsh.so", RTLD_NOW);
  void* function = library != nullptr ? dlsym(library, "femcg_gmsh_calls") : nullptr;
  if (count != 2 || function == nullptr) return std::fprintf(stderr, "save_by_gmsh: no file, or no Gmsh\n"), 1;
  GmshOptions options;
  options.file = arguments[1];
  SharedWriter answer(memfd_create("answer", 0));
  reinterpret_cast<decltype(&femcg_gmsh_calls)>(function)()->make_raw_mesh(options, {}, 0, answer);
  _exit(0);  // without closing Gmsh's session
}
