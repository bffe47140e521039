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

/// Fills a file. The stream throws at the first failure, so that it need not be checked.
using FileContent = std::function<void(std::ostream&)>;

/// Writes a file whole or not at all: `write` fills a temporary in the same directory, which is flushed to the disk and
/// then renamed to `file`. Whatever is thrown, the temporary is gone and an earlier `file` is as it was. Throws
/// std::system_error, naming the file and the reason, where the directory is missing or read-only, the disk is full, or
/// `file` is something other than a regular file.
void write_atomically(const std::filesystem::path& file, const FileContent& write);

/// The same with the content at hand.
void write_atomically(const std::filesystem::path& file, std::string_view content);

class TemporaryFile;

/// Files of one directory that belong together. All are written under temporary names, so that earlier ones are as they
/// were where one cannot be written; put_in_place() then renames them. The last one added is gone while the others are
/// replaced: where it is there, all others are of the same group, even after a crash. Throws as write_atomically does.
class FileGroup {
 public:
  explicit FileGroup(std::filesystem::path directory);
  ~FileGroup();
  FileGroup(const FileGroup&) = delete;
  FileGroup& operator=(const FileGroup&) = delete;

  void add(const std::string& name, const FileContent& write);
  void add(const std::string& name, std::string_view content);
  /// An earlier group may have this file, and this one does not.
  void leave_out(const std::string& name);
  /// Total bytes of the files added so far.
  std::int64_t bytes() const;
  /// Once, after everything was added.
  void put_in_place();

 private:
  std::filesystem::path directory_;
  std::vector<std::unique_ptr<TemporaryFile>> files_;
  std::vector<std::filesystem::path> left_out_;
};

/// Throws std::system_error where files of these names could not be written into a directory: it is missing or
/// read-only, or one of them is there and no regular file. Removes the temporaries of processes that are gone: of this
/// machine at once, of others that share the directory when a day old.
void prepare_for_files(const std::filesystem::path& directory, const std::vector<std::string>& names);

}  // namespace femcg::mesh
