#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace femcg::mesh {

/// The unfinished file: removed when it goes out of scope, unless it was renamed before. Errors name `file`, which is
/// what the user asked for. Its name, .femcg-HOST-PROCESS-NUMBER.part, says who writes it, and it is locked: where the
/// lock can be had, that process is gone.
class TemporaryFile {
 public:
  /// Beside `file`, or beside what that links to. Throws where something else than a regular file has its name.
  explicit TemporaryFile(const std::filesystem::path& file);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// At the place, which moves on behind it.
  void write(const char* data, std::size_t size);
  std::int64_t place() const { return place_; }
  void go_to(std::int64_t place);
  /// Bytes of the file.
  std::int64_t size() const { return size_; }
  /// To the disk.
  void flush();
  void rename();
  /// Removes what rename() would replace.
  void remove_earlier();

 private:
  std::filesystem::path file_, target_;
  std::string name_;
  int descriptor_ = -1;
  std::int64_t place_ = 0, size_ = 0;
  std::int64_t sent_ = 0;  ///< bytes that are on their way to the disk
};

/// Where to rename to: behind a symbolic link, and never in place of a directory or device.
std::filesystem::path resolve_target(const std::filesystem::path& file);

/// Removes temporaries of processes that are gone.
void remove_abandoned(const std::filesystem::path& directory);

/// Throws std::system_error: cannot write FILE.
[[noreturn]] void fail_to_write(int error, const std::filesystem::path& file);

}  // namespace femcg::mesh
