#include "mesh/gmsh/process/gmsh_process.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmsh.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "mesh/base/free_memory.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/process/child_process.hpp"
#include "mesh/gmsh/process/gmsh_calls.hpp"
#include "mesh/gmsh/process/gmsh_version.hpp"

namespace femcg::mesh {

namespace {

namespace fs = std::filesystem;

/// Functions of the library, which is loaded on the first call, in this process and not in the child, so that several
/// meshes load it once.
const GmshCalls& gmsh_calls() {
  static const GmshCalls* const calls = [] {
    void* library = dlopen("libfemcg_gmsh.so", RTLD_NOW | RTLD_LOCAL);
    void* function = library == nullptr ? nullptr : dlsym(library, "femcg_gmsh_calls");
    if (function == nullptr) throw std::runtime_error(fmt::format("Gmsh cannot be loaded: {}", dlerror()));
    return reinterpret_cast<decltype(&femcg_gmsh_calls)>(function)();
  }();
  return *calls;
}

/// One sentence on a process that ended without an answer.
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

/// Temporary folder that holds only a link to a file: Gmsh runs NAME.opt next to any NAME that it opens, as a script. A
/// .geo file is included by another one, so that paths in it stay relative to its folder.
class FileAlone {
 public:
  explicit FileAlone(const fs::path& file) : FileAlone() {
    real_ = fs::absolute(file);
    const std::string ending = ending_of(file);
    way_ = folder_ / ("file" + ending);
    if (!ending.starts_with(".geo")) {
      fs::create_symlink(real_, way_);
      return;
    }
    const char quote = real_.string().find('"') == std::string::npos ? '"' : '\'';
    std::ofstream script(way_);
    script << "Include " << quote << real_.string() << quote << ";\n";
    if (!script.flush()) throw std::runtime_error(fmt::format("{} cannot be written", way_.string()));
  }
  FileAlone(const FileAlone&) = delete;
  FileAlone& operator=(const FileAlone&) = delete;
  ~FileAlone() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  const fs::path& way() const { return way_; }
  /// Gmsh's sentence on the file, or on one of its lines, with the file as the user named it.
  std::string in_words_of_user(std::string reason) const {
    for (const fs::path& file : {real_, way_})
      if (const std::string place = fmt::format("'{}', line", file.string()); reason.find(place) != std::string::npos)
        reason.replace(reason.find(place), place.size(), "line");
    if (const std::size_t at = reason.find(way_.string()); at != std::string::npos)
      reason.replace(at, way_.string().size(), real_.string());
    return reason;
  }

 private:
  FileAlone() {
    std::string name = (fs::temp_directory_path() / "femcg-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(fmt::format("no folder for Gmsh can be made in {}: {}",
                                           fs::temp_directory_path().string(), std::strerror(errno)));
    folder_ = name;
  }

  fs::path real_, folder_, way_;
};

/// Answer of Gmsh's process, after its first number.
SharedReader accepted(const ChildResult& result) {
  if (result.end != ChildEnd::done) throw std::runtime_error(fate(result));
  SharedReader reader(result.bytes);
  if (reader.number() != static_cast<std::int64_t>(Answer::result)) throw std::runtime_error(reader.text());
  return reader;
}

}  // namespace

RawMesh gmsh_raw_mesh(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions) {
  const GmshCalls& calls = gmsh_calls();
  const FileAlone alone(options.file);
  GmshOptions there = options;
  there.file = alone.way();
  MeshingPlan with_memory = plan;
  with_memory.free_memory = free_memory();
  const ChildResult result =
      run_in_child([&](SharedWriter& writer) { calls.make_raw_mesh(there, with_memory, declared_partitions, writer); });
  try {
    SharedReader reader = accepted(result);
    RawMesh raw = read_raw_mesh(reader);
    raw.owner = result.owner;
    return raw;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(alone.in_words_of_user(error.what()));
  }
}

bool gmsh_available() { return true; }

std::string gmsh_version() {
  const GmshCalls& calls = gmsh_calls();
  const ChildResult result = run_in_child(calls.tell_version);
  return accepted(result).text();
}

std::string gmsh_interface_version() { return GMSH_API_VERSION; }

}  // namespace femcg::mesh
