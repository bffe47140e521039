#include "mesh/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>

namespace femcg::mesh {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(int error, const fs::path& file) {
  throw std::system_error(error, std::generic_category(), "cannot write " + file.string());
}

/// The unfinished file: removed when it goes out of scope, unless it was renamed before. Errors name `file`, which is
/// what the user asked for.
class Temporary {
 public:
  Temporary(const fs::path& file, const fs::path& target) : file_(file) {
    for (int attempt = 0;; ++attempt) {  // another process of this number may have died and left its temporary
      name_ = target.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".part";
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0) return;
      if (errno != EEXIST) fail(errno, file_);
    }
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  void write(const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno, file_);
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  void rename_to(const fs::path& target) {
    // Some file systems cannot flush one file (EINVAL); it is written all the same.
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno, file_);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno, file_);
    if (::rename(name_.c_str(), target.c_str()) != 0) fail(errno, file_);
    name_.clear();
  }

 private:
  fs::path file_;
  std::string name_;
  int descriptor_ = -1;
};

/// Buffers small pieces and hands large ones straight through.
class TemporaryBuffer : public std::streambuf {
 public:
  explicit TemporaryBuffer(Temporary& file) : file_(file) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

 protected:
  int_type overflow(int_type character) override {
    sync();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    if (size < epptr() - pptr()) return std::streambuf::xsputn(data, size);
    sync();
    file_.write(data, static_cast<std::size_t>(size));
    return size;
  }
  int sync() override {
    file_.write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

 private:
  Temporary& file_;
  std::array<char, 1 << 16> buffer_;
};

/// Where to rename to: behind a symbolic link, and never in place of a directory or device.
fs::path resolve(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) return file;
  if (fs::is_directory(status)) fail(EISDIR, file);
  if (!fs::is_regular_file(status)) fail(ENOTSUP, file);
  return fs::canonical(file);
}

}  // namespace

void write_atomically(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  const fs::path target = resolve(file);
  Temporary temporary(file, target);
  TemporaryBuffer buffer(temporary);
  std::ostream stream(&buffer);
  stream.exceptions(std::ios::badbit | std::ios::failbit);  // rethrows what the buffer throws
  write(stream);
  stream.flush();
  temporary.rename_to(target);
}

void write_atomically(const fs::path& file, std::string_view content) {
  write_atomically(file, [content](std::ostream& stream) {
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

}  // namespace femcg::mesh
