#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace femcg::mesh {

/// Bytes of a file, mapped into memory for one sequential read.
class FileBytes {
 public:
  /// Throws std::runtime_error, without naming the file, if it cannot be read.
  explicit FileBytes(const std::filesystem::path& file);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view view() const { return {static_cast<const char*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace femcg::mesh
