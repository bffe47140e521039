#include "mesh/gmsh/gmsh_process.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "mesh/gmsh/child_process.hpp"
#include "mesh/gmsh/file_kinds.hpp"
#include "mesh/gmsh/gmsh_file.hpp"
#include "mesh/gmsh/gmsh_geometry.hpp"
#include "mesh/gmsh/gmsh_model.hpp"
#include "mesh/gmsh/gmsh_session.hpp"

namespace femcg::mesh {

namespace {

/// What comes first from the process: a result follows, or a sentence.
enum class Answer : std::int64_t { result, refused };

/// "line 3: ..." instead of "'path/to/file', line 3: ..."
std::string without_file_name(const std::string& reason, const std::filesystem::path& file) {
  const std::string prefix = fmt::format("'{}', ", file.string());
  return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
}

/// Throws where this build of Gmsh lacks what it needs for a kind of file: without it Gmsh reads nothing, and says so
/// to nobody.
void check_support(const std::filesystem::path& file) {
  if (ending_of(file) != ".med") return;
  std::string options, version;
  gmsh::option::getString("General.BuildOptions", options);
  gmsh::option::getString("General.Version", version);
  if ((" " + options + " ").find(" Med ") == std::string::npos)
    throw std::runtime_error(
        fmt::format("Gmsh {} was built without MED: save the mesh as .msh, .unv, .bdf or .inp", version));
}

/// In Gmsh's process.
void make_raw_mesh(const GmshOptions& options, const MeshingPlan& plan, std::size_t declared_partitions,
                   SharedWriter& writer) {
  std::vector<std::string> remarks;
  if (is_mesh_file(options.file)) {
    check_support(options.file);
    gmsh::open(options.file.string());
    join_partitions(declared_partitions, remarks);
  } else {
    mesh_geometry(options, plan, remarks);
  }
  writer.number(static_cast<std::int64_t>(Answer::result));
  write_raw_mesh(remarks, plan, writer);
}

/// In Gmsh's process: answers with what `make` writes, or why that could not be.
void answer(const std::filesystem::path& file, SharedWriter& writer, const std::function<void()>& make) {
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
      reason = without_file_name(gmsh_error(), file);
      if (reason.starts_with("Out of memory")) throw std::bad_alloc();  // Gmsh's parser, in its own words
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
  const ChildResult result = run_in_child([&](SharedWriter& writer) {
    answer(options.file, writer, [&] { make_raw_mesh(options, plan, declared_partitions, writer); });
  });
  SharedReader reader = accepted(result);
  RawMesh raw = read_raw_mesh(reader);
  raw.owner = result.owner;
  return raw;
}

std::string gmsh_version() {
  const ChildResult result = run_in_child([](SharedWriter& writer) {
    answer({}, writer, [&] {
      std::string version;
      gmsh::option::getString("General.Version", version);
      writer.number(static_cast<std::int64_t>(Answer::result));
      writer.text(version);
    });
  });
  return accepted(result).text();
}

}  // namespace femcg::mesh
