#include "mesh/base/temporary_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <system_error>

namespace femcg::mesh {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view before = ".femcg-", after = ".part";

/// Host name, with every character that a file name should not have replaced by _.
std::string host() {
  std::array<char, 65> buffer{};
  ::gethostname(buffer.data(), buffer.size() - 1);
  std::string name(buffer.data());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '_';
  return name;
}

struct Writer {
  std::string host;
  pid_t process = 0;
};

/// Host and process in a name .femcg-HOST-PROCESS-NUMBER.part; nothing for any other name.
std::optional<Writer> writer_of(std::string_view name) {
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() < before.size() + after.size()) return {};
  name = name.substr(before.size(), name.size() - before.size() - after.size());
  const std::size_t second = name.rfind('-');
  if (second == std::string_view::npos || second == 0) return {};
  const std::size_t first = name.rfind('-', second - 1);
  if (first == std::string_view::npos) return {};
  const auto number = [](std::string_view digits) {
    long value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0 ? value : -1;
  };
  const long process = number(name.substr(first + 1, second - first - 1));
  if (process <= 0 || number(name.substr(second + 1)) < 0) return {};
  return Writer{std::string(name.substr(0, first)), static_cast<pid_t>(process)};
}

/// Removes a temporary file of this host that no process is writing.
void remove_if_free(const fs::path& temporary, pid_t process) {
  const int descriptor = ::open(temporary.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  // Without file locks, only the end of the process proves it.
  const bool free = locked || (errno != EWOULDBLOCK && ::kill(process, 0) != 0 && errno == ESRCH);
  if (free) ::unlink(temporary.c_str());  // while this process holds the lock
  ::close(descriptor);
}

}  // namespace

void fail_to_write(int error, const fs::path& file) {
  throw std::system_error(error, std::generic_category(), "cannot write " + file.string());
}

fs::path resolve_target(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) return file;
  if (fs::is_directory(status)) fail_to_write(EISDIR, file);
  if (!fs::is_regular_file(status)) fail_to_write(ENOTSUP, file);
  return fs::canonical(file);
}

TemporaryFile::TemporaryFile(const fs::path& file) : file_(file), target_(resolve_target(file)) {
  const std::string writer = std::string(before) + host() + "-" + std::to_string(::getpid()) + "-";
  for (int number = 0;; ++number) {  // several per process; an earlier process of this number may have left one
    name_ = (target_.parent_path() / (writer + std::to_string(number) + std::string(after))).string();
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail_to_write(errno, file_);
    // Another process may have found the file before it was locked, and removed it as abandoned.
    struct stat status {};
    const bool taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return;
    ::close(descriptor_);
  }
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TemporaryFile::write(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(errno, file_);
    data += written;
    size -= static_cast<std::size_t>(written);
    place_ += written;
  }
  size_ = std::max(size_, place_);
  // Lets the disk start writing before flush() waits for it. Only a hint.
  constexpr std::int64_t worth_sending = 32 << 20;
  if (place_ - sent_ < worth_sending) return;
  ::sync_file_range(descriptor_, sent_, place_ - sent_, SYNC_FILE_RANGE_WRITE);
  sent_ = place_;
}

void TemporaryFile::go_to(std::int64_t place) {
  if (::lseek(descriptor_, place, SEEK_SET) < 0) fail_to_write(errno, file_);
  place_ = place;
}

void TemporaryFile::flush() {
  // EINVAL: the file system cannot flush a single file; the data are written nevertheless.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_to_write(errno, file_);
}

void TemporaryFile::rename() {
  if (::rename(name_.c_str(), target_.c_str()) != 0) fail_to_write(errno, file_);
  name_.clear();
}

void TemporaryFile::remove_earlier() {
  if (::unlink(target_.c_str()) != 0 && errno != ENOENT) fail_to_write(errno, file_);
}

void remove_abandoned(const fs::path& directory) {
  using namespace std::chrono_literals;
  const std::string here = host();
  std::error_code ignored;
  for (fs::directory_iterator at(directory.empty() ? "." : directory, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::optional<Writer> writer = writer_of(at->path().filename().string());
    if (!writer) continue;
    if (writer->host == here) {
      remove_if_free(at->path(), writer->process);
      continue;
    }
    std::error_code unknown;  // the file may be gone already
    const auto written = fs::last_write_time(at->path(), unknown);
    if (!unknown && fs::file_time_type::clock::now() - written > 24h) fs::remove(at->path(), unknown);
  }
}

}  // namespace femcg::mesh
