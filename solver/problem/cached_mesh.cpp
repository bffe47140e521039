#include "solver/problem/cached_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/check/geo_words.hpp"
#include "mesh/gmsh/raw/shared_bytes.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/problem/cache_folder.hpp"

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view format = "femcg mesh 1";
constexpr std::string_view ending = ".mesh";
constexpr std::size_t word = sizeof(std::uint64_t);

/// FNV-1a hash over 64-bit words, to detect damage and distinguish keys.
class Checksum {
 public:
  void add(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += word) {
      std::uint64_t next = 0;
      std::memcpy(&next, bytes.data() + i, std::min(word, bytes.size() - i));
      sum_ = (sum_ ^ next) * 0x100000001b3U;
    }
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

/// Writes the format of SharedReader: every item begins at a multiple of 8 bytes.
class Writer {
 public:
  explicit Writer(std::ostream& stream) : stream_(&stream) {}
  void number(std::int64_t value) { bytes({reinterpret_cast<const char*>(&value), sizeof value}); }
  void text(std::string_view text) {
    number(std::ssize(text));
    bytes(text);
  }
  template <class T>
  void array(const std::vector<T>& values) {
    number(std::ssize(values));
    bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  void texts(const std::vector<std::string>& all) {
    number(std::ssize(all));
    for (const std::string& one : all) text(one);
  }
  /// Writes the checksum; must be the last item.
  void checksum() { number(static_cast<std::int64_t>(sum_.value())); }

 private:
  void bytes(std::string_view bytes) {
    constexpr std::array<char, word> padding{};
    sum_.add(bytes);
    stream_->write(bytes.data(), std::ssize(bytes));
    stream_->write(padding.data(), static_cast<std::streamsize>((word - bytes.size() % word) % word));
  }

  std::ostream* stream_;
  Checksum sum_;
};

void write(std::ostream& stream, const MeshKey& key, const mesh::Mesh& mesh) {
  Writer writer(stream);
  for (const std::string_view text : {format, std::string_view(key.options), std::string_view(key.content)})
    writer.text(text);
  writer.number(static_cast<int>(mesh.shape));
  writer.number(mesh.order);
  writer.array(mesh.coordinates);
  writer.array(mesh.cell_nodes);
  writer.array(mesh.cell_regions);
  writer.texts(mesh.region_names);
  writer.number(std::ssize(mesh.boundaries));
  for (const mesh::BoundaryGroup& group : mesh.boundaries) {
    writer.text(group.name);
    std::vector<std::int32_t> pairs;
    for (const mesh::BoundaryFacet& facet : group.facets) pairs.insert(pairs.end(), {facet.cell, facet.facet});
    writer.array(pairs);
  }
  writer.texts(mesh.warnings);
  writer.checksum();
}

template <class T>
std::vector<T> array(mesh::SharedReader& reader) {
  const std::span<const T> from = reader.array<T>();
  std::vector<T> values = mesh::filled<T>(from.size());
  std::ranges::copy(from, values.begin());
  return values;
}

std::vector<std::string> texts(mesh::SharedReader& reader) {
  std::vector<std::string> all(reader.count_of(word));
  for (std::string& one : all) one = reader.text();
  return all;
}

/// Mesh in a cache file; empty if the file has another key. Throws std::runtime_error if it is damaged or no valid
/// mesh.
std::optional<mesh::Mesh> read(std::string_view bytes, const MeshKey& key) {
  const auto damaged = [] { return std::runtime_error("is damaged"); };
  std::int64_t expected = 0;
  if (bytes.size() < word || bytes.size() % word != 0) throw damaged();
  std::memcpy(&expected, bytes.data() + bytes.size() - word, word);
  bytes.remove_suffix(word);
  Checksum sum;
  sum.add(bytes);
  if (static_cast<std::int64_t>(sum.value()) != expected) throw damaged();
  mesh::SharedReader reader(bytes);
  if (reader.text() != format || reader.text() != key.options || reader.text() != key.content) return std::nullopt;
  mesh::Mesh mesh;
  const std::int64_t shape = reader.number(), order = reader.number();
  if (shape < 0 || shape >= std::ssize(mesh::all_cell_shapes) || order < 1 || order > mesh::max_degree) throw damaged();
  mesh.shape = static_cast<mesh::CellShape>(shape);
  mesh.order = static_cast<int>(order);
  mesh.coordinates = array<double>(reader);
  mesh.cell_nodes = array<std::int32_t>(reader);
  mesh.cell_regions = array<std::int32_t>(reader);
  mesh.region_names = texts(reader);
  mesh.boundaries.resize(reader.count_of(word));
  for (mesh::BoundaryGroup& group : mesh.boundaries) {
    group.name = reader.text();
    const std::span<const std::int32_t> pairs = reader.array<std::int32_t>();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) group.facets.push_back({pairs[i], pairs[i + 1]});
  }
  mesh.warnings = texts(reader);
  check_indices(mesh);
  return mesh;
}

/// Removes the least recently used meshes beyond `most_bytes`.
void remove_beyond(const fs::path& folder, std::int64_t most_bytes) {
  struct Kept {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path file;
  };
  std::vector<Kept> all;
  std::int64_t total = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code gone;  // another run may have removed it
    if (entry.path().extension() != ending || !fs::is_regular_file(entry.symlink_status(gone))) continue;
    const auto bytes = static_cast<std::int64_t>(entry.file_size(gone));
    if (!gone) all.push_back({entry.last_write_time(gone), bytes, entry.path()});
    if (!gone) total += bytes;
  }
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& oldest : all) {
    if (total <= most_bytes) return;
    std::error_code gone;
    fs::remove(oldest.file, gone);
    total -= oldest.bytes;
  }
}

}  // namespace

std::string why_not_cached(const fs::path& file, const std::string& content) {
  const std::string ending = mesh::ending_of(file);
  std::string_view open;
  if (ending.starts_with(".geo")) open = mesh::first_open_name(content);
  // An assembly whose parts are in other files.
  if (ending.starts_with(".st") && content.find("DOCUMENT_FILE") != std::string::npos) open = "DOCUMENT_FILE";
  if (open.empty()) return "";
  return fmt::format("the mesh is not kept for later runs: {} has {}, so that more than its content may decide",
                     in_quotes(file.filename().string()), on_one_line(open, 60));
}

mesh::Mesh cached_or_made(const fs::path& folder, const MeshKey& key, const std::function<mesh::Mesh()>& make,
                          std::int64_t most_bytes) {
  Checksum name;
  name.add(key.options);
  name.add(key.content);
  const fs::path file = folder / fmt::format("{:016x}{}", name.value(), ending);
  std::string warning;
  try {
    if (const auto bytes = cached_content(file)) {
      if (std::optional<mesh::Mesh> kept = read({bytes->data(), bytes->size()}, key)) {
        std::error_code ignored;  // the file then only counts as older
        fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
        kept->warnings.push_back(fmt::format(
            "the mesh was kept by an earlier run, in {}; mesh.cache: false makes it anew", in_quotes(file.string())));
        return std::move(*kept);
      }
    }
  } catch (const std::runtime_error&) {
    warning = fmt::format("the mesh was made anew: the one kept in {} is damaged", in_quotes(file.string()));
  }
  mesh::Mesh made = make();
  try {
    write_cached(file, [&](std::ostream& stream) { write(stream, key, made); });
    remove_beyond(folder, most_bytes);
  } catch (const std::system_error&) {
    made.warnings.push_back(
        fmt::format("the mesh is not kept for later runs: {} cannot be written", in_quotes(file.string())));
  }
  if (!warning.empty()) made.warnings.push_back(warning);
  return made;
}

}  // namespace femcg::solver
