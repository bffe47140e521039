#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace femcg::mesh {

/// Unfinished file, removed when it goes out of scope unless it was renamed. Errors name `file`, which the user asked
/// for. Its name, .femcg-HOST-PROCESS-NUMBER.part, identifies the writer, which holds a lock on the file: if the lock
/// is free, the writer has ended.
class TemporaryFile {
 public:
  /// Opens a temporary file in the directory of `file` or of its link target. Throws if `file` exists and is not a
  /// regular file.
  explicit TemporaryFile(const std::filesystem::path& file);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Writes at place() and advances it.
  void write(const char* data, std::size_t size);
  std::int64_t place() const { return place_; }
  void go_to(std::int64_t place);
  /// Bytes of the file.
  std::int64_t size() const { return size_; }
  /// Flushes the file to the disk.
  void flush();
  void rename();
  /// Removes what rename() would replace.
  void remove_earlier();

 private:
  std::filesystem::path file_, target_;
  std::string name_;
  int descriptor_ = -1;
  std::int64_t place_ = 0, size_ = 0;
  std::int64_t sent_ = 0;  ///< bytes for which writing to the disk has been started
};

/// Path to rename to: the target of a symbolic link, or `file` itself. Throws for a directory or a device.
std::filesystem::path resolve_target(const std::filesystem::path& file);

/// Removes temporary files of processes that have ended.
void remove_abandoned(const std::filesystem::path& directory);

/// Throws std::system_error, "cannot write FILE".
[[noreturn]] void fail_to_write(int error, const std::filesystem::path& file);

}  // namespace femcg::mesh
