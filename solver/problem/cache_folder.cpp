#include "solver/problem/cache_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "mesh/base/pages.hpp"
#include "mesh/base/temporary_file.hpp"

namespace femcg::solver {

std::filesystem::path cache_folder() {
  using std::filesystem::path;
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const path folder = value != nullptr ? value : "";
    return folder.is_absolute() ? folder : path();
  };
  path folder = absolute("XDG_CACHE_HOME");
  if (folder.empty() && !absolute("HOME").empty()) folder = absolute("HOME") / ".cache";
  return folder.empty() ? folder : folder / "femcg";
}

std::filesystem::path cached_file(const char* name) {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / name;
}

std::optional<std::vector<char>> cached_content(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  std::optional<std::vector<char>> bytes;
  if (descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes = mesh::filled<char>(static_cast<std::size_t>(status.st_size));
    std::size_t begin = 0;
    for (ssize_t got = 1; got > 0; begin += static_cast<std::size_t>(got))
      got = std::max<ssize_t>(::read(descriptor, bytes->data() + begin, bytes->size() - begin), 0);
    if (begin < bytes->size()) bytes.reset();
  }
  if (descriptor >= 0) ::close(descriptor);
  return bytes;
}

void write_cached(const std::filesystem::path& file, const mesh::FileContent& content) {
  std::filesystem::create_directories(file.parent_path());
  const std::filesystem::file_status status = std::filesystem::symlink_status(file);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) mesh::fail_to_write(ENOTSUP, file);
  mesh::write_atomically(file, content);
}

void write_cached(const std::filesystem::path& file, std::string_view content) {
  write_cached(file, [&](std::ostream& stream) { stream << content; });
}

}  // namespace femcg::solver
