#include "mesh/base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <streambuf>
#include <thread>
#include <utility>

#include "mesh/base/temporary_file.hpp"

namespace femcg::mesh {
namespace {

namespace fs = std::filesystem;

/// Buffers small writes and passes large ones straight to the file.
class TemporaryBuffer : public std::streambuf {
 public:
  explicit TemporaryBuffer(TemporaryFile& file) : file_(file) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

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
  /// Supports absolute offsets from the beginning and tellp() only.
  pos_type seekoff(off_type offset, std::ios::seekdir from, std::ios::openmode) override {
    if (from == std::ios::end || (from == std::ios::cur && offset != 0)) return pos_type(off_type(-1));
    sync();
    if (from == std::ios::beg) file_.go_to(offset);
    return pos_type(file_.place());
  }
  pos_type seekpos(pos_type place, std::ios::openmode mode) override {
    return seekoff(off_type(place), std::ios::beg, mode);
  }

 private:
  TemporaryFile& file_;
  std::array<char, 1 << 16> buffer_;
};

void fill(TemporaryFile& temporary, const FileContent& write) {
  TemporaryBuffer buffer(temporary);
  std::ostream stream(&buffer);
  stream.exceptions(std::ios::badbit | std::ios::failbit);  // rethrows what the buffer throws
  write(stream);
  stream.flush();
  temporary.flush();
}

FileContent copy_of(std::string_view content) {
  return
      [content](std::ostream& stream) { stream.write(content.data(), static_cast<std::streamsize>(content.size())); };
}

/// Directory open for renaming and removing files, locked against other processes where the file system supports locks.
class OpenDirectory {
 public:
  explicit OpenDirectory(const fs::path& directory)
      : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    // A lock held for longer than a second is not a writer of this program: goes on without the lock.
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
      std::this_thread::sleep_for(10ms);
    }
  }
  OpenDirectory(const OpenDirectory&) = delete;
  OpenDirectory& operator=(const OpenDirectory&) = delete;
  ~OpenDirectory() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  /// Makes the renames and removals so far durable before later ones, even in a crash.
  void flush() const {
    if (descriptor_ >= 0) ::fsync(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace

void write_atomically(const fs::path& file, const FileContent& write) {
  TemporaryFile temporary(file);
  fill(temporary, write);
  temporary.rename();
}

void write_atomically(const fs::path& file, std::string_view content) { write_atomically(file, copy_of(content)); }

FileGroup::FileGroup(fs::path directory) : directory_(std::move(directory)) {}
FileGroup::~FileGroup() = default;

void FileGroup::add(const std::string& name, const FileContent& write) {
  files_.push_back(std::make_unique<TemporaryFile>(directory_ / name));
  fill(*files_.back(), write);
}

void FileGroup::add(const std::string& name, std::string_view content) { add(name, copy_of(content)); }

void FileGroup::leave_out(const std::string& name) { left_out_.push_back(resolve_target(directory_ / name)); }

std::int64_t FileGroup::bytes() const {
  std::int64_t sum = 0;
  for (const auto& file : files_) sum += file->size();
  return sum;
}

void FileGroup::put_in_place() {
  const OpenDirectory directory(directory_);
  TemporaryFile& last = *files_.back();
  last.remove_earlier();
  directory.flush();
  for (const fs::path& file : left_out_)
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail_to_write(errno, file);
  for (const auto& file : files_)
    if (file.get() != &last) file->rename();
  directory.flush();
  last.rename();
  directory.flush();
}

void prepare_for_files(const fs::path& directory, const std::vector<std::string>& names) {
  std::set<fs::path> places{directory};  // and the directories of linked files
  for (const std::string& name : names) places.insert(resolve_target(directory / name).parent_path());
  for (const fs::path& place : places) remove_abandoned(place);
  const TemporaryFile attempt(directory / names.front());
}

}  // namespace femcg::mesh
