#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::mesh {

/// Writes the content of a file to a stream that throws at the first failure, so that it need not be checked.
using FileContent = std::function<void(std::ostream&)>;

/// Writes a file whole or not at all: `write` fills a temporary file in the same directory, which is flushed to the
/// disk and then renamed to `file`. On any exception the temporary file is removed and an earlier `file` is unchanged.
/// Throws std::system_error, naming the file and the reason, if the directory is missing or read-only, the disk is
/// full, or `file` is not a regular file.
void write_atomically(const std::filesystem::path& file, const FileContent& write);

/// The same with the content at hand.
void write_atomically(const std::filesystem::path& file, std::string_view content);

class TemporaryFile;

/// Files of one directory that belong together. All are written under temporary names, so that earlier files are
/// unchanged if one cannot be written; put_in_place() then renames them. The file added last is absent while the others
/// are replaced: if it exists, all others are of the same group, even after a crash. Throws as write_atomically does.
class FileGroup {
 public:
  explicit FileGroup(std::filesystem::path directory);
  ~FileGroup();
  FileGroup(const FileGroup&) = delete;
  FileGroup& operator=(const FileGroup&) = delete;

  void add(const std::string& name, const FileContent& write);
  void add(const std::string& name, std::string_view content);
  /// Names a file that this group lacks and an earlier group may have: put_in_place() removes it.
  void leave_out(const std::string& name);
  /// Total bytes of the files added so far.
  std::int64_t bytes() const;
  /// Renames all files. Called once, after everything was added.
  void put_in_place();

 private:
  std::filesystem::path directory_;
  std::vector<std::unique_ptr<TemporaryFile>> files_;
  std::vector<std::filesystem::path> left_out_;
};

/// Throws std::system_error if files of these names could not be written into a directory: it is missing or read-only,
/// or one of the names belongs to something other than a regular file. Removes the temporary files of processes that
/// have ended: those of this host immediately, those of other hosts that share the directory when a day old.
void prepare_for_files(const std::filesystem::path& directory, const std::vector<std::string>& names);

}  // namespace femcg::mesh
