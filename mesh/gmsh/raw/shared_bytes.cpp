#include "mesh/gmsh/raw/shared_bytes.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>

namespace femcg::mesh {

namespace {

constexpr std::size_t unit = 8;
constexpr std::size_t buffered = std::size_t{1} << 16;

}  // namespace

void SharedWriter::bytes(const void* data, std::size_t size) {
  const char* begin = static_cast<const char*>(data);
  if (size >= buffered) {
    flush();
    write_through(begin, size);
  } else {
    buffer_.insert(buffer_.end(), begin, begin + size);
  }
  buffer_.insert(buffer_.end(), (unit - size % unit) % unit, '\0');
  if (buffer_.size() >= buffered) flush();
}

void SharedWriter::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void SharedWriter::restart() {
  buffer_.clear();
  if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) throw std::bad_alloc();
}

void SharedWriter::write_through(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw std::bad_alloc();
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

const char* SharedReader::take(std::size_t size) {
  const std::size_t padding = (unit - size % unit) % unit;
  if (size > rest_.size() || padding > rest_.size() - size)
    throw std::runtime_error("what came back from Gmsh's process is incomplete");
  const char* begin = rest_.data();
  rest_.remove_prefix(size + padding);
  return begin;
}

std::int64_t SharedReader::number() {
  std::int64_t value = 0;
  std::memcpy(&value, take(sizeof value), sizeof value);
  return value;
}

std::string SharedReader::text() {
  const std::span<const char> characters = array<char>();
  return {characters.begin(), characters.end()};
}

std::size_t SharedReader::count_of(std::size_t least_bytes) {
  const std::int64_t count = number();
  if (count < 0 || static_cast<std::uint64_t>(count) > rest_.size() / least_bytes)
    throw std::runtime_error("what came back from Gmsh's process is damaged");
  return static_cast<std::size_t>(count);
}

}  // namespace femcg::mesh
