#include "mesh/gmsh/check/file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace femcg::mesh {

FileBytes::FileBytes(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool known = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
  if (known && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  if (descriptor >= 0) ::close(descriptor);
  if (!known || memory_ == MAP_FAILED) throw std::runtime_error("the file cannot be opened for reading");
  if (memory_ != nullptr) ::madvise(memory_, size_, MADV_SEQUENTIAL);
}

FileBytes::~FileBytes() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

}  // namespace femcg::mesh
